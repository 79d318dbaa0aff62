#include "kernels/emulator/run/run.h"

#include <fcntl.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <crt_externs.h>
#endif

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"

namespace heddle::emulator {
namespace {

std::mutex mutex;

std::map<const void*, std::uint64_t>& kernels() {
    static auto& all = *new std::map<const void*, std::uint64_t>;  // the launches of each; read when the process ends
    return all;
}
struct WorkDone {
    std::map<const void*, std::int64_t> kernels;
    std::map<std::string, std::int64_t> others;
};
WorkDone& work() {
    static auto& all = *new WorkDone;
    return all;
}
struct Noted {
    std::set<std::string> places;
    std::string skipped;
};
Noted& noted() {
    static auto& all = *new Noted;
    return all;
}

// Most synchronisations are at a place that was just recorded. Each CPU thread has a small table of such places. A new round
// empties it: when the places are read, or another place is skipped.
struct Known {
    const char* file;
    const char* what;
    int line;
    std::uint32_t round;
    bool skip;
};
thread_local constinit Known known[64] = {};
std::atomic<std::uint32_t> current_round{1};

[[gnu::noinline]] bool note(Known& entry, const Place& place, const char* what) {
    const std::lock_guard lock(mutex);
    const std::string text = text_of(place);
    noted().places.insert(text + " " + what);
    entry = {place.file, what, place.line, current_round, text == noted().skipped};
    return entry.skip;
}

/// Appends the lines to the file that an environment variable names.
void append(const char* variable, const std::vector<std::string>& lines) {
    const char* const file = std::getenv(variable);
    if (file == nullptr) return;
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    const int output = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const bool good = output >= 0 && write(output, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (output >= 0) ::close(output);
    if (!good) fprintf(stderr, "%s: cannot write %s\n", variable, file);
}
/// This process's program and arguments.
std::string command_line() {
    std::string text;
#if defined(__APPLE__)
    for (int i = 0; i < *_NSGetArgc(); ++i) text += std::string((*_NSGetArgv())[i]) + " ";
#else
    if (std::FILE* const file = std::fopen("/proc/self/cmdline", "r")) {
        for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += c == 0 ? ' ' : static_cast<char>(c);
        std::fclose(file);
    }
#endif
    return text;
}
void write_notes() {
    std::vector<std::string> launches = launched_kernels();
    launches.insert(launches.begin(), "> " + command_line());
    append("HEDDLE_EMULATOR_LAUNCHES", launches);
    append("HEDDLE_EMULATOR_PLACES", synchronisation_places());
}

[[maybe_unused]] const bool notes_from_start = [] {
    if (const char* const text = std::getenv("HEDDLE_EMULATOR_SKIP")) skip_synchronisation(text);
    std::atexit(write_notes);
    return true;
}();

}  // namespace

bool skipped(const Place& place, const char* what) {
    const auto key = (reinterpret_cast<std::uintptr_t>(place.file) >> 3) * 31 + static_cast<std::uintptr_t>(place.line);
    Known& entry = known[key % 64];
    if (entry.line == place.line && entry.file == place.file && entry.what == what &&
        entry.round == current_round.load(std::memory_order_relaxed))
        return entry.skip;
    return note(entry, place, what);
}

void note_launch(const void* kernel) {
    const std::lock_guard lock(mutex);
    ++kernels()[kernel];
}

void note_work(const void* kernel, const std::string& what) {
    const std::lock_guard lock(mutex);
    if (kernel != nullptr)
        ++work().kernels[kernel];
    else
        ++work().others[what];
}

std::map<std::string, std::int64_t> work_done() {
    WorkDone done;
    {
        const std::lock_guard lock(mutex);
        done = work();
    }
    for (const auto& [kernel, count] : done.kernels) done.others[kernel_name(kernel)] += count;
    return done.others;
}

std::vector<std::string> launched_kernels() {
    std::vector<std::string> names;
    for (const auto& [name, count] : counted_launches()) names.push_back(name);
    return names;
}

std::map<std::string, std::uint64_t> counted_launches() {
    std::map<const void*, std::uint64_t> all;
    {
        const std::lock_guard lock(mutex);
        all = kernels();
    }
    std::map<std::string, std::uint64_t> named;
    for (const auto& [kernel, count] : all) named[kernel_name(kernel)] += count;
    return named;
}

std::vector<std::string> synchronisation_places() {
    const std::lock_guard lock(mutex);
    std::vector<std::string> places(noted().places.begin(), noted().places.end());
    noted().places.clear();
    ++current_round;
    return places;
}

void skip_synchronisation(const std::string& place) {
    const std::lock_guard lock(mutex);
    noted().skipped = place;
    ++current_round;
}

}  // namespace heddle::emulator
