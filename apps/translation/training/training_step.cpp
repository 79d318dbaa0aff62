#include "apps/translation/training/training_step.h"

#include "apps/translation/batching/batch_tensors.h"
#include "autograd/tape.h"

namespace heddle::app {

void TrainingStep::begin() {
    optimizer_.zero_gradients();
    observer_.done(StepPart::zeroing);
}

void TrainingStep::add(const PairBatch& batch, double divisor) {
    const BatchTensors tensors = tensors_of(batch, model_.device());
    observer_.done(StepPart::making);
    add_gradients(tensors.source, tensors.target_in, tensors.target_out, {.divisor = divisor});
    observer_.done(StepPart::passes);
}

void TrainingStep::add_gradients(const nn::Sentences& source, const nn::Sentences& target_in, const Tensor& target_out,
                                 ops::LossOptions options) {
    options.label_smoothing = label_smoothing_;
    Tensor statistics;
    const Variable loss = model_.loss(source, target_in, target_out, options, &statistics);
    observer_.loss(statistics);
    backward(loss);
}

void TrainingStep::finish(const optim::StepOptions& with, const Tensor& numbers) {
    Tensor measured = optimizer_.measure(with);
    observer_.norm(measured);
    observer_.done(StepPart::norm);
    optimizer_.step_measured(with, measured, numbers);
    observer_.done(StepPart::step);
}

}  // namespace heddle::app
