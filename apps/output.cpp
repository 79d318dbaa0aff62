#include "apps/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace heddle::app {

void print(const std::string& text) {
    const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
    if (written != text.size() || std::fflush(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "the results cannot be written to stdout");
}

void say(std::string_view line) { fmt::print(stderr, "{}\n", line); }

std::string wrapped(std::string_view text) {
    std::string lines;
    while (text.size() > 100) {
        std::size_t space = text.rfind(' ', 100);
        if (space == std::string_view::npos) space = text.find(' ');
        if (space == std::string_view::npos) break;
        lines.append(text.substr(0, space)).append("\n");
        text.remove_prefix(space + 1);
    }
    return lines.append(text);
}

}  // namespace heddle::app
