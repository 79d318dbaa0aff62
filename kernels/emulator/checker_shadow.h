// What is remembered of every byte: whether it is allocated, whether it was ever written; of every 4-byte word: by whom it was
// last touched. Shadows come by pages of 4 KB of memory, when a page is first touched, so that a sparse tensor costs what is used
// of it.
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
/// Two accesses that nothing orders are a race when one of them writes, but atomics among themselves are not.
constexpr bool conflict(Kind a, Kind b) { return (is_write(a) || is_write(b)) && !(is_atomic(a) && is_atomic(b)); }

/// Where an access comes from: a return address, or a Place that intern() numbered.
struct Origin {
    std::uint64_t bits = 0;
    bool is_place() const { return bits >> 63 != 0; }
    std::uint64_t value() const { return bits & ((std::uint64_t{1} << 48) - 1); }
    static Origin of_code(const void* address) {
        return {reinterpret_cast<std::uint64_t>(address) & ((std::uint64_t{1} << 48) - 1)};
    }
    static Origin of_place(std::uint64_t number) { return {number | std::uint64_t{1} << 63}; }
};

/// One access, in 16 bytes: who, when, from where, how.
struct Access {
    std::uint32_t block = 0;  // ordinal; 0: none
    std::uint32_t clock = 0;
    std::uint64_t code = 0;  // origin: 48 bits, thread: 10, kind: 2, whether the origin numbers a Place: the last

    int thread() const { return static_cast<int>(code >> 48 & 1023); }
    Kind kind() const { return static_cast<Kind>(code >> 58 & 3); }
    Origin origin() const { return {code & ~(std::uint64_t{0x7fff} << 48)}; }
};
inline Access make_access(std::uint32_t block, int thread, std::uint32_t clock, Kind kind, Origin origin) {
    return {block, clock, origin.bits | static_cast<std::uint64_t>(thread) << 48 | static_cast<std::uint64_t>(kind) << 58};
}

/// The accesses to a word, or to a byte of a word that is used in parts, which a later one may be in conflict with.
struct Cell {
    Access write;                   // the last plain one
    std::array<Access, 2> atomics;  // writing ones since then
    std::array<Access, 4> reads;    // plain ones, and atomic ones that only read
    std::uint32_t destination = 0;  // of the copy in flight with this number
    std::uint32_t sources = 0;      // of so many copies in flight
    std::uint32_t split = 0;        // its bytes have cells of their own since this ordinal
};

/// Of which threads a further plain read of a word is no race and leaves its cells as they are, so that nothing need be looked
/// at: of those of a crowd (checker_clocks.h) in some quarters of one warp, or in all warps.
struct Settled {
    std::uint32_t crowd = 0;  // 0: of none
    std::uint8_t warp = 0, quarters = 0;
    bool all = false;

    bool holds(std::uint32_t its_crowd, int thread) const {
        return crowd == its_crowd && (all || (warp == thread / 32 && (quarters >> thread % 32 / 8 & 1) != 0));
    }
};

inline constexpr std::size_t kPage = 4096;

/// A bit for each byte of a page that a launch has read, that it has written.
struct Uses {
    std::array<std::uint64_t, kPage / 64> read{}, changed{};
};

struct Page {
    std::array<std::uint64_t, kPage / 64> allocated{}, written{};  // a bit for each byte
    std::uint32_t launch = 0;                                      // the launch, by its first ordinal, of which `uses` tells
    std::unique_ptr<Uses> uses;
    Cell* words = nullptr;       // [1024], zeroed when they come
    Cell* bytes = nullptr;       // [4096]
    Settled* settled = nullptr;  // [1024] of the words

    Cell& word(std::size_t offset) {
        if (!words) {
            words = zeroed<Cell>(kPage / 4);
            settled = zeroed<Settled>(kPage / 4);
        }
        return words[offset / 4];
    }
    Cell& byte(std::size_t offset) {
        if (!bytes) bytes = zeroed<Cell>(kPage);
        return bytes[offset];
    }
    void forget_accesses() {
        std::free(words);
        std::free(bytes);
        std::free(settled);
        words = bytes = nullptr;
        settled = nullptr;
    }
    Page() = default;
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    ~Page() { forget_accesses(); }

  private:
    template <class T>
    static T* zeroed(std::size_t count) {
        void* const all = std::calloc(count, sizeof(T));
        if (!all) std::abort();
        return static_cast<T*>(all);
    }
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
    /// The page of this offset; null when nobody made it yet.
    Page* page(std::size_t offset) const { return pages_[offset / kPage]; }
    Page& make_page(std::size_t offset);

    using Bits = std::array<std::uint64_t, kPage / 64> Page::*;
    /// Sets or clears the bits of a range; makes the pages that it needs unless `only_existing`.
    void set(Bits bits, std::size_t offset, std::size_t bytes, bool value, bool only_existing = false);
    /// The first byte of the range whose bit is clear, or its end.
    std::size_t first_clear(Bits bits, std::size_t offset, std::size_t bytes) const;
    /// Forgets the accesses to the pages that lie wholly in the range.
    void forget(std::size_t offset, std::size_t bytes);

    std::uint32_t since = 0;  // accesses of blocks with a lower ordinal are of another time

  private:
    std::byte* start_;
    std::size_t bytes_;
    Page** pages_;  // reserved for the whole range, committed where it is touched
    std::size_t table_bytes_;
};

}  // namespace heddle::emulator::checker
