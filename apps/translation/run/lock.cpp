#include "apps/translation/run/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/format.h"

namespace heddle::app {
namespace {

bool same(const struct stat& one, const struct stat& other) { return one.st_ino == other.st_ino && one.st_dev == other.st_dev; }

bool lies_at(const Descriptor& file, const Descriptor& folder, const char* name) {
    struct stat ours {
    }, there{};
    return ::fstat(file.number(), &ours) == 0 && ::fstatat(folder.number(), name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           same(ours, there);
}

// False if the holder has removed this open file from the folder, where another process may have made a new one.
bool is_still_there(const Descriptor& file, const Descriptor& folder) { return lies_at(file, folder, lock_file_name); }

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

std::string host() {
    char name[256] = "?";
    ::gethostname(name, sizeof name - 1);
    return name;
}

std::string words_of(pid_t process) { return fmt::format("process {} on {}", process, host()); }

// Appended to the lock's text if the file itself is the lock.
constexpr std::string_view no_flock = ", without flock";

bool is_a_lock(std::string_view text) { return text.empty() || text.starts_with("process "); }

// True if this text belongs to a process of this machine that has ended.
bool was_left_behind(const std::string& text) {
    pid_t process = 0;
    const std::string_view number = std::string_view(text).substr(std::min(text.size(), std::strlen("process ")));
    if (std::from_chars(number.data(), number.data() + number.size(), process).ec != std::errc{} || process <= 0) return false;
    // Compares the whole text, since the name node10 begins with node1.
    const std::string words = words_of(process);
    return (text == words || text == words + std::string(no_flock)) && ::kill(process, 0) != 0 && errno == ESRCH;
}

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
    // A process that found the former lock abandoned may have moved this one aside by mistake; it puts it back at once.
    for (int waits = 0; made && waits < 100 && !is_still_there(file_, folder_); ++waits)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!is_still_there(file_, folder_)) return false;
    if (!made && (refused != 0 || before.ends_with(no_flock))) {
        check_free(was_left_behind(before),
                   fmt::format(" (the file system has no locks that end with their process: if it has ended, remove {})",
                               path_.string()));
        remove_left_behind();
        return false;
    }
    const std::string text = fmt::format("{}{}\n", words_of(::getpid()), refused == 0 ? "" : no_flock);
    // With flock the text is only informative.
    if (::ftruncate(file_.number(), 0) == 0) [[maybe_unused]]
        const ssize_t written = ::write(file_.number(), text.data(), text.size());
    return true;
}

// Several processes may find the same abandoned lock. If one of them has already replaced it, its new lock is put back.
void RunLock::remove_left_behind() const {
    const std::string aside = fmt::format(".heddle-lock-{}.part", ::getpid());
    if (::renameat(folder_.number(), lock_file_name, folder_.number(), aside.c_str()) != 0) return;
    if (!lies_at(file_, folder_, aside.c_str())) [[maybe_unused]]
        const int put_back = ::linkat(folder_.number(), aside.c_str(), folder_.number(), lock_file_name, 0);
    ::unlinkat(folder_.number(), aside.c_str(), 0);
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
