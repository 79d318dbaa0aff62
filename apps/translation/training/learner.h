// One model, its optimizer, and what an update does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/batching/batch_stream.h"
#include "apps/translation/distributed/ranks.h"
#include "apps/translation/training/divergence.h"
#include "apps/translation/training/options.h"
#include "apps/translation/training/rank_exchange.h"
#include "apps/translation/training/shards.h"
#include "apps/translation/training/step_graphs.h"
#include "apps/translation/training/training_step.h"
#include "nn/flat.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace heddle::app {

/// The report of an update when update() returns.
struct UpdateReport {
    double loss = 0;           ///< label smoothing included; summed over target tokens. NaN: see `read`
    std::int64_t targets = 0;  ///< target tokens
    std::int64_t correct = 0;  ///< of these, how many are the most likely token; 0 while the loss is NaN
    std::int64_t tokens = 0;   ///< source and target
    std::int64_t sentences = 0;
    double gradient_norm = 0;  ///< before clipping. NaN: see `read`
    double learning_rate = 0;
    bool read = true;  ///< false: the device is still computing; Learner::read() reports loss and norm later
};

/// Updates whose losses were not yet known in their reports.
struct LossReading {
    std::int64_t updates = 0;  ///< 0: there was nothing to read
    double loss = 0;           ///< of all of them together, label smoothing included; summed over target tokens
    std::int64_t targets = 0;
    std::int64_t correct = 0;  ///< of these, how many are the most likely token
    double gradient_norm = 0;  ///< of the last one, before clipping
};

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
    Learner(const Learner&) = delete;  // captured steps know where it is
    Learner& operator=(const Learner&) = delete;

    /// One step on the mean loss per target token of all batches together: several small batches give what one large batch gives,
    /// except for rounding and dropout. The options' shards are computed one after another (shards.h). Divergence when the loss
    /// or the gradient is not finite: the weights are then those before the update, and the message names the op, the module and
    /// the source line that the first such value came from.
    ///
    /// On a device this does not synchronise: read() reports the outcome. The host still waits every 1000 updates, and after
    /// every update when the options skip diverging ones, because the next update must start from the weights before a skipped
    /// one.
    UpdateReport update(std::span<const PairBatch> batches);

    /// Waits for all updates since the last reading and reports their sums. Throws the Divergence of the first one that was not
    /// finite, as update() would: it and all later ones were skipped, and updates() is reset to those that were made.
    LossReading read();

    /// Where a device computes meanwhile: lets the stream pack and prepare batches ahead.
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
    StepGraphs::Counts graph_counts() const { return graphs_ == nullptr ? StepGraphs::Counts() : graphs_->steps.counts(); }

  private:
    UpdateReport update_and_wait(std::span<const PairBatch> batches);
    UpdateReport update_unread(std::span<const PairBatch> batches);
    void count(std::span<const PairBatch> batches);
    void gradients(std::span<const PairBatch> batches);
    void gradients_of_shard(const ShardedBatches& shards, std::int64_t shard, const RankExchange::Complete& complete = {});
    void pass(const std::function<void()>& passes);
    void see_loss(const Tensor& statistics);
    void see_norm(Tensor& measured);
    void add_loss(double loss, std::int64_t correct);
    void add_norm(double norm);
    void replay(const optim::StepOptions& step);
    void accumulate(const PairBatch& batch, std::uint64_t key, double divisor);
    void collect();
    std::string divergence_text(std::span<const PairBatch> batches, const optim::NotFinite& failed);
    std::string origin_of_divergence(std::span<const PairBatch> batches);
    // With several ranks (learner_ranks.cpp):
    UpdateReport update_together(std::span<const PairBatch> batches);
    void step_together(std::span<const PairBatch> batches, double rate);
    void keep_tallied_loss();
    void read_tallied_losses();
    void share_state();
    void receive_state(std::int64_t updates, bool moments);
    nn::NamedTensors gathered_moments();
    nn::NamedTensors whole_moments_to_fill();
    nn::NamedTensors named_moments(const std::function<Tensor(const Tensor&)>& view) const;
    Tensor own(const Tensor& flat) const { return exchange_ != nullptr ? exchange_->own(flat) : flat; }
    // A search for a divergence is rank 0's alone.
    bool shares_step() const { return exchange_ != nullptr && !searching_; }

    bool on_device() const { return parameters_.values.device() != Device::cpu; }

    // What the learner sees of its own updates.
    struct Observer final : StepObserver {
        explicit Observer(Learner& all) : learner(all) {}
        void loss(const Tensor& statistics) override { learner.see_loss(statistics); }
        void norm(Tensor& measured) override { learner.see_norm(measured); }

        Learner& learner;
    };

    nn::Transformer& model_;
    TrainingOptions options_;
    nn::FlatParameters parameters_;
    std::unique_ptr<RankExchange> exchange_;  // null: alone
    optim::Optimizer optimizer_;              // of this rank's segment of the parameters
    optim::Schedule schedule_;
    Observer observer_{*this};
    TrainingStep step_;
    UpdateReport report_;  // of the update that goes on
    // What captured updates need.
    struct Graphs {
        MemoryArena arena;                                              // of all that follow: they run one after another
        StepGraphs steps;                                               // a batch's
        device::Graph update;                                           // the optimizer's
        bool first = true;                                              // no update was made yet
        Tensor numbers = Tensor::empty({3}, DType::f64, Device::cuda);  // Optimizer::numbers
        device::Staging staging;

        Graphs(StepGraphs::Step step, std::optional<std::int64_t> position_limit)
            : steps(std::move(step), arena, position_limit) {}
    };

    // On a device:
    Tensor tally_;                                // kernels/update_tally
    std::vector<std::vector<PairBatch>> unread_;  // the batches of the updates that it counts, to repeat one of them
    LossReading reading_;                         // what was collected and not yet reported
    std::shared_ptr<Graphs> graphs_;              // null: each launch by itself
    bool searching_ = false;                      // for the origin of a divergence

    // With several ranks:
    std::vector<double> losses_;  // of this rank's part of an update
    // On a device, the places in it of losses that are still there:
    std::vector<std::pair<std::size_t, Tensor>> tallies_;
    std::vector<Tensor> whole_moments_;  // on rank 0, between moments_to_fill() and share_state()
    bool shared_ = false;                // the others have the weights and moments of rank 0
};

}  // namespace heddle::app
