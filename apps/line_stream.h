// Lines from a stream as they come: whoever types sees an answer at once, whoever pipes a file gets large batches.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "apps/translation/line_reader.h"

namespace heddle::app {

class LineStream {
  public:
    /// Reads from this file descriptor, which stays open. What a line is, LineReader says.
    explicit LineStream(int descriptor, bool replace_invalid = false) : reader_(descriptor, "standard input", replace_invalid) {}

    /// The lines that can be had now, without their ends: at least one, at most `limit`; waits for the first. Empty at the end of
    /// the stream. Error when reading fails or a line is not text, once the lines before it were handed out.
    std::vector<std::string> next(std::size_t limit);
    /// One line for each kind of change that lines so far went through.
    void say_changes(const Say& say) const { reader_.say_changes(say); }

  private:
    LineReader reader_;
    std::exception_ptr error_;  // of the line behind those handed out
};

}  // namespace heddle::app
