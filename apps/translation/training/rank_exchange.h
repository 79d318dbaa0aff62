// What the ranks of a training compute together: the sum of all shards' gradients, its norm, and the new weights.
//
// Rank r of R computes the shards [r S / R, (r + 1) S / R) and sums the largest subtrees of the tree of shards that lie among
// them (shards.h). The flat array of parameters is cut into R segments at the beginnings of the norm's blocks. Of each of its
// sums a rank sends segment q to rank q, which completes the tree for its own segment: this sum is the same, bit for bit, for
// every R. Then rank q updates the weights of its segment, whose moments it alone has, and sends them to all others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/translation/ranks/ranks.h"
#include "apps/translation/training/shards.h"
#include "core/spans.h"
#include "core/tensor.h"

namespace heddle::app {

/// The shards of one rank among `ranks`; Error unless there is at least one for each.
ShardRange shards_of_rank(std::int64_t rank, std::int64_t ranks, std::int64_t shards);
/// Where the ranks' segments of `active`'s rows begin, and the end of the last one: ranks + 1 numbers. Each begins where a block
/// of the gradient's norm does (kernels::kNormBlock), and all have equally many of these, or one more. Where there are fewer
/// blocks than ranks, some segments are empty.
std::vector<std::int64_t> segment_bounds(const Spans& active, std::int64_t ranks);

class RankExchange {
  public:
    /// `active`: the ranges of the flat parameters that are trained (nn::FlatParameters::active()), whose rows are all
    /// parameters. `ranks` must outlive this object. Error when there are more ranks than shards. Tensors may lie on a device;
    /// their bytes travel by way of the host.
    RankExchange(Ranks& ranks, std::int64_t shards, const Spans& active);

    Ranks& ranks() const { return ranks_; }
    bool leads() const { return ranks_.rank() == 0; }
    /// This rank's elements of a flat array [n], sharing its storage.
    Tensor own(const Tensor& flat) const { return segment(flat, ranks_.rank()); }
    /// What of them is trained, counted from their beginning.
    std::vector<Span> own_active() const;
    /// This rank's shards as subtrees, ascending.
    const std::vector<ShardRange>& own_trees() const { return trees_[static_cast<std::size_t>(ranks_.rank())]; }

    /// From this rank's sums over own_trees(), each [n], to the sum over all shards: own(gradients) holds it afterwards.
    /// `gradients` may be one of the sums; the sums are overwritten.
    void sum_gradients(Tensor& gradients, std::span<const Tensor> sums) const;

    /// The norm of the summed gradient and each shard's losses, the same on every rank.
    struct Measured {
        double norm = 0;
        std::vector<double> of_shards;  ///< ascending by shard
    };
    /// `gradients` as sum_gradients() left them; `of_own_shards`: `for_each` numbers for each of this rank's shards. On the CPU
    /// the ranks exchange the sums of squares of blocks. The order of a device's sum is that of the whole array, so there all get
    /// the gradient of all.
    Measured measure(Tensor& gradients, const std::vector<double>& of_own_shards, std::int64_t for_each) const;

    /// Every rank has its own segment of `flat`; afterwards every rank has all of it.
    void gather_everywhere(Tensor& flat) const;
    /// `own` [segment] of every rank into `flat` [n] of rank 0, on the CPU and undefined elsewhere; and the
    /// reverse.
    void gather_to_first(const Tensor& own, const Tensor& flat) const;
    void scatter_from_first(const Tensor& flat, const Tensor& own) const;
    /// Rank 0's `flat` on every rank.
    void broadcast(Tensor& flat) const;

  private:
    Tensor segment(const Tensor& flat, std::int64_t rank) const;

    Ranks& ranks_;
    Spans active_;
    std::int64_t shards_;
    std::vector<std::vector<ShardRange>> trees_;  // of each rank
    std::vector<std::int64_t> bounds_;
    std::vector<std::size_t> blocks_;  // of the norm in each rank's segment
};

}  // namespace heddle::app
