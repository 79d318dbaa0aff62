// Blocks cut from large pieces of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace heddle {

/// Cuts blocks from pieces of memory and joins neighbours when they come back, so that whatever sizes were asked for before, free
/// memory is one whole again. It touches none of the memory. Not for several threads at once.
class Segments {
  public:
    /// Blocks begin at multiples of this, counted from their piece.
    static constexpr std::int64_t kAlignment = 256;

    /// Another piece to cut from.
    void add(std::byte* piece, std::int64_t bytes);
    /// A block of at least `bytes`: from the smallest free one that is large enough, of equal ones the first in memory. Null when
    /// there is none.
    std::byte* take(std::int64_t bytes);
    /// Takes a block back that take() gave.
    void give(std::byte* block);
    /// Forgets the pieces that are wholly free, and names them.
    std::vector<std::byte*> release();

  private:
    struct Block {
        std::int64_t bytes = 0;
        bool free = true;
        bool first = false;  // of its piece: not to be joined with what lies before it
    };
    using Blocks = std::map<std::byte*, Block>;

    void join_next(Blocks::iterator block);

    Blocks blocks_;
    std::set<std::pair<std::int64_t, std::byte*>> free_;  // by size
};

}  // namespace heddle
