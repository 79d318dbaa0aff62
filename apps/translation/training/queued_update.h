// Updates on a device: the host queues the work of many and does not wait for their losses.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "apps/translation/batching/batch_stream.h"
#include "apps/translation/distributed/rank_exchange.h"
#include "apps/translation/training/step_graphs.h"
#include "apps/translation/training/update.h"

namespace heddle::app {

/// Forward and backward of batches on a device, as captured steps (step_graphs.h) unless the options or the model do not allow
/// them. Their losses are added to a tally there (kernels/update_tally).
class QueuedPasses {
  public:
    /// With `exchange`, which must outlive this object, every pass marks where its gradients are complete.
    QueuedPasses(const ModelInTraining& trained, RankExchange* exchange);
    QueuedPasses(const QueuedPasses&) = delete;  // captured steps know where it is
    QueuedPasses& operator=(const QueuedPasses&) = delete;

    /// Adds the gradients of a part of a batch.
    void run(const PairBatch& part, Generator random_numbers, double divisor);
    /// StepGraphs::fit(), where steps are captured.
    void fit(PairBatch& batch) const {
        if (graphs_) graphs_->fit(batch);
    }

    bool captures() const { return graphs_.has_value(); }
    StepGraphs::Counts counts() const { return graphs_ ? graphs_->counts() : StepGraphs::Counts(); }
    Tensor& tally() { return tally_; }
    /// The memory of all captured work, which runs one after another.
    MemoryArena& arena() { return arena_; }

  private:
    void pass(const BatchTensors& batch, const ops::LossOptions& options);

    ModelInTraining trained_;
    RankExchange* exchange_;  // null: alone
    Tensor tally_;
    MemoryArena arena_;
    std::optional<StepGraphs> graphs_;
};

/// Updates whose outcome read() tells. The host still waits every 1000 updates, and after every update when the options skip
/// diverging ones, because the next update must start from the weights before a skipped one.
class QueuedUpdate final : public Update {
  public:
    /// `passes` must outlive this object.
    QueuedUpdate(const ModelInTraining& trained, QueuedPasses& passes);

    UpdateReport update(std::span<const PairBatch> batches) override;
    LossReading read() override;

  private:
    void queue_step(const optim::StepOptions& options);
    void step(const optim::StepOptions& options);
    void collect();

    // The optimizer's step, captured.
    struct StepGraph {
        device::Graph graph;
        bool first = true;                                              // no update was made yet
        Tensor numbers = Tensor::empty({3}, DType::f64, Device::cuda);  // Optimizer::numbers
        device::Staging staging;
    };

    ModelInTraining trained_;
    QueuedPasses& passes_;
    std::unique_ptr<StepGraph> graph_;            // null where each kernel is launched by itself
    std::vector<std::vector<PairBatch>> unread_;  // of the updates in the tally, to repeat one that diverged
    LossReading reading_;                         // what was collected and not yet reported
};

}  // namespace heddle::app
