// What tags are made of, in files of sentences that are XML, SGML or nearly so.
#pragma once

#include <string_view>

namespace heddle::app {

inline constexpr std::string_view markup_space = " \t\r\n";

/// Of ASCII; names of elements and attributes count in lower and upper case.
char ascii_lower(char c);
bool is_ascii_letter(char c);
bool same_name(std::string_view a, std::string_view b);

/// Without the white space at both ends.
std::string_view trimmed(std::string_view text);

/// In the text after an element's name in its tag, the value of `name =`, in quotes or without; empty when there is none.
std::string_view attribute_in(std::string_view attributes, std::string_view name);

}  // namespace heddle::app
