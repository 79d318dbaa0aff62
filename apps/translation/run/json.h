// JSON written by Heddle, and JSON from untrusted files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace heddle::app {

/// The value, or a discarded value when the text is not JSON or is nested deeper than any file of a run (16 levels), since the
/// library copies and writes values recursively.
nlohmann::json bounded_json(std::string_view text);

/// The number; a NaN loses its sign, which is meaningless.
double unsigned_nan(double value);

/// A number as JSON, with the strings "nan", "inf" and "-inf" for numbers that JSON lacks.
nlohmann::ordered_json json_number(double value);

/// The value as text, in one line or indented by `indent` spaces; invalid UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// A non-empty object as indented text, with a last field "digest": the digest of the text without this field.
std::string sealed_json(const nlohmann::ordered_json& object);
/// True if the text ends with the digest that sealed_json() would compute.
bool is_sealed_json(std::string_view text);

}  // namespace heddle::app
