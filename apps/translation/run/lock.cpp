#include "apps/translation/run/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/format.h"

namespace heddle::app {
namespace {

bool same(const struct stat& one, const struct stat& other) { return one.st_ino == other.st_ino && one.st_dev == other.st_dev; }

// False if the holder has removed this open file from the folder, where another process may have made a new one.
bool is_still_there(const Descriptor& file, const Descriptor& folder) {
    struct stat ours {
    }, there{};
    return ::fstat(file.number(), &ours) == 0 && ::fstatat(folder.number(), lock_file_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           same(ours, there);
}

bool is_regular(const Descriptor& file) {
    struct stat information {};
    return ::fstat(file.number(), &information) == 0 && S_ISREG(information.st_mode);
}

// The first line of the file.
std::string text_of(const Descriptor& file) {
    char text[512];
    const ssize_t size = ::pread(file.number(), text, sizeof text, 0);
    std::string line(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    return line.substr(0, line.find('\n'));
}

std::string words_of_this_process() {
    char host[256] = "?";
    ::gethostname(host, sizeof host - 1);
    return fmt::format("process {} on {}", ::getpid(), host);
}

// Appended to the lock's text if the file itself is the lock.
constexpr std::string_view no_flock = ", without flock";

bool is_a_lock(std::string_view text) { return text.empty() || text.starts_with("process "); }

bool is_without_flock(int error) { return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL; }

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder, std::string_view work)
    : path_(folder / lock_file_name), work_(work), folder_(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    check(folder_.good(), "{}: cannot be opened: {}", folder.string(), std::strerror(errno));
    for (int attempts = 0; !take(); ++attempts)
        check(attempts < 1000, "{}: cannot be locked: it is removed again and again", path_.string());
}

// Tries once; false when the file was removed meanwhile.
bool RunLock::take() {
    const auto open = [&](int flags) {
        file_ =
            Descriptor(::openat(folder_.number(), lock_file_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666));
        return file_.good();
    };
    const bool made = open(O_CREAT | O_EXCL);
    if (!made && errno == EEXIST && !open(0) && errno == ENOENT) return false;
    check(file_.good() || errno != ELOOP, "{}: is a symbolic link, which is not followed; remove it, or choose another folder",
          path_.string());
    check(file_.good(), "{}: cannot be written: {}", path_.string(), std::strerror(errno));
    const std::string before = text_of(file_);
    check(is_regular(file_) && is_a_lock(before), "{}: is no lock of heddle's; choose another folder", path_.string());

    const int refused = ::flock(file_.number(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    const auto check_free = [&](bool free, const std::string& advice) {
        check(free, "{} is in use: {} {} there; wait for its end, or choose another folder{}", path_.parent_path().string(),
              before.empty() ? "another process" : before, work_, advice);
    };
    check_free(refused != EWOULDBLOCK, "");
    check(refused == 0 || is_without_flock(refused), "{}: cannot be locked: {}", path_.string(), std::strerror(refused));
    if (!is_still_there(file_, folder_)) return false;
    check_free(
        made || (refused == 0 && !before.ends_with(no_flock)),
        fmt::format(" (the file system has no locks that end with their process: if it has ended, remove {})", path_.string()));
    const std::string text = fmt::format("{}{}\n", words_of_this_process(), refused == 0 ? "" : no_flock);
    // With flock the text is only informative.
    if (::ftruncate(file_.number(), 0) == 0) [[maybe_unused]]
        const ssize_t written = ::write(file_.number(), text.data(), text.size());
    return true;
}

RunLock::~RunLock() {
    if (is_still_there(file_, folder_)) ::unlinkat(folder_.number(), lock_file_name, 0);
}

void RunLock::check_unmoved() const {
    struct stat ours {
    }, there{}, lock{};
    const std::filesystem::path folder = path_.parent_path();
    if (::fstat(folder_.number(), &ours) != 0 || ::stat(folder.c_str(), &there) != 0) return;
    check(same(ours, there), "{}: another folder lies there now; the one that this process {} in was moved or removed",
          folder.string(), work_);
    const bool locked = ::fstatat(folder_.number(), lock_file_name, &lock, AT_SYMLINK_NOFOLLOW) == 0;
    check(!locked || is_still_there(file_, folder_), "{}: the lock of this process was removed, and another one lies there now",
          path_.string());
}

}  // namespace heddle::app
