// The body of an update: what the learner does, and what the time table of a report measures.
#pragma once

#include <cstdint>

#include "apps/translation/batching/batches.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"

namespace heddle::app {

/// The parts of an update, in their order; making and passes come once for each batch.
enum class StepPart : std::uint8_t { zeroing, making, passes, norm, step };

/// Sees an update happen. What it throws ends the update.
class StepObserver {
  public:
    virtual ~StepObserver() = default;
    /// A part is over, or on a device all of it is launched.
    virtual void done(StepPart /*part*/) {}
    /// The statistics of a batch's loss (autograd/ops.h), before the backward pass.
    virtual void loss(const Tensor& /*statistics*/) {}
    /// The gradient's norm and factor (Optimizer::measure), before the step. With a norm that is not finite there, no weight
    /// changes.
    virtual void norm(Tensor& /*measured*/) {}
};

/// An update of a model by an optimizer over its gradients: begin(), add() for each batch, finish(). Everything random is drawn
/// from the thread's generator.
class TrainingStep {
  public:
    /// All three must outlive this object.
    TrainingStep(nn::Transformer& model, optim::Optimizer& optimizer, StepObserver& observer, double label_smoothing)
        : model_(model), optimizer_(optimizer), observer_(observer), label_smoothing_(label_smoothing) {}

    /// Sets the gradients to zero.
    void begin();
    /// Makes the batch's tensors where the model lies, and adds the gradients of its loss, which is divided by `divisor`.
    void add(const PairBatch& batch, double divisor);
    /// The two passes alone; the options' label smoothing is the step's.
    void add_gradients(const nn::Sentences& source, const nn::Sentences& target_in, const Tensor& target_out,
                       ops::LossOptions options);
    /// Measures the gradient and changes the weights by it; `numbers` as in Optimizer::step_measured().
    void finish(const optim::StepOptions& with, const Tensor& numbers = {});

  private:
    nn::Transformer& model_;
    optim::Optimizer& optimizer_;
    StepObserver& observer_;
    double label_smoothing_;
};

}  // namespace heddle::app
