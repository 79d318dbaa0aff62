#include "apps/line_stream.h"

#include <utility>

namespace heddle::app {

std::vector<std::string> LineStream::next(std::size_t limit) {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    std::vector<std::string> lines;
    try {
        for (std::string line; lines.size() < limit;) {
            if (reader_.take(line))
                lines.push_back(std::move(line));
            else if (reader_.at_end() || (!lines.empty() && !reader_.ready()))
                break;
            else
                reader_.read_more();
        }
    } catch (...) {
        if (lines.empty()) throw;
        error_ = std::current_exception();
    }
    return lines;
}

}  // namespace heddle::app
