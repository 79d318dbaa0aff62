// From text files to a prepared text, which need not fit into memory.
#pragma once

#include <cstdint>

#include "apps/translation/prepared/header.h"
#include "apps/translation/prepared/writer.h"
#include "apps/translation/training/data.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

/// So many pairs are read and encoded at once.
inline constexpr std::int64_t pairs_in_piece = 1 << 16;

/// The vocabularies that make_vocabularies() makes of the training text, read in pieces of so many pairs, with a line through
/// `say` now and then. Held in memory are the lines that they are learned from: none with a model file, request.max_lines, or
/// all. Errors as read_training_text() and make_vocabularies(), and unless the text can be read again (none with a model file).
Vocabularies learn_vocabularies(const DataOptions& options, VocabularyRequest& request, const Say& say,
                                std::int64_t piece = pairs_in_piece);

/// Encodes the training text in pieces and adds it to `writer`; pairs with an empty side are excluded and reported. Returns how
/// many these were. Errors as read_training_text() and PreparedWriter.
std::int64_t encode_text(const DataOptions& options, const Vocabularies& vocabularies, PreparedWriter& writer, const Say& say,
                         std::int64_t piece = pairs_in_piece);

}  // namespace heddle::app
