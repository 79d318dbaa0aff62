// Recognises data that are not UTF-8 text, and how to convert them to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::app {

/// A compressed format that is recognised but not read.
struct PackedFormat {
    std::string_view name;    ///< "xz"
    std::string_view unpack;  ///< the command that unpacks to its standard output: "xz -dc"
};

/// The compressed format of data with this beginning; only final if may_be_packed() is false.
std::optional<PackedFormat> packed_format(std::string_view beginning);
/// True if further bytes could make this the beginning of a compressed format.
bool may_be_packed(std::string_view beginning);

/// Describes a line that is not UTF-8 text, and a command that converts it. The file's name is to be appended to the command,
/// which ends with "<" if it reads standard input.
struct UnreadableLine {
    std::string what;  ///< "this is UTF-16, wanted UTF-8"
    std::string command;
};
/// `first`: this is the text's first line; `in_utf8`: other lines have non-ASCII characters in UTF-8. The line may be truncated.
UnreadableLine unreadable_line(std::string_view line, bool first, bool in_utf8);

}  // namespace heddle::app
