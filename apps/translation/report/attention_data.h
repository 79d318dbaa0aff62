// The attention of translations as JSON, for the script of their page:
//
//     {"ramp": ["#440154", ..], "not_finite": "#a0a0a0", "lines": [
//         {"line": "..", "translation": "..", "source": [token ..], "read": [..], "written": [..],
//          "maps": {"cross": [layer [head [weights ..]]], "decoder": .., "encoder": ..},
//          "steps": [{"probability": 0.9, "likeliest": [["token", 0.9] ..]} ..]}]}
//
// Weights are thousandths, row by row: whole numbers whose sum is 1000 in each row, or null for what is not finite.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/decoding/attention.h"

namespace heddle::app {

/// Shares of a whole in thousandths. They add up to the rounded sum of the shares: the largest remainders are rounded up. All
/// are -1 if one is not finite.
std::vector<int> thousandths(std::span<const double> shares);

/// Tokens for display: the mark that joins words becomes a middle dot, which nearly all fonts have, and a space is made visible.
std::vector<std::string> labels_of(const std::vector<std::string>& tokens);

/// An element of "lines". `steps`: one per token of the translation.
nlohmann::ordered_json attention_line(const std::string& line, const std::string& translation,
                                      const TranslationAttention& attention, const std::vector<DecodingStep>& steps);

/// The whole object.
nlohmann::ordered_json attention_data(nlohmann::ordered_json lines);

}  // namespace heddle::app
