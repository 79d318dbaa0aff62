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
    std::int64_t shards() const { return shards_; }
    /// The shard's part of a batch, which may have no sentences; a single shard's part is the batch itself.
    const PairBatch& part(std::int64_t shard, std::int64_t batch) const {
        const auto number = static_cast<std::size_t>(batch);
        return shards_ == 1 ? batches_[number] : parts_[number][static_cast<std::size_t>(shard)];
    }
    /// The last batch of which the shard has sentences; -1 if there is none.
    std::int64_t last_part(std::int64_t shard) const;

  private:
    std::span<const PairBatch> batches_;
    std::int64_t shards_;
    std::vector<std::vector<PairBatch>> parts_;  // of each batch; none for one shard
};

/// The sum over a tree of shards whose gradients are computed in ascending order, each in the same array. Holds log2(shards) more
/// such arrays, rounded up: the sums over left subtrees whose right sibling is still to come.
class ShardSum {
  public:
    /// `gradients` must outlive this object.
    ShardSum(Tensor& gradients, std::int64_t shards) : gradients_(gradients), shards_(shards) {}

    /// The gradients are now those of the next shard. After the last one they are the sum over the tree.
    void add();
    /// Instead of add() for the last shard: the sums to be added to its gradients, one after another.
    std::vector<Tensor> before_last();

  private:
    Tensor& gradients_;
    std::int64_t shards_;
    std::int64_t added_ = 0;
    std::vector<Tensor> lefts_;  // the innermost subtree last
};

}  // namespace heddle::app
