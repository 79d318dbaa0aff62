#include "core/segments.h"

#include <iterator>

#include "core/format.h"

namespace heddle {

void Segments::add(std::byte* piece, std::int64_t bytes) {
    const auto [block, added] = blocks_.emplace(piece, Block{bytes, true, true});
    check(added, "segments: a piece of {} bytes was added before", bytes);
    free_.emplace(bytes, piece);
}

std::byte* Segments::take(std::int64_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const auto found = free_.lower_bound({bytes, nullptr});
    if (found == free_.end()) return nullptr;
    const auto block = blocks_.find(found->second);
    free_.erase(found);
    block->second.free = false;
    if (const std::int64_t rest = block->second.bytes - bytes; rest > 0) {
        block->second.bytes = bytes;
        blocks_.emplace(block->first + bytes, Block{rest, true, false});
        free_.emplace(rest, block->first + bytes);
    }
    return block->first;
}

void Segments::give(std::byte* block) {
    const auto found = blocks_.find(block);
    check(found != blocks_.end() && !found->second.free, "segments: a block comes back that was not given");
    found->second.free = true;
    free_.emplace(found->second.bytes, found->first);
    join_next(found);
    if (!found->second.first && std::prev(found)->second.free) join_next(std::prev(found));
}

// Merges a free block with the next one if that is free and in the same segment.
void Segments::join_next(Blocks::iterator block) {
    const auto next = std::next(block);
    if (next == blocks_.end() || next->second.first || !next->second.free) return;
    free_.erase({block->second.bytes, block->first});
    free_.erase({next->second.bytes, next->first});
    block->second.bytes += next->second.bytes;
    free_.emplace(block->second.bytes, block->first);
    blocks_.erase(next);
}

std::vector<std::byte*> Segments::release() {
    std::vector<std::byte*> pieces;
    for (auto block = blocks_.begin(); block != blocks_.end();) {
        const auto next = std::next(block);
        if (block->second.first && block->second.free && (next == blocks_.end() || next->second.first)) {
            pieces.push_back(block->first);
            free_.erase({block->second.bytes, block->first});
            blocks_.erase(block);
        }
        block = next;
    }
    return pieces;
}

}  // namespace heddle
