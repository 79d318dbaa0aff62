// Saves in the background: training goes on while a save is written and synced.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

namespace heddle::app {

/// Runs one job at a time on a thread of its own.
class SaveWriter {
  public:
    SaveWriter() = default;
    /// Waits; what then goes wrong is lost, so call wait() before.
    ~SaveWriter();
    SaveWriter(const SaveWriter&) = delete;
    SaveWriter& operator=(const SaveWriter&) = delete;

    /// Waits for the job before, then begins this one. Rethrows what the one before threw.
    void start(std::function<void()> job);
    /// Rethrows what a job that has ended threw; returns at once when one goes on.
    void check_ended();
    /// Waits for the end of the job and rethrows what it threw.
    void wait();

  private:
    std::thread thread_;
    std::atomic<bool> ended_{true};
    std::exception_ptr error_;
};

}  // namespace heddle::app
