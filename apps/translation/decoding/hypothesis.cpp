#include "apps/translation/decoding/hypothesis.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace heddle::app {

double normalised(double log_probability, std::int64_t length, double alpha) {
    return log_probability / std::pow(static_cast<double>(length), alpha);
}

std::int64_t longest_translation(const Ensemble& models, std::int64_t source_tokens, std::int64_t prefix_tokens,
                                 std::optional<std::int64_t> max_length) {
    check(!max_length || prefix_tokens <= *max_length,
          "a prefix of {} tokens, but translations of {} at most; use a shorter prefix, or --max-output-length {}", prefix_tokens,
          max_length.value_or(0), prefix_tokens + 1);
    const std::int64_t most = max_length ? *max_length + 1 : prefix_tokens + 3 * source_tokens + 10;
    const std::int64_t longest = std::min(most, models.longest_sentence().value_or(most));
    check(prefix_tokens < longest, "a prefix of {} tokens, but the model's position table ends after {}; use a shorter prefix",
          prefix_tokens, longest);
    return longest;
}

}  // namespace heddle::app
