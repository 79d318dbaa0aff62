// One model, its optimizer, and what an update does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/translation/batching/batch_stream.h"
#include "apps/translation/distributed/rank_exchange.h"
#include "apps/translation/distributed/ranks.h"
#include "apps/translation/training/options.h"
#include "apps/translation/training/queued_update.h"
#include "apps/translation/training/shared_update.h"
#include "apps/translation/training/update.h"
#include "nn/flat.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace heddle::app {

/// The optimizer that the options describe.
optim::OptimizerOptions optimizer_options(const TrainingOptions& options);

/// Moves the model's parameters to flat storage and updates them. Everything random of an update is a function of the options'
/// seed and the update's number, on every thread; the thread's default generator is left as it is.
class Learner {
  public:
    /// `planned_updates`: where a cosine schedule ends; 0: unknown. `dtype`: what the model computes in, f32, or on a
    /// device bf16 (nn/flat.h); the weights in parameters() are f32 all the same.
    /// `ranks`: null for a learner that is alone. With several, each has a learner of a model of the same options. Rank 0's
    /// gives the results of one that is alone; on the others follow() is the only call. Rank 0's weights reach the others at the
    /// first update, copy_of_moments() or share_weights(), and again at the next one after set_updates() or weights_changed().
    Learner(nn::Transformer& model, const TrainingOptions& options, std::int64_t planned_updates, DType dtype = DType::f32,
            Ranks* ranks = nullptr);
    Learner(const Learner&) = delete;  // the update knows where it is
    Learner& operator=(const Learner&) = delete;

    /// One step on the mean loss per target token of all batches together: several small batches give what one large batch gives,
    /// except for rounding and dropout. The options' shards are computed one after another (shards.h). Divergence when the loss
    /// or the gradient is not finite: the weights are then those before the update, and the message names the op, the module and
    /// the source line that the first such value came from.
    ///
    /// On a device this does not wait (QueuedUpdate): read() reports the outcome. With several ranks it does.
    UpdateReport update(std::span<const PairBatch> batches) { return update_->update(batches); }

    /// Waits for all updates since the last reading and reports their sums. Throws the Divergence of the first one that was not
    /// finite, as update() would: it and all later ones were skipped, and updates() is reset to those that were made.
    LossReading read() { return update_->read(); }

    /// Where a device computes meanwhile: lets the stream pack batches, and fit them to their capacity, ahead.
    void pack_ahead(BatchStream& stream) const;

    /// Updates so far.
    std::int64_t updates() const { return optimizer_.updates(); }
    /// The schedule of the learning rate.
    const optim::Schedule& schedule() const { return schedule_; }
    /// For a resumed run, after its weights and moments were filled in.
    void set_updates(std::int64_t updates);
    /// To be called after every other write to parameters().values: renews their bf16 copy, and with several ranks the others
    /// get them before they compute again.
    void weights_changed();
    const nn::FlatParameters& parameters() const { return parameters_; }
    nn::FlatParameters& parameters() { return parameters_; }
    /// The optimizer's arrays under names such as "first_moment.encoder.layers.0...", copied to the CPU.
    nn::NamedTensors copy_of_moments();
    /// The same names, for writing. Fill in all of them, then call set_updates(). With several ranks the tensors are zeros, and
    /// they replace the moments of all ranks whether they were filled in or not.
    nn::NamedTensors moments_to_fill();
    /// With several ranks: the others have rank 0's weights afterwards, for batches that are computed together
    /// (distributed/distributed_batches.h).
    void share_weights();
    /// On the ranks after the first: computes what rank 0's learner wants, until Command::end. `pairs` are those of its batches.
    void follow(const TokenPairs& pairs);
    /// What this rank sent, received and waited for; nothing for a learner that is alone.
    ExchangeCosts exchange_costs() const { return exchange_ != nullptr ? exchange_->costs() : ExchangeCosts(); }
    /// How the steps of batches were run; none when the options or the device want no graphs.
    StepGraphs::Counts graph_counts() const { return passes_ != nullptr ? passes_->counts() : StepGraphs::Counts(); }

  private:
    nn::NamedTensors named(const std::vector<std::pair<std::string, Tensor>>& arrays) const;

    TrainingOptions options_;
    nn::FlatParameters parameters_;
    std::unique_ptr<RankExchange> exchange_;  // null: alone
    optim::Optimizer optimizer_;              // of this rank's segment of the parameters
    optim::Schedule schedule_;
    std::shared_ptr<QueuedPasses> passes_;  // null on the CPU
    std::unique_ptr<Update> update_;
    SharedUpdate* shared_ = nullptr;  // the same, with several ranks
};

}  // namespace heddle::app
