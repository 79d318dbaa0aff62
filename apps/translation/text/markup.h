// Parsing of tags, for files that are XML, SGML or nearly so.
#pragma once

#include <string_view>

namespace heddle::app {

inline constexpr std::string_view markup_space = " \t\r\n";

/// ASCII only; names of elements and attributes are not case-sensitive.
char ascii_lower(char c);
bool is_ascii_letter(char c);
bool same_name(std::string_view a, std::string_view b);

/// The text without white space at both ends.
std::string_view trimmed(std::string_view text);

/// The value of `name =` in the text after an element's name in its tag, with or without quotes; empty if there is none.
std::string_view attribute_in(std::string_view attributes, std::string_view name);

}  // namespace heddle::app
