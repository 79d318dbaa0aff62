#include "core/descriptor.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace heddle {
namespace {

// After a failed call: waits if necessary, and returns true if the call should be repeated.
bool is_to_be_repeated(int descriptor, short events) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN) return false;
    pollfd wait{.fd = descriptor, .events = events, .revents = 0};
    return ::poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

std::ptrdiff_t read_waiting(int descriptor, std::span<char> room) {
    for (;;) {
        const ssize_t got = ::read(descriptor, room.data(), room.size());
        if (got >= 0 || !is_to_be_repeated(descriptor, POLLIN)) return got;
    }
}

bool write_waiting(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
        if (put >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(put));
        else if (!is_to_be_repeated(descriptor, POLLOUT))
            return false;
    }
    return true;
}

}  // namespace heddle
