// JSON written by Heddle, and JSON from untrusted files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace heddle::app {

/// The value, or a discarded one when the text is not JSON or nested deeper than any file of a run (16 levels): the library
/// copies and writes values by recursion.
nlohmann::json bounded_json(std::string_view text);

/// The number; a NaN without its sign, which is meaningless.
double unsigned_nan(double value);

/// A number as JSON, which has no NaN and no infinities: these are the texts "nan", "inf" and "-inf".
nlohmann::ordered_json json_number(double value);

/// The value as text, in one line or indented by `indent` spaces; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// A non-empty object as an indented text, with one more field at its end, "digest": that of the text without this field.
std::string sealed_json(const nlohmann::ordered_json& object);
/// Whether the text ends with the digest that sealed_json() would give it.
bool is_sealed_json(std::string_view text);

}  // namespace heddle::app
