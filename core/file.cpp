#include "core/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "core/format.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

/// Error "file: cannot DO 'PATH': REASON", the reason being errno's.
[[noreturn]] void fail_at(const char* what, const fs::path& path) {
    const std::string reason = std::generic_category().message(errno);
    fail_with("file: cannot {} '{}': {}", what, path.string(), reason);
}

/// A file descriptor that closes itself.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }
    bool good() const { return number_ >= 0; }

  private:
    int number_;
};

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
    // One byte more than the file's size, so that the read that finds the end needs no further block.
    std::size_t room = S_ISREG(information.st_mode) ? static_cast<std::size_t>(information.st_size) + 1 : 65536;
    for (std::size_t size = 0;;) {
        if (size == room) room *= 2;
        text.resize(room);
        const ssize_t got = ::read(file.number(), text.data() + size, room - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_at("read", path);
        size += static_cast<std::size_t>(got);
        if (got == 0) {
            text.resize(size);
            return text;
        }
    }
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// A name beside `target` that no other writer of this or another process uses at the same time. It does not contain the target's
/// name, which may already be as long as the file system allows.
fs::path part_beside(const fs::path& target) {
    static std::atomic<unsigned> counter{0};
    return folder_of(target) / fmt::format(".heddle-{}-{}.part", ::getpid(), counter.fetch_add(1));
}

}  // namespace

std::string read_file(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return read_all(file, information_of(file, path), path);
}

std::string read_regular_file(const fs::path& path, std::size_t longest) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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
    if (!file.good() || ::fsync(file.number()) != 0) fail_at("sync", path);
}

void sync_folder(const fs::path& folder) {
    const Descriptor entries(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!entries.good()) fail_at("open the folder", folder);
    // Some network file systems cannot sync a folder and say EINVAL; there is nothing better to do on them.
    if (::fsync(entries.number()) != 0 && errno != EINVAL) fail_at("sync the folder", folder);
}

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)) {
    std::error_code ignored;
    check(target_.has_filename() && !fs::is_directory(target_, ignored), "file: cannot write '{}': it is a folder",
          target_.string());
    do {
        part_ = part_beside(target_);
        descriptor_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);  // left behind by a process of the same number that was killed
    if (descriptor_ < 0) {
        part_.clear();
        fail_at("write", target_);
    }
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!part_.empty()) ::unlink(part_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    check(descriptor_ >= 0, "file: '{}' is already complete and takes no more bytes", target_.string());
    while (!bytes.empty()) {
        const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) fail_at("write", target_);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
}

void AtomicFile::commit() {
    check(descriptor_ >= 0, "file: '{}' is already complete", target_.string());
    if (::fsync(descriptor_) != 0) fail_at("write", target_);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_at("write", target_);
    if (::rename(part_.c_str(), target_.c_str()) != 0) fail_at("replace", target_);
    part_.clear();
    sync_folder(folder_of(target_));
}

MemoryMap::MemoryMap(const fs::path& path) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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
