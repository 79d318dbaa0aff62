// One model, its optimizer, and what an update does.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "apps/divergence.h"
#include "apps/options.h"
#include "apps/translation/batches.h"
#include "nn/flat.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace heddle::app {

struct UpdateReport {
    double loss = 0;           ///< label smoothing included; summed over target tokens
    std::int64_t targets = 0;  ///< target tokens
    std::int64_t tokens = 0;   ///< source and target
    std::int64_t sentences = 0;
    double gradient_norm = 0;  ///< before clipping
    double learning_rate = 0;
};

/// The optimizer that the options describe.
optim::OptimizerOptions optimizer_options(const TrainingOptions& options);

/// Moves the model's parameters to flat storage and updates them. Everything random of an update is a function of the seed and
/// the update's number.
class Learner {
  public:
    /// `planned_updates`: where a cosine schedule ends; 0 when nobody knows.
    Learner(nn::Transformer& model, const TrainingOptions& options, std::int64_t planned_updates);

    /// One step on the mean loss per target token of all batches together: several small batches give what one large batch gives,
    /// but for rounding and dropout. Divergence when the loss or the gradient is not finite: the weights are then those before
    /// the update, and the message names the op, the module and the source line that the first such value came from.
    UpdateReport update(std::span<const Batch> batches);

    /// Updates so far.
    std::int64_t updates() const { return optimizer_.updates(); }
    /// For a run that goes on, whose weights and moments were filled in.
    void set_updates(std::int64_t updates) { optimizer_.set_updates(updates); }
    const nn::FlatParameters& parameters() const { return parameters_; }
    nn::FlatParameters& parameters() { return parameters_; }
    /// The optimizer's arrays under names such as "first_moment.encoder.layers.0...", sharing their storage or copied.
    nn::NamedTensors moments(bool copied = false) const;

  private:
    UpdateReport gradients(std::span<const Batch> batches);
    void accumulate(const Batch& batch, std::int64_t number, double divisor, UpdateReport& report);
    std::string origin_of_divergence(std::span<const Batch> batches);

    nn::Transformer& model_;
    TrainingOptions options_;
    nn::FlatParameters parameters_;
    optim::Optimizer optimizer_;
    optim::Schedule schedule_;
};

}  // namespace heddle::app
