// From a trained model and lines of text to translated lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/translation/vocabularies.h"
#include "nn/transformer.h"

namespace heddle::app {

/// How to search for the best translation.
struct DecodeOptions {
    std::int64_t beam = 5;      ///< hypotheses kept at each step; 1: greedy
    double length_penalty = 1;  ///< a hypothesis scores log p / length^penalty, its end counted; 0: plain log p
};

/// Translates lines, many at once; line n of the result belongs to line n, and an empty line gives an empty line. The model must
/// be in evaluation mode. A line's translation is the same alone and among any others, for every number of threads.
std::vector<std::string> translate_lines(const nn::Transformer& model, const Vocabularies& vocabularies,
                                         const std::vector<std::string>& lines, const DecodeOptions& options);

}  // namespace heddle::app
