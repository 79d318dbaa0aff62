// Training steps on a device, captured once for each capacity of a batch and replayed.
//
// Batches differ in their lengths, but a captured step has fixed shapes and addresses. So a batch is put into a capacity, a
// little larger than itself: rows rounded up, with no sentence in the last ones, and some empty sentences at the end. Rows of no
// sentence get no attention, no target and so no gradient: they add exact zeros. All that is the batch's own (ids, where the
// sentences lie, the key of its random numbers, the divisor of its loss) lies in one piece of device memory that a replay finds
// filled anew.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "apps/translation/batching/batch_capacity.h"
#include "apps/translation/batching/batches.h"
#include "core/graph.h"
#include "nn/transformer.h"

namespace heddle::app {

/// A batch on the device, as long as the StepGraphs lives that made it. Rows of no sentence have the target -1.
struct StepInputs : BatchTensors {
    Tensor divisor;                             ///< f64 []
    const std::uint64_t* random_key = nullptr;  ///< Generator::step_key_on_device
};

class StepGraphs {
  public:
    /// Puts forward and backward of a batch into the current stream. It may depend on its inputs' capacity, and must not wait.
    using Step = std::function<void(const StepInputs&)>;

    /// All graphs use `arena`, which must outlive them: they run one after another.
    StepGraphs(Step step, MemoryArena& arena, std::optional<std::int64_t> position_limit)
        : step_(std::move(step)), arena_(arena), position_limit_(position_limit) {}

    /// One step of this batch: the first of its capacity as it comes (kernels are loaded, tables made), the second one captured,
    /// all later ones replayed. The bits do not depend on which. Does not synchronise.
    void run(const PairBatch& batch, std::uint64_t random_key, double divisor);

    /// Does the host work of run() for the batch ahead of time, on any thread: its capacity, and the tables that the steps of
    /// this capacity read. Without it, run() does this work.
    void fit(PairBatch& batch) const;

    /// Steps so far.
    struct Counts {
        std::int64_t direct = 0;    ///< without a graph
        std::int64_t captured = 0;  ///< and run: one for each graph
        std::int64_t replayed = 0;
    };
    const Counts& counts() const { return counts_; }

  private:
    struct Captured;

    std::shared_ptr<const FittedBatch> fitted(const PairBatch& batch) const;
    void know_tables(const Captured& captured, const BatchCapacity& capacity);
    void fill(Captured& captured, const PairBatch& batch, const FittedBatch& fitted, std::uint64_t random_key, double divisor);

    Step step_;
    MemoryArena& arena_;
    std::optional<std::int64_t> position_limit_;
    device::Staging staging_;
    std::map<BatchCapacity, std::shared_ptr<Captured>> captured_;
    Counts counts_;

    mutable std::mutex mutex_;                                      // guards what follows
    std::map<BatchCapacity, std::vector<SpansTableKey>> known_[2];  // the tables of source and target
};

}  // namespace heddle::app
