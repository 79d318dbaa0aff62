#include "apps/line_stream.h"

namespace heddle::app {

std::vector<std::string> LineStream::next(std::size_t limit) {
    std::vector<std::string> lines;
    for (std::string line; lines.size() < limit;) {
        if (reader_.take(line))
            lines.push_back(std::move(line));
        else if (reader_.at_end() || (!lines.empty() && !reader_.ready()))
            break;
        else
            reader_.read_more();
    }
    return lines;
}

}  // namespace heddle::app
