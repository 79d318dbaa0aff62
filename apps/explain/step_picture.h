// Single steps of a traced kernel as an SVG picture, for the chapters in kernels/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace heddle::explain {

/// A picture of these steps, one below the other. `explained` is json_of one explanation with all its steps (docs/explain.md).
/// `steps` is a list with commas of
///   "read x", "write shared", "copy-read workspace": an action and a tensor's name, `shared` or `workspace`. A number behind it,
///       as in "read x 3", takes the third such step instead of the first, through all launches and warps in their order;
///   "warps", "warps 2": all steps of the first block of the first launch, or of the second, a row a warp.
/// The colours suit light and dark pages. UsageError for a step that the kernel does not have.
std::string step_picture(const nlohmann::ordered_json& explained, std::string_view steps);

}  // namespace heddle::explain
