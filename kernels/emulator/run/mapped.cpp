// Memory outside of the device's range that kernels reach: pinned and registered host memory, and the program's variables.
#include <map>
#include <mutex>

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

}  // namespace

void map_memory(void* start, std::size_t bytes, MemoryKind kind, const std::string& name) {
    {
        const std::lock_guard lock(mapped_pieces().mutex);
        mapped_pieces().pieces.insert_or_assign(static_cast<std::byte*>(start),
                                                Allocation{static_cast<std::byte*>(start), bytes, name, false, kind});
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

}  // namespace heddle::emulator
