// Lines from a stream as they come: whoever types sees an answer at once, whoever pipes a file gets large batches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::app {

class LineStream {
  public:
    /// Reads from this file descriptor, which stays open.
    explicit LineStream(int descriptor) : descriptor_(descriptor) {}

    /// The lines that can be had now, without their ends (LF or CRLF): at least one, at most `limit`; waits for the first. Empty
    /// at the end of the stream. The last line needs no end; a byte order mark at the start is dropped. Error when reading fails.
    std::vector<std::string> next(std::size_t limit);

  private:
    bool read_more();
    bool more_is_ready() const;
    bool take_line(std::vector<std::string>& lines);

    int descriptor_;
    std::string buffer_;
    std::size_t begin_ = 0;  // of what was not handed out yet
    bool at_end_ = false;
    bool at_start_ = true;
};

}  // namespace heddle::app
