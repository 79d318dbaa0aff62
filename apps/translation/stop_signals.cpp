#include "apps/translation/stop_signals.h"

#include <csignal>

namespace heddle::app {
namespace {

volatile std::sig_atomic_t noted = 0;

constexpr int signals[] = {SIGINT, SIGTERM};

void handle_with(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (const int signal : signals) sigaction(signal, &action, nullptr);
}

extern "C" void note(int signal) {
    noted = signal;
    handle_with(SIG_DFL);  // the next one ends the process
}

}  // namespace

StopSignals::StopSignals() {
    noted = 0;
    handle_with(note);
}

StopSignals::~StopSignals() { handle_with(SIG_DFL); }

int StopSignals::received() { return noted; }

const char* signal_name(int signal) { return signal == SIGINT ? "Ctrl-C" : "SIGTERM"; }

}  // namespace heddle::app
