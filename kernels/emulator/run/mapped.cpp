// Memory outside of the device's range that kernels reach: pinned and registered host memory, and the program's variables. And in
// words, what an address is.
#include <map>
#include <mutex>
#include <string>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/memory.h"

namespace heddle::emulator {
namespace {

struct MappedPieces {
    std::mutex mutex;
    std::map<const std::byte*, Allocation> pieces;  // by start
};

/// Never destroyed: variables register themselves before main, and memory is given back in destructors of statics.
MappedPieces& mapped_pieces() {
    static MappedPieces* const pieces = new MappedPieces;
    return *pieces;
}

std::string bytes_of(std::size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

}  // namespace

void map_memory(void* start, std::size_t bytes, MemoryKind kind, const std::string& name, const cuda::Shape* shape) {
    {
        const std::lock_guard lock(mapped_pieces().mutex);
        mapped_pieces().pieces.insert_or_assign(static_cast<std::byte*>(start),
                                                Allocation{static_cast<std::byte*>(start), bytes, name, false, kind, shape});
    }
    checker::mapped(static_cast<std::byte*>(start), bytes, kind == MemoryKind::constant);
}

bool unmap_memory(const void* start) {
    {
        const std::lock_guard lock(mapped_pieces().mutex);
        if (mapped_pieces().pieces.erase(static_cast<const std::byte*>(start)) == 0) return false;
    }
    checker::unmapped(start);
    return true;
}

std::optional<Allocation> mapped_memory(const void* address) {
    const auto* const byte = static_cast<const std::byte*>(address);
    const std::lock_guard lock(mapped_pieces().mutex);
    auto found = mapped_pieces().pieces.upper_bound(byte);
    if (found == mapped_pieces().pieces.begin()) return {};
    --found;
    const Allocation& piece = found->second;
    return byte < piece.start + piece.bytes ? std::optional(piece) : std::nullopt;
}

std::string describe(const void* address) {
    const std::optional<Allocation> found = nearest_allocation(address);
    if (!found) return is_device_memory(address) ? "an address that no allocation ever had" : "an address of the host";
    const auto offset = static_cast<const std::byte*>(address) - found->start;
    const auto size = static_cast<std::ptrdiff_t>(found->bytes);
    const std::string where = offset < 0       ? bytes_of(static_cast<std::size_t>(-offset)) + " before"
                              : offset >= size ? bytes_of(static_cast<std::size_t>(offset - size)) + " past the end of"
                                               : bytes_of(static_cast<std::size_t>(offset)) + " into";
    return where + " " + title(*found) + (found->freed ? ", which was freed" : "");
}

std::string title(const Allocation& allocation) {
    const std::string bytes = bytes_of(allocation.bytes);
    switch (allocation.kind) {
        case MemoryKind::variable:
        case MemoryKind::constant: return "the variable `" + allocation.place + "` of " + bytes;
        case MemoryKind::pinned: return "pinned memory of " + bytes + " made at " + allocation.place;
        default: return "an allocation of " + bytes + " made at " + allocation.place;
    }
}

MemoryKind memory_kind(const void* address) {
    const std::optional<Allocation> found = nearest_allocation(address);
    if (found) return found->kind;
    return is_device_memory(address) ? MemoryKind::device : MemoryKind::host;
}

}  // namespace heddle::emulator
