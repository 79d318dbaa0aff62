// A file that is only appended to: log.jsonl and TensorBoard's events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace heddle::app {

/// A file opened for appending, followed by name: after it was removed or replaced, bytes go to the file that now has the name,
/// or to a new one.
class AppendFile {
  public:
    /// Opens or makes the file. Error, with path and reason, when that fails.
    explicit AppendFile(std::filesystem::path path);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    /// Appends all bytes; the system has them when this returns. Error, with path and reason; then none of them are in the file.
    void append(std::string_view bytes);
    /// The size of the file in bytes; 0 if it is gone and cannot be made again.
    std::int64_t length();

  private:
    bool reopened_where_gone();

    std::filesystem::path path_;
    int descriptor_ = -1;
};

}  // namespace heddle::app
