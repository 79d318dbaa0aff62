// Ctrl-C and SIGTERM, as a request that the training loop asks for.
#pragma once

namespace heddle::app {

/// While it lives, the first SIGINT or SIGTERM is only noted, with a line on stderr, and a second one ends the process at once. A
/// signal that the parent process has ignored stays so. One object at a time.
class StopSignals {
  public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// The signal that came, or 0.
    static int received();
};

/// "Ctrl-C" or "SIGTERM".
const char* signal_name(int signal);

}  // namespace heddle::app
