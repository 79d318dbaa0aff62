// One process at a time writes a folder: a run, or a text that is prepared.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/descriptor.h"

namespace heddle::app {

/// The file's name.
inline constexpr const char* lock_file_name = "lock";

/// Holds FOLDER/lock, a file with this process's number, while it exists. The lock is the kernel's (flock): it goes with the
/// process, however that ends, so the file of a killed process does not lock anything. Where the file system has no such
/// locks, the file itself is the lock, and one of a process of this machine that has ended is removed.
class RunLock {
  public:
    /// Error that names the other process when there is one, and when the folder cannot be written or its `lock` is somebody
    /// else's file: that one is neither followed nor changed. `work`: what such processes do there, for messages.
    explicit RunLock(const std::filesystem::path& folder, std::string_view work = "trains");
    /// Removes the file, in the folder where it was made, unless another process's lies there by now.
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

    /// Error when what lies at the folder's path now is no longer the folder that was locked, or another process has locked it.
    /// No error when nothing lies there.
    void check_unmoved() const;

  private:
    bool take();
    void remove_left_behind() const;

    std::filesystem::path path_;
    std::string work_;
    Descriptor folder_;  ///< the same folder after it was moved, too
    Descriptor file_;
};

}  // namespace heddle::app
