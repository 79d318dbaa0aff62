#include "apps/translation/stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <iterator>

namespace heddle::app {
namespace {

volatile std::sig_atomic_t noted = 0;

constexpr int signals[] = {SIGINT, SIGTERM};
struct sigaction before[std::size(signals)];

// Only what a signal handler may call.
void handle_with(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(signals); ++i)
        if (before[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
}

extern "C" void note(int signal) {
    constexpr char text[] = "\nstopping after this update; a second time ends at once\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    noted = signal;
    handle_with(SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
    noted = 0;
    for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], nullptr, &before[i]);
    handle_with(note);
}

StopSignals::~StopSignals() {
    for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before[i], nullptr);
}

int StopSignals::received() { return noted; }

const char* signal_name(int signal) { return signal == SIGINT ? "Ctrl-C" : "SIGTERM"; }

}  // namespace heddle::app
