// Bytes that are no UTF-8 text: what they are, and how to make text of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::app {

/// A format of packed files that is not read.
struct PackedFormat {
    std::string_view name;    ///< "xz"
    std::string_view unpack;  ///< the command that writes what is packed to its output: "xz -dc"
};

/// The packed format of data that begin so. They may still be any that may_be_packed() says yes to.
std::optional<PackedFormat> packed_format(std::string_view beginning);
/// Whether further bytes could make these the beginning of a packed format.
bool may_be_packed(std::string_view beginning);

/// Tells what a line is that is no UTF-8 text, and a command that makes text of it. The name of the file is to follow the
/// command, which ends with "<" where it reads standard input.
struct ForeignLine {
    std::string what;  ///< "this is UTF-16, wanted UTF-8"
    std::string command;
};
/// `first`: it is the first line of its text; `in_utf8`: other lines have characters of UTF-8 beyond ASCII. The line may be cut.
ForeignLine foreign_line(std::string_view line, bool first, bool in_utf8);

}  // namespace heddle::app
