// From a trained model and lines of text to translated lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/translation/beam_search.h"
#include "apps/translation/vocabularies.h"
#include "nn/transformer.h"

namespace heddle::app {

/// Translates lines, many at once; line n of the result belongs to line n, and an empty line (or one of spaces) gives an empty
/// line. The model must be in evaluation mode. A line's translation is the same alone and among any others, for every number of
/// threads. A line of more tokens than the model's position table has rows is cut there, whatever its positions; how many were is
/// said on stderr.
std::vector<std::string> translate_lines(const nn::Transformer& model, const Vocabularies& vocabularies,
                                         const std::vector<std::string>& lines, const DecodeOptions& options);

}  // namespace heddle::app
