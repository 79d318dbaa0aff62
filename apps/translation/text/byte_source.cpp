#include "apps/translation/text/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "apps/translation/text/unreadable_text.h"
#include "core/descriptor.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

constexpr std::size_t block_size = 1 << 16;
constexpr std::string_view gzip_magic = "\x1f\x8b";  // RFC 1952, 2.3.1

[[noreturn]] void fail_reading(const std::string& name) {
    fail_with("{}: cannot be read: {}", name, std::generic_category().message(errno));
}

int open_file(const std::string& path) {
    if (path == standard_input) return STDIN_FILENO;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) fail_reading(path);
    return descriptor;
}

}  // namespace

struct ByteSource::Gunzip {
    explicit Gunzip(const std::string& name) {
        constexpr int gzip_only = 16;  // added to the window size; see zlib.h
        check(inflateInit2(&stream, MAX_WBITS + gzip_only) == Z_OK, "{}: there is no memory to unpack it", name);
    }
    ~Gunzip() { inflateEnd(&stream); }
    Gunzip(const Gunzip&) = delete;
    Gunzip& operator=(const Gunzip&) = delete;

    z_stream stream{};
    bool inside = true;                      // within a gzip member
    std::uint64_t packed = 0, unpacked = 0;  // bytes so far

    // Text compresses to a hundredth at best, but a gzip bomb to a thousandth: its lines would fill the memory.
    void check_ratio(const std::string& name) const {
        constexpr std::uint64_t most = 200, free = 4 << 20;
        check(unpacked <= free + most * packed,
              "{}: {} bytes of gzip unpack to more than {} bytes, more than {} times as much; that is no text. If it is "
              "meant, unpack it with gunzip first",
              name, packed, unpacked, most);
    }
};

std::string spoken_name(const std::string& path) { return path == standard_input ? "standard input" : path; }

ByteSource::ByteSource(const std::string& path) : ByteSource(open_file(path), spoken_name(path)) {
    owned_ = path != standard_input;
    if (owned_) path_ = shell_word(path);
}

ByteSource::ByteSource(int descriptor, std::string name)
    : name_(std::move(name)), descriptor_(descriptor), owned_(false), raw_(block_size) {}

ByteSource::~ByteSource() {
    if (owned_) ::close(descriptor_);
}

std::size_t ByteSource::read_raw(std::span<char> room) {
    const std::ptrdiff_t got = read_waiting(descriptor_, room);
    check(got >= 0 || errno != EISDIR, "{}: this is a folder; wanted a text file", name_);
    if (got < 0) fail_reading(name_);
    return static_cast<std::size_t>(got);
}

std::string ByteSource::through(std::string_view command) const {
    if (!gunzip_) return fmt::format("{} {} > NEW", command, path_.empty() ? "OLD" : path_);
    if (command.ends_with(" <")) command.remove_suffix(2);
    return fmt::format("gzip -dc {} | {} > NEW", path_.empty() ? "OLD" : path_, command);
}

// Reads until the format is known: a pipe may deliver the first bytes one by one.
void ByteSource::find_format() {
    begun_ = true;
    const auto may_be_gzip = [](std::string_view begun) {
        return begun.size() < gzip_magic.size() && gzip_magic.starts_with(begun);
    };
    for (std::size_t got = 1; got > 0 && (may_be_gzip(pending_) || may_be_packed(pending_));) {
        got = read_raw(std::span(raw_).subspan(pending_.size()));
        pending_ = {raw_.data(), pending_.size() + got};
    }
    if (const std::optional<PackedFormat> packed = packed_format(pending_))
        fail_with("{}: this is {}, wanted text; unpack it first: {}", name_, packed->name, through(packed->unpack));
    if (pending_.starts_with(gzip_magic)) gunzip_ = std::make_unique<Gunzip>(name_);
}

std::size_t ByteSource::read(std::span<char> room) {
    if (!begun_) find_format();
    if (gunzip_) return unpack(room);
    if (pending_.empty()) return read_raw(room);
    const std::size_t count = pending_.copy(room.data(), room.size());
    pending_.remove_prefix(count);
    return count;
}

// Ensures that pending_ has compressed bytes, at a member's start if none is open; false after the last member.
bool ByteSource::find_input() {
    for (;;) {
        if (!gunzip_->inside) pending_.remove_prefix(std::min(pending_.find_first_not_of('\0'), pending_.size()));
        if (!pending_.empty()) return true;
        pending_ = {raw_.data(), read_raw(raw_)};
        if (!pending_.empty()) continue;
        check(!gunzip_->inside, "{}: the gzip data end too early; the file is not complete", name_);
        return false;
    }
}

std::size_t ByteSource::unpack(std::span<char> room) {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    z_stream& stream = gunzip_->stream;
    const auto space = static_cast<uInt>(std::min(room.size(), most));
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = space;
    while (stream.avail_out == space) {
        if (!find_input()) return 0;
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(pending_.data()));
        stream.avail_in = static_cast<uInt>(pending_.size());
        const int status = inflate(&stream, Z_NO_FLUSH);
        gunzip_->packed += pending_.size() - stream.avail_in;
        pending_.remove_prefix(pending_.size() - stream.avail_in);
        check(status == Z_OK || status == Z_STREAM_END, "{}: the gzip data are damaged ({})", name_,
              stream.msg != nullptr ? stream.msg : "unknown reason");
        gunzip_->inside = status != Z_STREAM_END;
        if (!gunzip_->inside) inflateReset(&stream);
    }
    gunzip_->unpacked += space - stream.avail_out;
    gunzip_->check_ratio(name_);
    return space - stream.avail_out;
}

bool ByteSource::ready(int milliseconds) const {
    if (!pending_.empty()) return true;
    pollfd wait{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, milliseconds) > 0;
}

}  // namespace heddle::app
