// The most likely tokens at each step of a translation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/translation/decoding/attention.h"

namespace heddle::app {

struct NextToken {
    std::string token;
    double probability = 0;
};

/// A step of the decoder, after reading attention.read up to this step.
struct DecodingStep {
    double probability = 0;            ///< of the token that it wrote
    std::vector<NextToken> likeliest;  ///< the most probable first; of equal ones the first of the vocabulary
};

/// How many of them a page shows.
inline constexpr std::size_t likeliest_shown = 5;

/// A step for each of attention.written, with the `count` most likely tokens (all, when there are fewer): p(token | source, what
/// was read), of one model, which must be in evaluation mode. The product over the steps is the probability of the translation,
/// its prefix included.
std::vector<DecodingStep> decoding_steps(const nn::Transformer& model, const Vocabulary& target,
                                         const TranslationAttention& attention, std::size_t count);

}  // namespace heddle::app
