// Replaces those words of a translation that the target vocabulary lacks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/translation/decoding/attention.h"

namespace heddle::app {

/// Replaces the unknown words in the text of each line's translations; tokens and scores stay. copy: by the source word with the
/// strongest attention in the step that wrote the unknown token, measured as word_attention() does; where no source word has
/// any, U+2047 stays. Words are those between spaces, or those of a word vocabulary, which leave out known punctuation.
/// drop: by nothing. The model must be in evaluation mode.
void replace_unknown(UnknownWords how, const nn::Transformer& model, const Vocabularies& vocabularies,
                     std::span<const std::string> lines, std::span<std::vector<Translation>> translations);

/// words_of_text() for a text without its unknown words: they belong to no word.
std::vector<std::int64_t> words_without_unknown(const Vocabulary& vocabulary, std::span<const std::int32_t> tokens);

}  // namespace heddle::app
