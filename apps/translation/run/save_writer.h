// Saves in the background: training continues while a save is written and synced.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

namespace heddle::app {

/// Runs one job at a time on a separate thread.
class SaveWriter {
  public:
    SaveWriter() = default;
    /// Waits; errors of the last job are lost, so call wait() first.
    ~SaveWriter();
    SaveWriter(const SaveWriter&) = delete;
    SaveWriter& operator=(const SaveWriter&) = delete;

    /// Waits for the previous job and rethrows its exception, then starts this one.
    void start(std::function<void()> job);
    /// Rethrows what a job that has ended threw; returns at once while one is running.
    void check_ended();
    /// Waits for the end of the job and rethrows what it threw.
    void wait();

  private:
    std::thread thread_;
    std::atomic<bool> ended_{true};
    std::exception_ptr error_;
};

}  // namespace heddle::app
