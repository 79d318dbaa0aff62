#include "kernels/emulator/runtime/pinned.h"

#include <cstdlib>
#include <cstring>
#include <map>

#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"

namespace heddle::emulator {
namespace {

struct PinnedPiece {
    std::size_t bytes;
    unsigned flags;
    bool registered;  // the host's own memory
};

struct Pinned {
    std::mutex mutex;
    std::map<const std::byte*, PinnedPiece> pieces;  // by start
};

Pinned& pinned() {
    static Pinned* const pinned = new Pinned;
    return *pinned;
}

/// The piece that contains the bytes, or null. The caller holds the mutex.
const PinnedPiece* piece_around(const void* start, std::size_t bytes) {
    auto found = pinned().pieces.upper_bound(static_cast<const std::byte*>(start));
    if (found == pinned().pieces.begin()) return nullptr;
    --found;
    return static_cast<const std::byte*>(start) + bytes <= found->first + found->second.bytes ? &found->second : nullptr;
}

bool lies_in_pinned(const void* start, std::size_t bytes) {
    const std::lock_guard lock(pinned().mutex);
    return piece_around(start, bytes) != nullptr;
}

bool remove(void* start, bool registered) {
    const std::lock_guard lock(pinned().mutex);
    const auto found = pinned().pieces.find(static_cast<const std::byte*>(start));
    if (found == pinned().pieces.end() || found->second.registered != registered) return false;
    pinned().pieces.erase(found);
    return true;
}

}  // namespace

void* allocate_pinned(std::size_t bytes, unsigned flags, const std::string& place) {
    constexpr std::size_t page = 4096;
    void* const start = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (start == nullptr) return nullptr;
    std::memset(start, 0xff, bytes);
    {
        const std::lock_guard lock(pinned().mutex);
        pinned().pieces.emplace(static_cast<const std::byte*>(start), PinnedPiece{bytes, flags, false});
    }
    map_memory(start, bytes, MemoryKind::pinned, place);
    return start;
}

bool release_pinned(void* start) {
    if (!remove(start, false)) return false;
    unmap_memory(start);
    std::free(start);
    return true;
}

bool register_pinned(void* start, std::size_t bytes, unsigned flags, const std::string& place) {
    auto* const first = static_cast<std::byte*>(start);
    {
        const std::lock_guard lock(pinned().mutex);
        const auto next = pinned().pieces.upper_bound(first);
        if (piece_around(first, 1) != nullptr || (next != pinned().pieces.end() && next->first < first + bytes)) return false;
        pinned().pieces.emplace(first, PinnedPiece{bytes, flags, true});
    }
    map_memory(start, bytes, MemoryKind::pinned, place);
    return true;
}

bool unregister_pinned(void* start) {
    if (!remove(start, true)) return false;
    unmap_memory(start);
    return true;
}

std::optional<unsigned> flags_of_pinned(const void* address) {
    const std::lock_guard lock(pinned().mutex);
    const PinnedPiece* const piece = piece_around(address, 1);
    return piece != nullptr ? std::optional(piece->flags) : std::nullopt;
}

bool is_pinned(const void* address) { return lies_in_pinned(address, 1); }

void fill(const Rows& rows, int byte) {
    for (std::size_t y = 0; y < rows.height; ++y) std::memset(rows.start + y * rows.pitch, byte, rows.width);
}

std::uint64_t sum_of(const Rows& rows) {
    std::uint64_t sum = 0;
    for (std::size_t y = 0; y < rows.height; ++y) {
        const std::byte* const row = rows.start + y * rows.pitch;
        for (std::size_t x = 0; x < rows.width; x += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, row + x, std::min<std::size_t>(8, rows.width - x));
            sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
            sum ^= sum >> 29;
        }
    }
    return sum;
}

void check_pinned(const Operation& operation) {
    if (!lies_in_pinned(operation.pinned.start, operation.pinned.extent()))
        throw Violation(title(operation) + ": the pinned memory that it uses was freed before it ran", "out-of-bounds");
    if (!operation.watched || sum_of(operation.pinned) == operation.sum) return;
    if (operation.pinned_written)
        throw Violation(
            title(operation) + ": the host wrote to the pinned memory that the copy had not filled yet; wait for the copy first",
            "stream-race");
    throw Violation(
        title(operation) +
            ": pinned buffer reused too early: the host changed it before the copy had read it; wait for the copy first",
        "stream-race");
}

}  // namespace heddle::emulator
