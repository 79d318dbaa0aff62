// What the ranks of a training compute together: the sum of all shards' gradients, its norm, and the new weights.
//
// Rank r of R computes the shards [r S / R, (r + 1) S / R) and sums the largest subtrees of the tree of shards that lie among
// them (shards.h). The flat array of parameters is cut into R segments at the beginnings of the norm's blocks. A rank sends
// segment q of each of its sums to rank q, which completes the tree for its own segment: this sum is the same, bit for bit, for
// every R. Then rank q updates the weights of its segment, whose moments it alone has, and sends them to all others.
//
// A sum is complete when backward is through the last batch of the subtree's last shard, and its parts are so one after another:
// each bucket of elements (gradient_buckets.h) is sent while backward goes on to the next ones, on a device in a stream of its
// own (BucketStream).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/translation/distributed/device_link.h"
#include "apps/translation/distributed/gradient_buckets.h"
#include "apps/translation/distributed/ranks.h"
#include "apps/translation/distributed/shards.h"
#include "autograd/observe.h"
#include "core/spans.h"
#include "core/tensor.h"

namespace heddle::app {

/// The shards of one rank among `ranks`; Error unless there is at least one for each.
ShardRange shards_of_rank(std::int64_t rank, std::int64_t ranks, std::int64_t shards);
/// Where the ranks' segments of `active`'s rows begin, and the end of the last one: ranks + 1 numbers. Each begins where a block
/// of the gradient's norm does (kernels::kNormBlock), and all have equally many of these, or one more. Where there are fewer
/// blocks than ranks, some segments are empty.
std::vector<std::int64_t> segment_bounds(const Spans& active, std::int64_t ranks);

/// What the exchanges of some updates cost a rank.
struct ExchangeCosts {
    struct Part {
        std::int64_t sent = 0;      ///< bytes
        std::int64_t received = 0;  ///< bytes
        double waited = 0;          ///< seconds in which the rank did nothing else; for a device's sums, those after its pass.
                                    ///< Does not count that the device waits for norm and weights by NCCL

        void add(const Part& other) {
            sent += other.sent;
            received += other.received;
            waited += other.waited;
        }
    };
    std::int64_t updates = 0;
    Part gradients;                   ///< sums of gradients
    std::int64_t sent_early = 0;      ///< of these, bytes whose sending began before backward was through the last shard; on a
                                      ///< device, those of buckets whose exchange was over by then
    std::int64_t received_early = 0;  ///< of these, bytes that had arrived by then
    Part norm;                        ///< losses and the norm's squares; on a device also the gradient that it is measured of
    Part weights;
    std::string between_devices = {};  ///< DeviceLink::name(); empty on CPUs
};

class RankExchange {
  public:
    /// `active`: the ranges of the flat parameters that are trained (nn::FlatParameters::active()), whose rows are all
    /// parameters. `leaves`: those of the parameters one by one. `ranks` must outlive this object. Error when there are more
    /// ranks than shards. Tensors may lie on a device: sums of gradients and weights travel between the devices (DeviceLink),
    /// what is seldom exchanged by way of the host.
    RankExchange(Ranks& ranks, std::int64_t shards, const Spans& active, std::span<const Span> leaves,
                 std::int64_t bucket_elements = GradientBuckets::kElements);

    Ranks& ranks() const { return ranks_; }
    bool leads() const { return ranks_.rank() == 0; }
    /// This rank's elements of a flat array [n], sharing its storage.
    Tensor own(const Tensor& flat) const { return segment(flat, ranks_.rank()); }
    /// The ranges of these elements that are trained, counted from the first of them.
    std::vector<Span> own_active() const;
    /// This rank's shards as subtrees, ascending.
    const std::vector<ShardRange>& own_trees() const { return trees_[static_cast<std::size_t>(ranks_.rank())]; }

    /// To be called with the gradient of a leaf when nothing will be added to it any more.
    using Complete = std::function<void(const Tensor& part)>;
    /// Overwrites the gradients with those of one shard. `complete` may be called with the views of the gradients that `leaves`
    /// are, once for each and in any order. It is empty for shards that complete no sum, and on a device for all: there every
    /// shard's last pass is a MarkedPass, or the replay of a graph that captured one.
    using ComputeShard = std::function<void(std::int64_t shard, const Complete& complete)>;
    /// Computes this rank's shards, in ascending order, and sends their sums. own(gradients) is the sum over all shards
    /// afterwards.
    void sum_gradients(Tensor& gradients, const ComputeShard& compute);
    /// The norm of the summed gradient and each shard's losses, the same on every rank.
    struct Measured {
        double norm = 0;
        std::vector<double> of_shards;  ///< ascending by shard
    };
    /// `gradients` as sum_gradients() left them; `of_own_shards`: the numbers of this rank's shards, equally many for each shard
    /// of every rank. On the CPU the ranks exchange the sums of squares of blocks. The order of a device's sum is that of the
    /// whole array, so there all get the gradient of all.
    Measured measure(Tensor& gradients, const std::vector<double>& of_own_shards);

    /// The end of an update: every rank has its own segment of `weights`, and afterwards all of them.
    void gather_weights(Tensor& weights);
    /// `own` [segment] of every rank into `flat` [n] of rank 0, on the CPU and undefined elsewhere; and the
    /// reverse.
    void gather_to_first(const Tensor& own, const Tensor& flat) const;
    void scatter_from_first(const Tensor& flat, const Tensor& own) const;
    /// Rank 0's `flat` on every rank.
    void broadcast(Tensor& flat) const;

    /// The costs of all sum_gradients(), measure() and gather_weights() so far.
    const ExchangeCosts& costs() const { return costs_; }

  private:
    friend class MarkedPass;

    // This rank's segments of sums over subtrees.
    using KnownSums = std::map<std::pair<std::int64_t, std::int64_t>, Tensor>;

    Tensor segment(const Tensor& flat, std::int64_t rank) const;
    KnownSums start_receiving(const Tensor& like);
    void start_sending(const GradientBucket& bucket, const Tensor& sum, std::size_t tree);
    void sum_on_device(Tensor& gradients, const ComputeShard& compute);
    BucketStream& stream();
    void mark(const GradientBucket& bucket);
    void count_early();
    void finish_sum(const Tensor& gradients, const KnownSums& known);
    ExchangeCosts::Part exchange(Device where, std::span<const Outgoing> outgoing, std::span<const Incoming> incoming);
    ExchangeCosts::Part gather_everywhere(Tensor& flat);
    int number_of(std::size_t tree, const GradientBucket& bucket) const;

    Ranks& ranks_;
    Spans active_;
    std::int64_t shards_;
    std::vector<std::vector<ShardRange>> trees_;  // of each rank
    std::vector<std::int64_t> bounds_;
    std::vector<std::size_t> blocks_;  // of the norm in each rank's segment
    GradientBuckets buckets_;
    // On a device, from the first use on:
    std::unique_ptr<DeviceLink> link_;
    std::unique_ptr<BucketStream> stream_;
    std::vector<ExchangeCosts::Part> together_;  // the costs of each exchange of the stream's last run()
    ExchangeCosts costs_;
};

/// Made before a backward pass on a device that adds to `gradients`; marks where each bucket of the exchange is complete. Both
/// may be captured.
class MarkedPass {
  public:
    /// Null: marks nothing.
    MarkedPass(RankExchange* exchange, const Tensor& gradients);
    /// The pass is over.
    void end();

  private:
    RankExchange* exchange_;
    std::optional<ObserveGradients> observe_;
};

}  // namespace heddle::app
