// Signals that ask a training to stop or to save, as requests that the training loop polls.
#pragma once

namespace heddle::app {

/// While one exists, signals that would end the process are only recorded: Ctrl-C and SIGTERM from a person, SIGHUP when the
/// terminal is closed, SIGTERM, SIGXCPU, SIGUSR1 and SIGUSR2 from schedulers before a limit. A line on stderr reports them. A
/// second Ctrl-C or SIGTERM ends the process at once, where it may; repetitions of the others have no effect. Signals that the
/// parent process ignores, as nohup does with SIGHUP, stay ignored, except `save_on`. One object at a time.
class StopSignals {
  public:
    /// `save_on`: the signal that asks for a save alone; 0: none does. `may_end`: whether a second Ctrl-C or SIGTERM ends the
    /// process, which is not ours where Python trains.
    explicit StopSignals(int save_on = 0, bool may_end = true);
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// The first signal that asked to stop, or 0.
    static int received();
    /// Whether a save was requested since the last call.
    static bool save_wanted();
};

/// "Ctrl-C", "SIGTERM".
const char* signal_name(int signal);

/// From now on, writing into a closed pipe or beyond the file size limit (ulimit -f) is an error of the write instead of
/// ending the process.
void survive_failed_writes();

}  // namespace heddle::app
