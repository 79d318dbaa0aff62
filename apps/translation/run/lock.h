// Ensures that only one process at a time writes a folder: a run, or a text that is being prepared.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/descriptor.h"

namespace heddle::app {

/// The name of the lock's file.
inline constexpr const char* lock_file_name = "lock";

/// Holds FOLDER/lock, a file with this process's number, while it exists. The kernel's lock (flock) ends with the process, so
/// the file of a killed process locks nothing. On file systems without flock the file itself is the lock, and the user must
/// remove that of a killed process.
class RunLock {
  public:
    /// Error that names the other process if there is one, or when the folder cannot be written, or when its `lock` is not ours:
    /// that file is neither followed nor changed. `work`: what such processes do there, for messages.
    explicit RunLock(const std::filesystem::path& folder, std::string_view work = "trains");
    /// Removes the file from the folder in which it was made, unless it is another process's by now.
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

    /// Error when the folder's path now leads to another folder, or another process has locked it. No error when there is
    /// nothing at the path.
    void check_unmoved() const;

  private:
    bool take();

    std::filesystem::path path_;
    std::string work_;
    Descriptor folder_;  ///< still the same folder after it was moved
    Descriptor file_;
};

}  // namespace heddle::app
