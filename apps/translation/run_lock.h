// One process at a time writes a run.
#pragma once

#include <filesystem>

namespace heddle::app {

/// Holds RUN/lock, a file with this process's number, while it lives. The lock is the kernel's (flock): it goes with the process,
/// however that ends, so a file that a killed process left behind locks nothing.
class RunLock {
  public:
    /// Error that names the other process when there is one, and when the folder cannot be written.
    explicit RunLock(const std::filesystem::path& folder);
    /// Removes the file.
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

  private:
    std::filesystem::path path_;
    int descriptor_ = -1;
};

}  // namespace heddle::app
