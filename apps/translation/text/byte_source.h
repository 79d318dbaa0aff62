// The bytes of a text file or of standard input. Gzip is decompressed transparently.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// As a file name this means standard input. A file of that name is "./-".
inline constexpr std::string_view standard_input = "-";
/// The name of the text at `path` in messages: "standard input" for "-".
std::string spoken_name(const std::string& path);

/// Reads forwards, in blocks. Gzip is detected by its first two bytes, whatever the file's name, and may have several members
/// (as after `cat a.gz b.gz`) and zeros after the last one.
class ByteSource {
  public:
    /// Opens a file, a named pipe, or standard input. Error with path and reason when that fails.
    explicit ByteSource(const std::string& path);
    /// Reads from a file descriptor, which stays open; `name` is used in errors.
    ByteSource(int descriptor, std::string name);
    ~ByteSource();
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    const std::string& name() const { return name_; }
    /// A command line that passes the bytes, unpacked, through a command of foreign_bytes.h: "iconv -f UTF-16 FILE > NEW".
    std::string through(std::string_view command) const;
    /// Puts the next bytes at the front of `room`, which is not empty, and returns their number: 0 only at the end. Waits until
    /// there are some. Error for a folder, when reading fails, for data that are packed otherwise, and for gzip data that are
    /// damaged, end too early, or unpack to more than 4 MiB and 200 times their size.
    std::size_t read(std::span<char> room);
    /// Whether read() has something to work on now, or within so many milliseconds.
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
    std::string path_;  // quoted for a shell; empty where only the descriptor is known
    bool begun_ = false;
    std::vector<char> raw_;     // read, but not handed out or unpacked yet: pending_ looks into it
    std::string_view pending_;  // the rest of raw_
    std::unique_ptr<Gunzip> gunzip_;
};

}  // namespace heddle::app
