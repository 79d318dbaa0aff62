// Cuts blocks from large pieces of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace heddle {

/// Splits pieces of memory into blocks and merges neighbouring free blocks, so that free memory does not stay fragmented. Never
/// accesses the memory itself. Not thread-safe.
class Segments {
  public:
    /// Blocks begin at multiples of this, counted from their piece.
    static constexpr std::int64_t kAlignment = 256;

    /// Adds a piece to cut from.
    void add(std::byte* piece, std::int64_t bytes);
    /// A block of at least `bytes`: best fit, then lowest address. Null if no free block is large enough.
    std::byte* take(std::int64_t bytes);
    /// Returns a block obtained from take().
    void give(std::byte* block);
    /// Removes and returns the pieces that are completely free.
    std::vector<std::byte*> release();

  private:
    struct Block {
        std::int64_t bytes = 0;
        bool free = true;
        bool first = false;  // at the start of its piece: must not be merged with the block before it
    };
    using Blocks = std::map<std::byte*, Block>;

    void join_next(Blocks::iterator block);

    Blocks blocks_;
    std::set<std::pair<std::int64_t, std::byte*>> free_;  // by size
};

}  // namespace heddle
