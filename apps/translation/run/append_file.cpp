#include "apps/translation/run/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// O_NONBLOCK: a named pipe without a reader must not block training.
int opened(const std::filesystem::path& path) {
    return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
}

std::int64_t length_of(int descriptor) {
    struct stat file {};
    return ::fstat(descriptor, &file) == 0 ? file.st_size : 0;
}

[[noreturn]] void cannot_write(const std::filesystem::path& path, int error) {
    fail_with("{}: cannot be written: {}", path.string(), std::generic_category().message(error));
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
    make_appendable(path_);
    descriptor_ = opened(path_);
    if (descriptor_ < 0) cannot_write(path_, errno);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

// Returns false, with errno, when the file is gone and cannot be made again.
bool AppendFile::reopened_where_gone() {
    struct stat named {
    }, open{};
    if (::lstat(path_.c_str(), &named) == 0 && ::fstat(descriptor_, &open) == 0 && named.st_dev == open.st_dev &&
        named.st_ino == open.st_ino)
        return true;
    const int fresh = opened(path_);
    if (fresh < 0) return false;
    ::close(std::exchange(descriptor_, fresh));
    return true;
}

void AppendFile::append(std::string_view bytes) {
    if (!reopened_where_gone()) cannot_write(path_, errno);
    const std::int64_t before = length_of(descriptor_);
    while (!bytes.empty()) {
        const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            const int error = errno;
            // Cuts off a partial write (full disk), which would make later lines unreadable.
            [[maybe_unused]] const int cut = ::ftruncate(descriptor_, before);
            cannot_write(path_, error);
        }
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
}

std::int64_t AppendFile::length() { return reopened_where_gone() ? length_of(descriptor_) : 0; }

}  // namespace heddle::app
