#include "apps/translation/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// The holder removes its file while it still has the lock, so one may lock a file that is no longer there.
bool is_still_there(int descriptor, const std::filesystem::path& path) {
    struct stat ours {
    }, there{};
    return ::fstat(descriptor, &ours) == 0 && ::stat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

std::string holder(const std::filesystem::path& path) {
    std::string text = read_file(path);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text.empty() ? "another process" : text;
}

std::string this_process() {
    char host[256] = "?";
    ::gethostname(host, sizeof host - 1);
    return fmt::format("process {} on {}", ::getpid(), host);
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) : path_(folder / "lock") {
    for (;;) {
        descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        check(descriptor_ >= 0, "{}: cannot be written: {}", path_.string(), std::strerror(errno));
        if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
            const int reason = errno;
            ::close(descriptor_);
            check(reason != EWOULDBLOCK, "{} is in use: {} trains there; wait for its end, or choose another folder",
                  folder.string(), holder(path_));
            fail_with("{}: cannot be locked: {}", path_.string(), std::strerror(reason));
        }
        if (is_still_there(descriptor_, path_)) break;
        ::close(descriptor_);
    }
    const std::string text = this_process() + "\n";
    // The words are for people; the lock holds without them.
    if (::ftruncate(descriptor_, 0) == 0) [[maybe_unused]]
        const ssize_t written = ::write(descriptor_, text.data(), text.size());
}

RunLock::~RunLock() {
    ::unlink(path_.c_str());
    ::close(descriptor_);
}

}  // namespace heddle::app
