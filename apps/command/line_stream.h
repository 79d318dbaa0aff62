// Lines from a stream as they arrive: typed lines are answered at once, piped files are read in large batches.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "apps/translation/text/text_file.h"

namespace heddle::app {

class LineStream {
  public:
    /// Reads from this file descriptor, which stays open. What a line is, LineReader says; with the format tags metadata lines
    /// are no lines, and with xml the segments are. Segments, and tags that were detected, are read whole before the first is
    /// handed out.
    explicit LineStream(int descriptor, bool replace_invalid = false, TextFormat format = TextFormat::text,
                        WantedSegments wanted = {})
        : reader_(descriptor, "standard input", replace_invalid),
          replace_invalid_(replace_invalid),
          format_(format),
          wanted_(std::move(wanted)) {}

    /// The lines that are available now, without their ends: at least one, at most `limit`; waits for the first, and so many
    /// milliseconds for each further piece of the stream, ten times as long for all of them. Empty at the end of the stream.
    /// Error when reading fails or a line is not text, once the lines before it were handed out.
    std::vector<std::string> next(std::size_t limit, int milliseconds = 0);
    /// One line for each kind of change that lines so far went through.
    void say_changes(const Say& say) const;

  private:
    bool take(std::string& line);
    void find_format();

    LineReader reader_;
    bool replace_invalid_;
    TextFormat format_;
    WantedSegments wanted_;
    std::int64_t metadata_ = 0;  // lines skipped
    bool read_whole_ = false;
    std::vector<std::string> whole_;  // of a text that was read whole: what was not handed out, the last one first
    std::vector<std::string> said_;   // before the first line
    bool begun_ = false;
    std::exception_ptr error_;  // of the line after those handed out
};

}  // namespace heddle::app
