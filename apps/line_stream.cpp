#include "apps/line_stream.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/format.h"

namespace heddle::app {

bool LineStream::more_is_ready() const {
    pollfd wait{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return poll(&wait, 1, 0) > 0;
}

bool LineStream::read_more() {
    if (at_end_) return false;
    buffer_.erase(0, begin_);
    begin_ = 0;
    char block[1 << 16];
    ssize_t got = 0;
    do got = read(descriptor_, block, sizeof block);
    while (got < 0 && errno == EINTR);
    check(got >= 0, "the input cannot be read: {}", std::strerror(errno));
    at_end_ = got == 0;
    buffer_.append(block, static_cast<std::size_t>(got));
    return got > 0;
}

bool LineStream::take_line(std::vector<std::string>& lines) {
    const std::size_t end = buffer_.find('\n', begin_);
    if (end == std::string::npos && !(at_end_ && begin_ < buffer_.size())) return false;
    std::string line = buffer_.substr(begin_, end == std::string::npos ? end : end - begin_);
    begin_ = end == std::string::npos ? buffer_.size() : end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (at_start_ && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    at_start_ = false;
    lines.push_back(std::move(line));
    return true;
}

std::vector<std::string> LineStream::next(std::size_t limit) {
    std::vector<std::string> lines;
    while (lines.size() < limit) {
        if (take_line(lines)) continue;
        if (at_end_ || (!lines.empty() && !more_is_ready())) break;
        read_more();
    }
    return lines;
}

}  // namespace heddle::app
