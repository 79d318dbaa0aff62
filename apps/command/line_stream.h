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
    /// Reads from this file descriptor, without closing it. LineReader splits lines; with the format `tags` metadata lines are
    /// skipped, and with `xml` lines are segments. Segments, and tags that were detected, are read completely before the first
    /// is returned.
    explicit LineStream(int descriptor, bool replace_invalid = false, TextFormat format = TextFormat::text,
                        WantedSegments wanted = {})
        : reader_(descriptor, "standard input", replace_invalid),
          replace_invalid_(replace_invalid),
          format_(format),
          wanted_(std::move(wanted)) {}

    /// The lines that are available now, without line ends: at least one, at most `limit`. Waits for the first line, then
    /// `milliseconds` for each further piece of the stream, and at most ten times that for all. Empty at the end of the stream.
    /// Error when reading fails or a line is not text, after the lines before it were returned.
    std::vector<std::string> next(std::size_t limit, int milliseconds = 0);
    /// Says, in one line each, the kinds of changes made to lines so far.
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
    std::vector<std::string> whole_;  // lines not yet returned of a text that was read completely, in reverse order
    std::vector<std::string> said_;   // changes found before the first line
    bool begun_ = false;
    std::exception_ptr error_;  // thrown by the next call: the lines before it were returned
};

}  // namespace heddle::app
