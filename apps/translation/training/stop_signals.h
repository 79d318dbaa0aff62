// Signals that ask a training to stop, or to save, as requests that the training loop asks for.
#pragma once

namespace heddle::app {

/// While one exists, signals that would end the process are only noted: Ctrl-C and SIGTERM of a person, SIGHUP of a terminal that
/// is closed, SIGTERM, SIGXCPU, SIGUSR1 and SIGUSR2 of schedulers before a limit. A line on stderr says so. A second Ctrl-C or
/// SIGTERM ends the process at once; the others may come again by themselves and change nothing. A signal that the parent process
/// has ignored, as nohup does with SIGHUP, stays so, unless it is `save_on`. One object at a time.
class StopSignals {
  public:
    /// `save_on`: the signal that asks for a save alone; 0: none does.
    explicit StopSignals(int save_on = 0);
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// The first signal that asked to stop, or 0.
    static int received();
    /// Whether a save was asked for since the last call.
    static bool save_wanted();
};

/// "Ctrl-C", "SIGTERM".
const char* signal_name(int signal);

/// From here on, writing into a pipe that nobody reads any more and above the largest size of a file (ulimit -f) are errors of
/// the write, where the system would end the process.
void survive_failed_writes();

}  // namespace heddle::app
