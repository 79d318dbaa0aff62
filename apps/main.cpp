// The `heddle` program: finds the sub-command and turns exceptions into one line on stderr and an exit status.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "apps/commands.h"
#include "apps/divergence.h"
#include "apps/memory_advice.h"
#include "apps/output.h"
#include "apps/usage_error.h"
#include "apps/version.h"
#include "core/device.h"

namespace {

using namespace heddle::app;

struct Command {
    std::string_view name;
    const char* summary;
    int (*run)(Arguments);
};

constexpr Command commands[] = {
    {"train", "trains a translator", train_command},
    {"translate", "translates stdin to stdout", translate_command},
    {"score", "gives the log-probability of given translations", score_command},
    {"evaluate", "scores a run or a file, or compares two files", evaluate_command},
    {"average", "averages the weights of a run's saves", average_command},
    {"summary", "lists a model's modules and parameters", summary_command},
    {"gradcheck", "proves every op's gradient", gradcheck_command},
    {"lab", "shows by measurement what known mistakes break", lab_command},
    {"chapter", "measures what the chapters on five write-ups say", chapter_command},
    {"bench", "measures training (bench train) or the ops (bench ops)", bench_command},
};

int print_help() {
    std::puts("usage: heddle COMMAND [options]\n\ncommands:");
    for (const Command& command : commands) std::printf("  %-12s%s\n", command.name.data(), command.summary);
    std::puts(
        "\nheddle COMMAND --help shows every option with its default.\nheddle --version says what the program computes with.");
    return 0;
}

int run(Arguments arguments) {
    const std::string_view name = arguments.empty() ? "" : arguments[0];
    if (name == "--help" || name == "-h" || name == "help") return print_help();
    if (name == "--version" || name == "version") return version_command(build_commit);
    for (const Command& command : commands)
        if (command.name == name) return command.run(arguments.subspan(1));
    throw UsageError(name.empty() ? "no command given; see heddle --help"
                                  : "there is no command '" + std::string(name) + "'; see heddle --help");
}

// An error is one line: of a long list, what a person reads.
std::string one_line(const std::string& text) {
    constexpr std::size_t longest = 400;
    std::istringstream lines(text);
    std::string result, line;
    int more = 0;
    while (std::getline(lines, line)) {
        line.erase(0, line.find_first_not_of(' '));
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
    std::fprintf(stderr, "heddle: %s\n", one_line(message).c_str());
    return status;
}

int finished(Arguments arguments) {
    const int status = run(arguments);
    // What is still queued on the device may yet fail.
    if (heddle::device::statistics().copies_to_device > 0) heddle::device::synchronize();
    return status;
}

int guarded(Arguments arguments) {
    try {
        const int status = with_memory_advice([] { return "end other programs, or let this one have more"; },
                                              [&] { return finished(arguments); });
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

}  // namespace

int main(int count, char** arguments) { return guarded(Arguments(arguments + (count > 0 ? 1 : 0), arguments + count)); }
