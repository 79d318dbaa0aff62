// From files (or a generated task) and options to everything that training reads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/batching/batch_stream.h"
#include "apps/translation/prepared/prepared_text.h"
#include "apps/translation/run/state.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/training/options.h"
#include "apps/translation/training/text_loss.h"
#include "apps/translation/vocabulary/vocabularies.h"

namespace heddle::app {

/// Training and validation text, still as text; `validation` is empty when none was given.
struct TrainingText {
    Corpus training;  ///< empty where it is prepared
    Corpus validation;
    std::shared_ptr<const PreparedText> prepared = {};
    TextNames training_names = {.text = "the training text"}, validation_names = {.text = "the validation text"};
};

/// Reads the files of the options; `prepared`: the training text, where that is what --train names; without `training`, the text
/// to learn from is left for later (auto_packed_text.h). With options.text the two parts of that file. UsageError when options
/// are missing, Error when files are. Pairs with an empty side are excluded from the training text and reported, as are
/// read_corpus()'s notes.
TrainingText read_training_text(const DataOptions& options, const Say& say, std::shared_ptr<const PreparedText> prepared = {},
                                bool training = true);

/// UsageError unless the options say how --train, a PREFIX or a file, is read.
void check_training_text(const DataOptions& options);
/// UsageError when the value of this option is a prepared text, where plain text is read.
void check_is_plain(const std::string& option, const std::string& path);
/// How the options want text files to be read.
Reading reading_of(const DataOptions& options, const Say& say);
/// The files that training or preparing reads: text that is no prepared one, a vocabulary; "-" is standard input.
std::vector<std::filesystem::path> input_files(const DataOptions& options, const VocabularyRequest& vocabulary);

/// Trains the vocabularies that the request asks for on this text, or reads its model file. The default SentencePiece
/// size shrinks to what the text allows; the resulting sizes are written into `request`.
Vocabularies make_vocabularies(VocabularyRequest& request, const Corpus& text, const Say& say, const TextNames& names = {});
/// The same of lines that are no corpus, a sample for example.
struct VocabularyLines {
    std::vector<std::string_view> source;
    std::vector<std::string_view> target;
    TextNames names = {};
};
Vocabularies make_vocabularies(VocabularyRequest& request, const VocabularyLines& lines, const Say& say);

/// What the trainer reads.
struct TrainingData {
    Vocabularies vocabularies;
    std::vector<TokenPair> training;                    ///< in memory; none where it is prepared
    std::shared_ptr<const PreparedText> prepared = {};  ///< or in files
    std::vector<TokenPair> validation;
    Corpus validation_text;
    PlanWindows windows = {};  ///< how epochs are planned
    TextNames training_names = {.text = "the training text"}, validation_names = {.text = "the validation text"};

    /// The training pairs, wherever they are.
    TokenPairs pairs() const { return prepared != nullptr ? TokenPairs(*prepared) : TokenPairs(training); }
};
/// Encodes the text; a prepared one stays where it is. `say` is told what the vocabulary lacks.
TrainingData encode_training_data(TrainingText text, Vocabularies vocabularies, const Say& say = {});

/// The names of the text that read_corpus() reads for the PREFIX of this option, "train" or "valid".
TextNames text_names(const std::string& option, const std::string& prefix, const DataOptions& options);
/// Those of the training text.
TextNames training_text_names(const DataOptions& options);

TextDigests digests(const TrainingData& data);

}  // namespace heddle::app
