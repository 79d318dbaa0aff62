// The shards of an update: parts that can be computed anywhere, because the bits of their sum do not depend on where.
//
// Each batch of an update is cut into S runs of neighbouring sentences with about equally many tokens, source and target. Shard s
// is the s-th run of every batch; where a batch has fewer sentences than S, some of its runs are empty. The gradient of a shard
// is a function of the weights, of the shard and of its random keys (shard_key). The gradient of the update is the sum over the
// shards along a binary tree, element by element:
//
//                    0..7            The left subtree of a node is complete and as large as possible, so 6 shards are
//                 /        \         (0..3) + (4..5), and 7 are (0..3) + ((4..5) + 6). A sum over a subtree is the same
//             0..3          4..7     number wherever it was computed; floating-point addition commutes, so the order of the
//             /  \          /  \     two operands is of no importance.
//          0..1  2..3    4..5  6..7
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "core/tensor.h"

namespace heddle::app {

/// Shards [first, last).
struct ShardRange {
    std::int64_t first = 0;
    std::int64_t last = 0;

    std::int64_t size() const { return last - first; }
    friend bool operator==(const ShardRange&, const ShardRange&) = default;
};

/// Where the left subtree of a tree over these shards ends: first plus the largest power of two below their number. Error for
/// fewer than two.
std::int64_t middle_of(ShardRange tree);
/// The largest subtrees of the tree over `shards` shards that lie within `part`, ascending; together they are `part`.
std::vector<ShardRange> subtrees_within(ShardRange part, std::int64_t shards);

/// The random key that takes the place of the micro-batch's number (Generator::start): one for each batch of each shard, and for
/// shard 0 the number itself.
constexpr std::uint64_t shard_key(std::int64_t shard, std::int64_t batch_number) {
    return static_cast<std::uint64_t>(shard) << 32 | static_cast<std::uint64_t>(batch_number);
}

/// Where the runs of a batch begin: shards + 1 numbers of sentences, from 0 to all of them. `tokens`: of each sentence of the
/// batch, source and target, end of sentence included. A run ends where the tokens before its end are nearest to the share that
/// is due.
std::vector<std::int64_t> cut(std::span<const std::int64_t> tokens, std::int64_t shards);

/// The batches of an update, cut. They must outlive this object.
class ShardedBatches {
  public:
    /// Error unless there is at least one shard.
    ShardedBatches(std::span<const PairBatch> batches, std::int64_t shards);

    std::int64_t batches() const { return static_cast<std::int64_t>(batches_.size()); }
    /// Calls use(part) with the shard's part of a batch, unless it is empty; a single shard's part is the batch itself.
    template <class Use>
    void with_part(std::int64_t shard, std::int64_t number, Use&& use) const {
        const PairBatch& batch = batches_[static_cast<std::size_t>(number)];
        if (cuts_.empty()) return use(batch);
        const std::vector<std::int64_t>& at = cuts_[static_cast<std::size_t>(number)];
        const std::int64_t begin = at[static_cast<std::size_t>(shard)], end = at[static_cast<std::size_t>(shard) + 1];
        if (begin < end) use(part_of(batch, begin, end));
    }
    /// The last batch of which the shard has a part; -1 if there is none.
    std::int64_t last_part(std::int64_t shard) const;

  private:
    std::span<const PairBatch> batches_;
    std::vector<std::vector<std::int64_t>> cuts_;  // none for one shard
};

using ComputeShard = std::function<void(std::int64_t shard)>;

/// Computes all shards of a tree but the last one, as sum_shards() does. Returns the sums that are to be added, one after
/// another, to the gradient of the last one: the result is the sum over the tree.
std::vector<Tensor> sums_before_last(Tensor& gradients, ShardRange tree, const ComputeShard& compute);
/// Leaves in `gradients` the sum over a tree of shards. compute(shard), which is called in ascending order, overwrites
/// `gradients` with the gradient of one shard. Takes the memory of log2(shards) more such arrays, rounded up, while it runs.
void sum_shards(Tensor& gradients, ShardRange tree, const ComputeShard& compute);

}  // namespace heddle::app
