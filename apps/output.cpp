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

}  // namespace heddle::app
