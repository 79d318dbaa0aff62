#include "apps/terminal/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <system_error>

#include "apps/translation/text/unicode.h"
#include "core/descriptor.h"

namespace heddle::app {
namespace {

// While it exists, writing to a closed pipe fails with EPIPE in this thread, instead of ending the program by SIGPIPE.
class NoBrokenPipeSignal {
  public:
    NoBrokenPipeSignal() : pending_before_(is_pending()) {
        sigemptyset(&broken_pipe_);
        sigaddset(&broken_pipe_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &broken_pipe_, &mask_before_);
    }
    ~NoBrokenPipeSignal() {
        int signal = 0;
        if (!pending_before_ && is_pending()) sigwait(&broken_pipe_, &signal);
        pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    }
    NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
    NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

  private:
    static bool is_pending() {
        sigset_t pending;
        return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    }

    bool pending_before_;
    sigset_t broken_pipe_{}, mask_before_{};
};

}  // namespace

void print(const std::string& text) {
    // Not through stdio, which drops what a non-blocking descriptor does not accept at once.
    if (std::fflush(stdout) != 0 || !write_waiting(STDOUT_FILENO, text))
        throw std::system_error(errno, std::generic_category(), "the results cannot be written to stdout");
}

std::string terminal_text(std::string_view text) {
    std::string shown;
    HiddenCharacters characters;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
        const char32_t code = length == 0 ? U'\0' : decode_utf8(character)[0];
        const bool hidden = characters.is_hidden(code);
        if (length == 0 || (code < 0x20 && code != '\n' && code != '\t') || code == 0x7f)
            shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(character[0]));
        else if (hidden || code == 0x85 || code == 0x2028 || code == 0x2029)
            shown += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
        else
            shown += character;
        text.remove_prefix(character.size());
    }
    return shown;
}

bool say(std::string_view line) { return say_raw(terminal_text(line) + "\n"); }

bool say_raw(std::string_view text) noexcept {
    const int error = [&] {
        const NoBrokenPipeSignal blocked;
        return write_waiting(STDERR_FILENO, text) ? 0 : errno;
    }();
    errno = error;
    return error == 0;
}

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

std::string indented(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::string lines;
    for (std::string line; std::getline(stream, line);) lines += "    " + line + "\n";
    return lines;
}

}  // namespace heddle::app
