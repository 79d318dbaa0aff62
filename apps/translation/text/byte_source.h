// The bytes of a text file or of standard input. Gzip is decompressed transparently.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// This file name means standard input. A file with this name is "./-".
inline constexpr std::string_view standard_input = "-";
/// The name of the text at `path` in messages: "standard input" for "-".
std::string spoken_name(const std::string& path);

/// Reads sequentially, in blocks. Gzip is detected by its first two bytes, not by the file's name, and may have several members
/// (as after `cat a.gz b.gz`) and zeros after the last one.
class ByteSource {
  public:
    /// Opens a file, a named pipe, or standard input. Error, with path and reason, when that fails.
    explicit ByteSource(const std::string& path);
    /// Reads from a file descriptor, which stays open; `name` is used in errors.
    ByteSource(int descriptor, std::string name);
    ~ByteSource();
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    const std::string& name() const { return name_; }
    /// A command line that pipes the unpacked bytes through a command of unreadable_text.h: "iconv -f UTF-16 FILE > NEW".
    std::string through(std::string_view command) const;
    /// Puts the next bytes at the front of `room` (not empty) and returns their number, which is 0 only at the end. Waits for
    /// bytes. Error for a folder, when reading fails, for data in another compressed format, and for gzip data that are damaged,
    /// end too early, or unpack to more than 4 MiB and 200 times their size.
    std::size_t read(std::span<char> room);
    /// True if read() can make progress now, or within this many milliseconds.
    bool ready(int milliseconds = 0) const;

  private:
    struct Gunzip;

    void find_format();
    std::size_t read_raw(std::span<char> room);
    bool find_input();
    std::size_t unpack(std::span<char> room);

    std::string name_;
    int descriptor_;
    bool owned_;
    std::string path_;  // quoted for a shell; empty if only the descriptor is known
    bool begun_ = false;
    std::vector<char> raw_;     // read, but neither returned nor unpacked yet
    std::string_view pending_;  // the rest of raw_
    std::unique_ptr<Gunzip> gunzip_;
};

}  // namespace heddle::app
