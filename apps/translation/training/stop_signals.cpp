#include "apps/translation/training/stop_signals.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <iterator>

namespace heddle::app {
namespace {

std::atomic<int> stop_signal = 0, save_signal = 0;
std::atomic<bool> save_asked = false, second_ends = true;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "or no handler may use them");

// The first two are those of a person, who may be in a hurry. A shell and its terminal may both send SIGHUP, SIGXCPU comes every
// second, and a scheduler's SIGUSR1 is followed by its SIGTERM, perhaps during the save.
constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2};
constexpr std::size_t hurried = 2;
struct sigaction before[std::size(signals)];

// Only what a signal handler may call.
void handle_with(void (*handler)(int), std::size_t count) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < count; ++i)
        if (before[i].sa_handler != SIG_IGN || signals[i] == save_signal) sigaction(signals[i], &action, nullptr);
}

template <std::size_t size>
void tell(const char (&text)[size]) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, size - 1);
}

extern "C" void note(int signal) {
    const int error = errno;
    if (signal == save_signal) {
        save_asked = true;
    } else {
        int none = 0;
        const bool first = stop_signal.compare_exchange_strong(none, signal);
        if (second_ends && (signal == signals[0] || signal == signals[1])) {
            handle_with(SIG_DFL, hurried);
            tell("\nstopping after this update; a second time ends at once\n");
        } else if (first) {
            tell("\nstopping after this update\n");
        }
    }
    errno = error;
}

}  // namespace

StopSignals::StopSignals(int save_on, bool may_end) {
    stop_signal = 0;
    save_signal = save_on;
    save_asked = false;
    second_ends = may_end;
    for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], nullptr, &before[i]);
    handle_with(note, std::size(signals));
}

StopSignals::~StopSignals() {
    for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before[i], nullptr);
}

int StopSignals::received() { return stop_signal; }

bool StopSignals::save_wanted() { return save_asked.exchange(false); }

const char* signal_name(int signal) {
    switch (signal) {
        case SIGINT: return "Ctrl-C";
        case SIGTERM: return "SIGTERM";
        case SIGHUP: return "SIGHUP";
        case SIGXCPU: return "SIGXCPU";
        case SIGUSR1: return "SIGUSR1";
        case SIGUSR2: return "SIGUSR2";
        case 0: return "its caller";
        default: return "a signal";
    }
}

void survive_failed_writes() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace heddle::app
