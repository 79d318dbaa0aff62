// A file that is only appended to: log.jsonl, TensorBoard's events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace heddle::app {

/// A file opened for appending. It follows the name: after the file was removed or replaced, later bytes go to the file that
/// has the name then, or to a new one.
class AppendFile {
  public:
    /// Opens the file, or makes it. Error, with path and reason, when that is impossible.
    explicit AppendFile(std::filesystem::path path);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    /// Appends all of these bytes; they are passed to the system when the call returns. Error, with path and reason; the file
    /// then has none of them.
    void append(std::string_view bytes);
    /// The file's bytes now; 0 when it is gone and cannot be made again.
    std::int64_t length();

  private:
    bool reopened_where_gone();

    std::filesystem::path path_;
    int descriptor_ = -1;
};

}  // namespace heddle::app
