// From text files to a prepared text, which need not fit into memory.
#pragma once

#include <filesystem>

#include "apps/translation/prepared/header.h"
#include "apps/translation/prepared/writer.h"
#include "apps/translation/training/data.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

/// The vocabularies that make_vocabularies() makes of the training text. Held in memory are the lines that they are learned from:
/// none with a model file, request.max_lines, or all. Errors as read_training_text() and make_vocabularies().
Vocabularies learn_vocabularies(const DataOptions& options, VocabularyRequest& request, const Say& say);

/// Encodes the training text in pieces and adds it to `writer`; pairs with an empty side are excluded and reported. Returns how
/// many these were. Errors as read_training_text() and PreparedWriter.
std::int64_t encode_text(const DataOptions& options, const Vocabularies& vocabularies, PreparedWriter& writer, const Say& say);

}  // namespace heddle::app
