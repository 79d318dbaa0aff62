// Updates of several ranks together. Rank 0's learner gives the commands, which the others follow(); the arithmetic of an update
// is the same on all.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/distributed/rank_exchange.h"
#include "apps/translation/training/queued_update.h"
#include "apps/translation/training/update.h"

namespace heddle::app {

/// Rank 0 has the reports of an update when it returns, on a device, too.
class SharedUpdate final : public Update {
  public:
    /// The optimizer is that of exchange.own() of the parameters. `passes`: null on the CPU. All must outlive this object.
    SharedUpdate(const ModelInTraining& trained, RankExchange& exchange, QueuedPasses* passes)
        : trained_(trained), exchange_(exchange), passes_(passes) {}

    UpdateReport update(std::span<const PairBatch> batches) override;
    /// Learner::follow().
    void follow(const TokenPairs& pairs);

    /// Sends weights and number of updates to the others, and the moments where these were filled in, unless they have them.
    void share_state();
    /// They have not: the weights or the moments were changed.
    void state_changed() { shared_ = false; }

    using Arrays = std::vector<std::pair<std::string, Tensor>>;
    /// Optimizer::state() of all parameters, from all ranks, on the CPU of rank 0.
    Arrays gathered_moments();
    /// The same arrays, zero, to be filled in before share_state().
    Arrays moments_to_fill();

  private:
    UpdateReport step(std::span<const PairBatch> batches, double rate);
    void add_shard(const ShardedBatches& shards, std::int64_t shard, double divisor, const RankExchange::Complete& complete);
    void keep_tallied_loss();
    void read_tallied_losses();
    void receive_state(std::int64_t updates, bool moments);

    ModelInTraining trained_;
    RankExchange& exchange_;
    QueuedPasses* passes_;
    std::vector<double> losses_;  // of each part of this rank's shards: its loss and the number of correct tokens
    std::vector<std::pair<std::size_t, Tensor>> tallies_;  // on a device: places in losses_, and the tallies that hold them
    Arrays filled_;                                        // on rank 0, between moments_to_fill() and share_state()
    bool shared_ = false;                                  // the others have the weights and moments of rank 0
};

}  // namespace heddle::app
