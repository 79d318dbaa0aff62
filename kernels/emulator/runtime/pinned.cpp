#include "kernels/emulator/runtime/pinned.h"

#include <cstdlib>
#include <cstring>
#include <map>

#include "kernels/emulator/run/report.h"

namespace heddle::emulator {
namespace {

struct Pinned {
    std::mutex mutex;
    std::map<const std::byte*, std::size_t> pieces;  // bytes by start
};

Pinned& pinned() {
    static Pinned* const pinned = new Pinned;
    return *pinned;
}

bool lies_in_pinned(const void* start, std::size_t bytes) {
    const std::lock_guard lock(pinned().mutex);
    auto found = pinned().pieces.upper_bound(static_cast<const std::byte*>(start));
    if (found == pinned().pieces.begin()) return false;
    --found;
    return static_cast<const std::byte*>(start) + bytes <= found->first + found->second;
}

}  // namespace

void* allocate_pinned(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    void* const start = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (start == nullptr) return nullptr;
    std::memset(start, 0xff, bytes);
    const std::lock_guard lock(pinned().mutex);
    pinned().pieces.emplace(static_cast<const std::byte*>(start), bytes);
    return start;
}

bool release_pinned(void* start) {
    {
        const std::lock_guard lock(pinned().mutex);
        if (pinned().pieces.erase(static_cast<const std::byte*>(start)) == 0) return false;
    }
    std::free(start);
    return true;
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
        throw Violation(title(operation) + ": the pinned memory that it uses was freed before it ran");
    if (!operation.watched || sum_of(operation.pinned) == operation.sum) return;
    if (operation.pinned_written)
        throw Violation(title(operation) +
                        ": the host wrote to the pinned memory that the copy had not filled yet; wait for the copy first");
    throw Violation(title(operation) +
                    ": pinned buffer reused too early: the host changed it before the copy had read it; wait for the copy first");
}

}  // namespace heddle::emulator
