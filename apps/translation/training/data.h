// From files (or a generated task) and options to everything that training reads.
#pragma once

#include <string>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "apps/translation/run/state.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/training/options.h"
#include "apps/translation/vocabulary/vocabularies.h"

namespace heddle::app {

/// Training and validation text, still as text; `validation` is empty when none was given.
struct TrainingText {
    Corpus training;
    Corpus validation;
};

/// Reads the files of the options. UsageError when options are missing, Error when files are. Pairs with an empty side are
/// excluded from the training text and reported, as are read_corpus()'s notes.
TrainingText read_training_text(const DataOptions& options, const Say& say);

/// Trains the vocabularies that the request asks for on this text, or reads its model file. The default SentencePiece
/// size shrinks to what the text allows; the resulting sizes are written into `request`.
Vocabularies make_vocabularies(VocabularyRequest& request, const Corpus& text, const Say& say);

/// What the trainer reads.
struct TrainingData {
    Vocabularies vocabularies;
    std::vector<TokenPair> training;
    std::vector<TokenPair> validation;
    Corpus validation_text;
};
TrainingData encode_training_data(TrainingText text, Vocabularies vocabularies);

TextDigests digests(const TrainingData& data);

}  // namespace heddle::app
