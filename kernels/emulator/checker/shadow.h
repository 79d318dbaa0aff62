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

/// A thread's place in the order of a launch: the ordinal of its block above its clock, in kTimeBits bits. How many of them the
/// clock has is a matter of the launch: few blocks may have long histories.
inline constexpr int kTimeBits = 36;
extern int clock_bits;
inline std::uint64_t time_of(std::uint32_t block, std::uint32_t clock) {
    const std::uint64_t most = (std::uint64_t{1} << clock_bits) - 1;
    return std::uint64_t{block} << clock_bits | (clock < most ? clock : most);
}

/// The threads whose further plain reads of a word are no race and do not change its cell, so that they need no check: those of
/// a crowd (clocks.h) in some quarters of one warp, or in all warps.
struct Settled {
    static constexpr int kBits = 33;
    static constexpr std::uint32_t kMostCrowd = (1u << 23) - 1;
    std::uint64_t bits = 0;  // from below: the warp, a bit for each of its quarters, whether all warps, the crowd

    static Settled of(std::uint32_t crowd, int warp, unsigned quarters, bool all) {
        return {std::uint64_t{crowd} << 10 | std::uint64_t{all} << 9 | std::uint64_t{quarters} << 5 |
                static_cast<std::uint64_t>(warp)};
    }
    /// For both, if the crowd and the warp are the same; else the later one.
    static Settled both(Settled earlier, Settled later) {
        constexpr std::uint64_t kQuarters = 15u << 5;
        const bool same = later.bits != 0 && ((earlier.bits ^ later.bits) & ~kQuarters) == 0;
        return {same ? earlier.bits | later.bits : later.bits};
    }
    bool holds(std::uint32_t crowd, int thread) const {
        if (bits >> 10 != crowd) return false;
        return (bits >> 9 & 1) != 0 ||
               ((bits & 31) == static_cast<unsigned>(thread) / 32 && (bits >> (5 + thread % 32 / 8) & 1) != 0);
    }
};

/// One access in 8 bytes, because the memory that these take is what checking costs: from below its time, its origin as a number
/// of the launch (origin_number), its thread, whether it mixes, its kind. Or the number of a Cell, and the threads for which its
/// word is settled.
struct Access {
    static constexpr std::uint64_t kTime = (std::uint64_t{1} << kTimeBits) - 1;
    static constexpr std::uint64_t kThread = std::uint64_t{1023} << 50;
    static constexpr std::uint64_t kMixes = std::uint64_t{1} << 60;
    static constexpr std::uint64_t kKind = std::uint64_t{3} << 61;
    static constexpr std::uint64_t kInCell = std::uint64_t{1} << 63;
    static constexpr int kCellBits = 63 - Settled::kBits;
    static constexpr std::uint64_t kCell = (std::uint64_t{1} << kCellBits) - 1;
    std::uint64_t bits = 0;

    /// Time 0 means no access.
    std::uint64_t time() const { return bits & kTime; }
    /// The ordinal; 0: no access.
    std::uint32_t block() const { return static_cast<std::uint32_t>(time() >> clock_bits); }
    std::uint32_t clock() const { return static_cast<std::uint32_t>(bits & ((std::uint64_t{1} << clock_bits) - 1)); }
    std::uint32_t origin() const { return static_cast<std::uint32_t>(bits >> kTimeBits & kMostOrigins); }
    int thread() const { return static_cast<int>(bits >> 50 & 1023); }
    /// A plain read or an atomic update of one word in a program of the front end, which may stand beside each other (check()).
    bool mixes() const { return (bits & kMixes) != 0; }
    Kind kind() const { return static_cast<Kind>(bits >> 61 & 3); }

    bool is_in_cell() const { return (bits & kInCell) != 0; }
    std::uint64_t cell() const { return bits & kCell; }
    Settled settled() const { return {(bits & ~kInCell) >> kCellBits}; }
    void settle(Settled settled) { bits = kInCell | settled.bits << kCellBits | cell(); }

    static constexpr std::uint32_t kMostOrigins = (1u << 14) - 1;
};
inline Access make_access(std::uint64_t time, int thread, Kind kind, std::uint32_t origin, bool mixes) {
    return {time | std::uint64_t{origin} << kTimeBits | static_cast<std::uint64_t>(thread) << 50 | (mixes ? Access::kMixes : 0) |
            static_cast<std::uint64_t>(kind) << 61};
}

/// The accesses to a word that a later access may conflict with, where one does not stand for all: a line of the cache.
struct alignas(64) Cell {
    Access write;                   // the last plain one
    std::array<Access, 2> atomics;  // writing ones since then
    std::array<Access, 4> reads;    // plain ones, and atomic ones that only read
};

/// The launch's cells, numbered.
class Cells {
  public:
    void clear() { used_ = 0; }
    Cell& operator[](Access in_cell) const { return start_[in_cell.cell()]; }
    /// Gives the access a cell of its own.
    Cell& move(Access& access);
    /// Another cell with the same accesses.
    Access copy(Access in_cell);

  private:
    std::uint64_t next();
    Cell* start_ = nullptr;  // addresses for more than there will ever be
    std::uint64_t used_ = 0;
};

inline constexpr std::size_t kPage = 4096;

/// Two bits for each byte of a page: whether a launch has read it, and written it.
struct Uses {
    std::array<std::uint64_t, kPage / 64> read{}, changed{};
};

/// Asynchronous copies in flight that touch a word.
struct Marks {
    std::uint32_t destination = 0;  // the number of the one that writes it
    std::uint32_t sources = 0;      // how many read it
};

/// 4 KB of memory. Its accesses are kept for words, or for halves or bytes of them where a launch accesses such: until its next
/// launch, most elements of an array are accessed by one thread, whose last access stands for all.
class Page {
  public:
    std::array<std::uint64_t, kPage / 64> allocated{}, written{};  // a bit for each byte
    std::uint32_t launch = 0;                                      // the launch that `uses` belongs to
    std::uint32_t stamp = 0;                                       // the one that the accesses belong to
    std::uint32_t marked = 0;                                      // words that have marks
    std::unique_ptr<Uses> uses;
    std::unique_ptr<std::array<Marks, kPage / 4>> marks;

    int grain() const { return grain_; }            // log2 of the bytes that an access is kept for
    Access* accesses() const { return accesses_; }  // kPage >> grain()
    void begin();                                   // without any, for words
    void refine(int grain, Cells& cells);
    void forget_accesses();
    Page() = default;
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    ~Page() { forget_accesses(); }

  private:
    int grain_ = 2;
    Access* accesses_ = nullptr;
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

    std::uint64_t since = 1;  // accesses before this time are outdated

  private:
    std::byte* start_;
    std::size_t bytes_;
    Page** pages_;  // reserved for the whole range, committed where it is touched
    std::size_t table_bytes_;
};

}  // namespace heddle::emulator::checker
