#include "apps/guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <system_error>

#include "apps/divergence.h"
#include "apps/memory_advice.h"
#include "apps/output.h"
#include "apps/usage_error.h"
#include "core/device.h"

namespace heddle::app {
namespace {

// An error is one line: of a long list, and of a long name in a file, what a person reads.
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

int complain(const std::string& message, int status) {
    std::fflush(stdout);
    std::fprintf(stderr, "heddle: %s\n", terminal_text(one_line(message)).c_str());
    return status;
}

// Of a program that was started without one of them (2>&-), the first file it opens would get the number, and what is said on
// stderr would stand in that file. Reading and writing these ends fails, as it would without them.
void occupy_standard_descriptors() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(number, F_GETFD) < 0) open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int finished(const std::function<int()>& run) {
    const int status = run();
    // What is still queued on the device may yet fail.
    if (heddle::device::statistics().copies_to_device > 0) heddle::device::synchronize();
    return status;
}

}  // namespace

int guarded(const std::function<int()>& run) {
    occupy_standard_descriptors();
    try {
        const int status =
            with_memory_advice([] { return "end other programs, or let this one have more"; }, [&] { return finished(run); });
        if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
        if (errno == EPIPE) return nobody_reads;
        return complain(std::string("the results cannot be written to stdout: ") + std::strerror(errno), 1);
    } catch (const UsageError& error) {
        return complain(error.what(), 2);
    } catch (const Divergence& error) {
        return complain(error.what(), 3);
    } catch (const std::system_error& error) {
        if (error.code() == std::errc::broken_pipe) return nobody_reads;
        return complain(error.what(), 1);
    } catch (const std::exception& error) {
        return complain(error.what(), 1);
    }
}

}  // namespace heddle::app
