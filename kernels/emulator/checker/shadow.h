// Shadow memory: for every byte, whether it is allocated and was ever written; for every 4-byte word, its last accesses. Shadows
// are allocated for pages of 4 KB when a page is first touched, so a sparse tensor costs only what is used of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace heddle::emulator::checker {

enum class Kind : std::uint8_t { read, write, atomic_read, atomic_write };
constexpr bool is_write(Kind kind) { return kind == Kind::write || kind == Kind::atomic_write; }
constexpr bool is_atomic(Kind kind) { return kind == Kind::atomic_read || kind == Kind::atomic_write; }
/// Two unordered accesses are a race if one of them writes, unless both are atomic.
constexpr bool conflict(Kind a, Kind b) { return (is_write(a) || is_write(b)) && !(is_atomic(a) && is_atomic(b)); }
/// Its word in reports: "writes".
constexpr const char* verb(Kind kind) {
    constexpr const char* words[] = {"reads", "writes", "atomically reads", "atomically changes"};
    return words[static_cast<int>(kind)];
}
/// "wrote".
constexpr const char* past(Kind kind) {
    constexpr const char* words[] = {"read", "wrote", "atomically read", "atomically changed"};
    return words[static_cast<int>(kind)];
}

/// The origin of an access: a return address, or the number of a Place from intern().
struct Origin {
    std::uint64_t bits = 0;
    bool is_place() const { return bits >> 63 != 0; }
    std::uint64_t value() const { return bits & ((std::uint64_t{1} << 48) - 1); }
    static Origin of_code(const void* address) {
        return {reinterpret_cast<std::uint64_t>(address) & ((std::uint64_t{1} << 48) - 1)};
    }
    static Origin of_place(std::uint64_t number) { return {number | std::uint64_t{1} << 63}; }
};

/// One access in 16 bytes: thread, clock, origin, kind.
struct Access {
    std::uint32_t block = 0;  // ordinal; 0: none
    std::uint32_t clock = 0;
    // origin: 48 bits, thread: 10, kind: 2, whether it mixes: 1, last bit: whether the origin is the number of a Place
    std::uint64_t code = 0;

    int thread() const { return static_cast<int>(code >> 48 & 1023); }
    Kind kind() const { return static_cast<Kind>(code >> 58 & 3); }
    Origin origin() const { return {code & ~(std::uint64_t{0x7fff} << 48)}; }
    /// A plain read or an atomic update of one word in a program of the front end, which may stand beside each other (check()).
    bool mixes() const { return (code >> 60 & 1) != 0; }
};
inline Access make_access(std::uint32_t block, int thread, std::uint32_t clock, Kind kind, Origin origin, bool mixes = false) {
    return {block, clock,
            origin.bits | static_cast<std::uint64_t>(thread) << 48 | static_cast<std::uint64_t>(kind) << 58 |
                static_cast<std::uint64_t>(mixes) << 60};
}

/// The accesses to a word, or to a byte of a word that is used in parts, that a later access may conflict with.
struct Cell {
    Access write;                   // the last plain one
    std::array<Access, 2> atomics;  // writing ones since then
    std::array<Access, 4> reads;    // plain ones, and atomic ones that only read
    std::uint32_t destination = 0;  // number of the copy in flight that writes it
    std::uint32_t sources = 0;      // number of copies in flight that read it
    std::uint32_t split = 0;        // its bytes have had separate cells since this ordinal
};

/// The same for a word that has only whole plain accesses, and whose reads since the last write one access stands for: most words
/// of most launches. Four times less memory, which is what these accesses cost.
struct SmallCell {
    Access write, read;
};

/// The threads whose further plain reads of a word are no race and do not change its cells, so that they need no check: those of
/// a crowd (clocks.h) in some quarters of one warp, or in all warps.
struct Settled {
    std::uint32_t crowd = 0;  // 0: of none
    std::uint8_t warp = 0, quarters = 0;
    bool all = false;

    bool holds(std::uint32_t its_crowd, int thread) const {
        return crowd == its_crowd && (all || (warp == thread / 32 && (quarters >> thread % 32 / 8 & 1) != 0));
    }
};

inline constexpr std::size_t kPage = 4096;

/// Two bits for each byte of a page: whether a launch has read it, and written it.
struct Uses {
    std::array<std::uint64_t, kPage / 64> read{}, changed{};
};

struct Page {
    std::array<std::uint64_t, kPage / 64> allocated{}, written{};  // a bit for each byte
    std::uint32_t launch = 0;                                      // the launch that `uses` belongs to, by its first ordinal
    std::unique_ptr<Uses> uses;
    SmallCell* small = nullptr;  // [1024], until one of its words needs more
    Cell* words = nullptr;       // [1024]
    Cell* bytes = nullptr;       // [4096]
    Settled* settled = nullptr;  // [1024] of the words

    SmallCell& small_word(std::size_t offset) {
        if (!small) small = taken<SmallCell>(kPage / 4);
        return small[offset / 4];
    }
    Cell& word(std::size_t offset) {
        if (!words) make_words();
        return words[offset / 4];
    }
    Cell& byte(std::size_t offset) {
        if (!bytes) bytes = taken<Cell>(kPage);
        return bytes[offset];
    }
    /// Drops all accesses. Called between launches only, or when all of them are outdated.
    void forget_accesses();
    Page() = default;
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    ~Page() { forget_accesses(); }

  private:
    void make_words();
    template <class T>
    static T* taken(std::size_t count) {
        return static_cast<T*>(take(count * sizeof(T)));
    }
    /// Memory of this size: zeroed, or with outdated accesses of another page.
    static void* take(std::size_t bytes);
};

/// A range of memory with its pages.
class Space {
  public:
    explicit Space(std::span<std::byte> range);
    ~Space();
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;

    bool holds(const void* address) const { return offset(address) < bytes_; }
    std::size_t offset(const void* address) const {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(start_);
    }
    std::byte* start() const { return start_; }
    std::size_t bytes() const { return bytes_; }
    /// The page at this offset; null if it does not exist yet.
    Page* page(std::size_t offset) const { return pages_[offset / kPage]; }
    Page& make_page(std::size_t offset);

    using Bits = std::array<std::uint64_t, kPage / 64> Page::*;
    /// Sets or clears the bits of a range; creates missing pages unless `only_existing`.
    void set(Bits bits, std::size_t offset, std::size_t bytes, bool value, bool only_existing = false);
    /// The first byte of the range whose bit is clear, or the range's end.
    std::size_t first_clear(Bits bits, std::size_t offset, std::size_t bytes) const;
    /// The first byte of the range that nobody has written and that cannot be a structure's padding, or the range's end. Padding
    /// follows a written byte and is shorter than the alignment of what begins behind it. Of an `array`, which may have any
    /// elements, only two or three bytes before a multiple of four count as padding.
    std::size_t first_missing(std::size_t offset, std::size_t bytes, bool array) const;
    /// Drops the accesses to the pages that are entirely in the range.
    void forget(std::size_t offset, std::size_t bytes);

    std::uint32_t since = 0;  // accesses of blocks with a lower ordinal are outdated

  private:
    std::byte* start_;
    std::size_t bytes_;
    Page** pages_;  // reserved for the whole range, committed where it is touched
    std::size_t table_bytes_;
};

}  // namespace heddle::emulator::checker
