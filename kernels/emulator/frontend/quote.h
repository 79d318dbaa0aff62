// Lines of source files in reports.
#pragma once

#include <string>

namespace heddle::emulator::frontend {

/// "      7 |     y[i] = x[i];\n        |     ^~~~~~~~~~~~\n"; empty when the file or the line is not there.
std::string quoted_line(const std::string& file, int line);

/// The text of a line without the spaces around it; empty when it is not there.
std::string source_line(const std::string& file, int line);

/// A compiler's messages, with the line of the source below each error.
std::string with_quotes(const std::string& messages);

/// A path as a reader knows it: below the current folder without it, and without "./" at its beginning.
std::string shown_path(const std::string& file);

}  // namespace heddle::emulator::frontend
