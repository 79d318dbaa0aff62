// JSON from files that somebody else may have written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace heddle::app {

/// The value, or a discarded one when the text is not JSON or nested deeper than any file of a run (16 levels): the library
/// copies and writes values by recursion.
nlohmann::json bounded_json(std::string_view text);

}  // namespace heddle::app
