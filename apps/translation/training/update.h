// One update of a model: the gradients of its batches, their norm, and the optimizer's step.
#pragma once

#include <cstdint>
#include <span>

#include "apps/translation/batching/batches.h"
#include "apps/translation/training/options.h"
#include "core/error.h"
#include "core/random.h"
#include "nn/flat.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace heddle::app {

/// The loss or the gradient is NaN or infinite; the program ends with status 3.
class Divergence : public Error {
  public:
    using Error::Error;
};

/// The report of an update when update() returns.
struct UpdateReport {
    double loss = 0;           ///< label smoothing included; summed over target tokens. NaN: see `read`
    std::int64_t targets = 0;  ///< target tokens
    std::int64_t correct = 0;  ///< of these, how many are the most likely token; 0 while the loss is NaN
    std::int64_t tokens = 0;   ///< source and target
    std::int64_t sentences = 0;
    double gradient_norm = 0;  ///< before clipping. NaN: see `read`
    double learning_rate = 0;
    bool read = true;  ///< false: the device is still computing; read() reports loss and norm later

    UpdateReport() = default;
    /// Counts the batches' sentences and tokens.
    explicit UpdateReport(std::span<const PairBatch> batches);
    /// Adds the loss of a part of the update. optim::NotFinite when it is not finite.
    void add(double part_loss, std::int64_t part_correct);
};

/// Updates whose losses were not yet known in their reports.
struct LossReading {
    std::int64_t updates = 0;  ///< 0: there was nothing to read
    double loss = 0;           ///< of all of them together, label smoothing included; summed over target tokens
    std::int64_t targets = 0;
    std::int64_t correct = 0;  ///< of these, how many are the most likely token
    double gradient_norm = 0;  ///< of the last one, before clipping
};

/// With the loss in its message.
optim::NotFinite loss_not_finite(double loss);

/// Adds the gradients of a batch's summed loss, divided by the options' divisor, to those of the model's parameters. Returns the
/// loss's statistics (ops::loss_statistics()), which lie where the model does. The batch must lie there, too. Dropout draws from
/// the thread's generator.
Tensor add_gradients(nn::Transformer& model, const BatchTensors& batch, const ops::LossOptions& options);

/// A model and what updates it, all of which outlives the updates.
struct ModelInTraining {
    nn::Transformer& model;
    const TrainingOptions& options;
    nn::FlatParameters& parameters;
    optim::Optimizer& optimizer;
    const optim::Schedule& schedule;

    /// The random numbers of a shard's part of a batch: a function of the seed, the number of updates so far, and these two.
    Generator random_numbers(std::int64_t shard, std::int64_t batch) const;
    ops::LossOptions loss(double divisor) const { return {.label_smoothing = options.label_smoothing, .divisor = divisor}; }
    /// The rate of the next update, and the clipping.
    optim::StepOptions step() const { return {.lr = schedule.rate(optimizer.updates()), .clip = options.clip}; }
};

/// The error for an update of these batches. Computes their gradients once more in anomaly mode, with the same random numbers, so
/// that the message names the op, the module and the source line that the first value that is not finite came from.
Divergence divergence(const ModelInTraining& trained, std::span<const PairBatch> batches, const optim::NotFinite& failed);

/// How updates are made.
class Update {
  public:
    virtual ~Update() = default;
    /// Learner::update().
    virtual UpdateReport update(std::span<const PairBatch> batches) = 0;
    /// Learner::read().
    virtual LossReading read() { return {}; }
};

/// Computes an update where the model lies, and waits for it.
class HostUpdate final : public Update {
  public:
    explicit HostUpdate(const ModelInTraining& trained) : trained_(trained) {}

    UpdateReport update(std::span<const PairBatch> batches) override;

  private:
    ModelInTraining trained_;
};

}  // namespace heddle::app
