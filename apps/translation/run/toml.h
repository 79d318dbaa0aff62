// The subset of TOML that options need: comments and `key = value` lines with strings, numbers, booleans or arrays of them.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// One `key = value` line. An array has several values; strings are unquoted, everything else stays as written.
struct TomlItem {
    std::string key;
    std::vector<std::string> values;
    int line = 0;
};

/// The items in the order of the text. UsageError, with `name` and the line, for what it does not support, such as tables.
std::vector<TomlItem> read_toml(std::istream& stream, std::string_view name);

/// A basic string with quotes and escapes.
std::string toml_string(std::string_view text);

}  // namespace heddle::app
