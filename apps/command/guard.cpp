#include "apps/command/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "apps/command/memory_advice.h"
#include "apps/terminal/error_text.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/training/update.h"
#include "core/device.h"
#include "core/error.h"

namespace heddle::app {
namespace {

// Shortens an error to one line: the first lines of a long list, and the beginning of a long line.
std::string one_line(const std::string& text) {
    constexpr std::size_t longest = 400, longest_line = 4000;
    std::istringstream lines(text);
    std::string result, line;
    int more = 0;
    while (std::getline(lines, line)) {
        line.erase(0, line.find_first_not_of(' '));
        if (line.size() > longest_line) line.replace(longest_line, line.size(), "...");
        if (result.empty())
            result = line;
        else if (more == 0 && result.size() + line.size() < longest)
            result += (result.back() == ':' ? " " : "; ") + line;
        else
            ++more;
    }
    return more == 0 ? result : result + "; and " + std::to_string(more) + " more";
}

std::string lost_results(const std::string& reason) { return "the results cannot be written to stdout: " + reason; }

int complain(const std::string& message, int status) {
    std::fflush(stdout);
    say("heddle: " + one_line(message));
    return status;
}

// If the program was started without one of these descriptors (2>&-), the first file it opens would get its number, and messages
// would be written into that file. /dev/null takes their place, opened so that reading or writing fails, as without it.
void occupy_standard_descriptors() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(number, F_GETFD) < 0) open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

std::terminate_handler default_terminate = nullptr;

// Terminate handler. When memory or threads run out in a library's own thread (SentencePiece uses several), no caller can catch
// the exception. Must not allocate.
[[noreturn]] void end_without_memory() {
    const auto complain_plainly = [](std::initializer_list<std::string_view> texts) {
        for (const std::string_view text : texts)
            [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        _exit(1);
    };
    try {
        if (std::current_exception()) throw;
    } catch (const std::bad_alloc&) {
        complain_plainly({"heddle: ", no_memory_left, ", in the middle of a library's work; ", more_memory, "\n"});
    } catch (const std::system_error& error) {
        if (error.code() == std::errc::resource_unavailable_try_again) complain_plainly({"heddle: ", no_further_thread, "\n"});
    } catch (...) {  // a bug: a debugger shows it best
    }
    default_terminate();
    std::abort();
}

int finished(const std::function<int()>& run) {
    const int status = run();
    // Work still queued on the device may fail.
    if (heddle::device::statistics().copies_to_device > 0) heddle::device::synchronize();
    return status;
}

}  // namespace

int guarded(const std::function<int()>& run) {
    occupy_standard_descriptors();
    if (std::get_terminate() != end_without_memory) default_terminate = std::set_terminate(end_without_memory);
    try {
        const int status = with_memory_advice([] { return more_memory; }, [&] { return finished(run); });
        if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
        if (errno == EPIPE) return nobody_reads;
        return complain(lost_results(std::strerror(errno)), 1);
    } catch (const UsageError& error) {
        return complain(error.what(), 2);
    } catch (const Divergence& error) {
        return complain(error.what(), 3);
    } catch (const std::system_error& error) {
        if (error.code() == std::errc::broken_pipe) return nobody_reads;
        return complain(std::ferror(stdout) != 0 ? lost_results(error.code().message()) : error_text(error),
                        1);  // fmt::print() failed
    } catch (const std::exception& error) {
        return complain(error_text(error), 1);
    }
}

}  // namespace heddle::app
