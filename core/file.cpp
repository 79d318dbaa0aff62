#include "core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "core/descriptor.h"
#include "core/format.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

/// Error "file: cannot DO 'PATH': REASON", with the reason from errno.
[[noreturn]] void fail_at(const char* what, const fs::path& path) {
    const std::string reason = std::generic_category().message(errno);
    fail_with("file: cannot {} '{}': {}", what, path.string(), reason);
}

/// Some file systems (network, user space) cannot sync folders, or cannot sync at all, and return one of these errors. Nothing
/// better can be done on them.
bool sync_is_unknown(int error) { return error == EINVAL || error == EBADF || error == ENOSYS || error == EOPNOTSUPP; }

/// fsync. True if the bytes are as safe as this file system can make them.
bool synced(int descriptor) { return ::fsync(descriptor) == 0 || sync_is_unknown(errno); }

struct stat information_of(const Descriptor& file, const fs::path& path) {
    struct stat information {};
    if (!file.good() || ::fstat(file.number(), &information) != 0) fail_at("read", path);
    return information;
}

void check_regular(const struct stat& information, const fs::path& path) {
    check(S_ISREG(information.st_mode), "file: cannot read '{}': it is not a regular file", path.string());
}

std::string read_all(const Descriptor& file, const struct stat& information, const fs::path& path) {
    std::string text;
    // One byte more than the file's size, so that the read that finds the end needs no other block.
    std::size_t room = S_ISREG(information.st_mode) ? static_cast<std::size_t>(information.st_size) + 1 : 65536;
    for (std::size_t size = 0;;) {
        if (size == room) room *= 2;
        text.resize(room);
        const std::ptrdiff_t got = read_waiting(file.number(), std::span(text).subspan(size));
        if (got < 0) fail_at("read", path);
        size += static_cast<std::size_t>(got);
        if (got == 0) {
            text.resize(size);
            return text;
        }
    }
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// A name in the folder of `target` that no other writer in this or another process uses. It does not contain the target's name,
/// which may already have the maximum length.
fs::path part_beside(const fs::path& target) {
    static std::atomic<unsigned> counter{0};
    return folder_of(target) / fmt::format(".heddle-{}-{}.part", ::getpid(), counter.fetch_add(1));
}

}  // namespace

std::string read_file(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return read_all(file, information_of(file, path), path);
}

Descriptor open_to_read(const fs::path& path) { return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); }

std::string read_regular_file(const fs::path& path, std::size_t longest) {
    const Descriptor file = open_to_read(path);
    const struct stat information = information_of(file, path);
    check_regular(information, path);
    check(static_cast<std::uintmax_t>(information.st_size) <= longest, "file: '{}' has {} bytes; wanted at most {}",
          path.string(), information.st_size, longest);
    return read_all(file, information, path);
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
    AtomicFile file(path);
    file.write(bytes);
    file.commit();
}

void write_file_atomically(const fs::path& path, std::string_view text) {
    write_file_atomically(path, std::as_bytes(std::span(text)));
}

void sync_file(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.good() && errno == ENOENT) return;
    if (!file.good() || !synced(file.number())) fail_at("sync", path);
}

void sync_folder(const fs::path& folder) {
    const Descriptor entries(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // A folder may be writable but not readable, and some file systems cannot open folders.
    if (!entries.good() && (errno == EACCES || sync_is_unknown(errno))) return;
    if (!entries.good()) fail_at("open the folder", folder);
    if (!synced(entries.number())) fail_at("sync the folder", folder);
}

void make_appendable(const fs::path& path) {
    struct stat information {};
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    check(file.good() || errno != ELOOP, "file: cannot write '{}': it is a symbolic link, which is not followed; remove it",
          path.string());
    if (!file.good() || ::fstat(file.number(), &information) != 0) fail_at("write", path);
    check(S_ISREG(information.st_mode), "file: cannot write '{}': it is not a regular file", path.string());
    if (information.st_nlink > 1) write_file_atomically(path, read_file(path));
}

bool is_being_written(const fs::path& path) {
    const Descriptor opened(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return opened.good() && ::flock(opened.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

WriteMark::WriteMark(const fs::path& path) : opened_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
    if (opened_.good()) ::flock(opened_.number(), LOCK_EX | LOCK_NB);
}

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)) {
    std::error_code ignored;
    check(target_.has_filename() && !fs::is_directory(target_, ignored), "file: cannot write '{}': it is a folder",
          target_.string());
    do {
        part_ = part_beside(target_);
        descriptor_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);  // left behind by a killed process with the same id
    if (descriptor_ < 0) {
        const int reason = errno;
        part_.clear();
        check(reason != ENOENT || fs::exists(folder_of(target_), ignored), "file: cannot write '{}': there is no folder '{}'",
              target_.string(), folder_of(target_).string());
        errno = reason;
        fail_at("write", target_);
    }
    ::flock(descriptor_, LOCK_EX | LOCK_NB);  // for is_being_written()
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!part_.empty()) ::unlink(part_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    check(descriptor_ >= 0, "file: '{}' is already complete and takes no more bytes", target_.string());
    if (!write_waiting(descriptor_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) fail_at("write", target_);
}

void AtomicFile::commit() {
    check(descriptor_ >= 0, "file: '{}' is already complete", target_.string());
    if (!synced(descriptor_)) fail_at("write", target_);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_at("write", target_);
    if (::rename(part_.c_str(), target_.c_str()) != 0) fail_at("replace", target_);
    part_.clear();
    sync_folder(folder_of(target_));
}

MemoryMap::MemoryMap(const fs::path& path) : MemoryMap(open_to_read(path), path) {}

MemoryMap::MemoryMap(const Descriptor& file, const fs::path& path) {
    const struct stat information = information_of(file, path);
    check_regular(information, path);
    if (information.st_size == 0) return;  // mmap refuses an empty range
    const auto size = static_cast<std::size_t>(information.st_size);
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (start == MAP_FAILED) fail_at("map", path);
    bytes_ = {static_cast<const std::byte*>(start), size};
}

MemoryMap::~MemoryMap() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MemoryMap::MemoryMap(MemoryMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MemoryMap& MemoryMap::operator=(MemoryMap&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace heddle
