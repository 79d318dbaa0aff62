#include "apps/translation/training/update_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "apps/translation/batching/batch_tensors.h"
#include "autograd/op_times.h"
#include "core/random.h"

namespace heddle::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t most_batches = 12;
constexpr std::chrono::seconds most_time{2};

double seconds(Clock::duration time) { return std::max(0.0, std::chrono::duration<double>(time).count()); }

// What the steps between two looks at the clock took, over all updates.
struct Steps {
    double zeroing = 0, making = 0, passes = 0, norm = 0, step = 0;
};

class MeasuredUpdates {
  public:
    MeasuredUpdates(nn::Transformer& model, const Trainer& trainer)
        : model_(model),
          trainer_(trainer),
          options_(trainer.options()),
          parameters_(trainer.learner().parameters()),
          // Moments of its own, too: nothing of the run moves but the gradients.
          optimizer_(parameters_.values.clone(), parameters_.gradients, optimizer_options(options_)) {
        optimizer_.set_active(parameters_.active());
        if (parameters_.bf16_copy.defined()) optimizer_.round_to(parameters_.bf16_copy.clone());
    }

    UpdateTimes measure() {
        const std::int64_t in_epoch = trainer_.batches_per_epoch(), wanted = std::min(most_batches, in_epoch);
        update(0);
        const Clock::time_point begin = Clock::now();
        steps_ = {};
        OpTimer timer;
        UpdateTimes times{.batches_per_update = std::min(options_.accumulate, in_epoch), .on_device = on_device()};
        while (times.batches < wanted && Clock::now() - begin < most_time) {
            update(times.batches * in_epoch / wanted, &timer);
            ++times.batches;
        }
        optimizer_.zero_gradients();
        summarize(timer.times(), times);
        return times;
    }

  private:
    bool on_device() const { return parameters_.values.device() != Device::cpu; }

    // What happened since the last look at the clock.
    double lap() {
        if (on_device()) device::synchronize();
        const Clock::time_point now = Clock::now();
        return seconds(now - std::exchange(last_, now));
    }

    // The same work as Learner's, with a look at the clock after each step.
    void update(std::int64_t number, OpTimer* timer = nullptr) {
        lap();
        optimizer_.zero_gradients();
        steps_.zeroing += lap();
        const Batch batch = trainer_.batch(number);
        const BatchTensors tensors = tensors_of(batch, model_.device());
        steps_.making += lap();
        if (timer != nullptr) timer->start();
        Tensor statistics;
        backward(model_.loss(tensors.source, tensors.target_in, tensors.target_out,
                             {.label_smoothing = options_.label_smoothing, .divisor = static_cast<double>(batch.target_tokens)},
                             &statistics));
        steps_.passes += lap();
        const optim::StepOptions step{.lr = rate_of(options_), .clip = options_.clip};
        const Tensor measured = optimizer_.measure(step);
        steps_.norm += lap();
        optimizer_.step_measured(step, measured);
        steps_.step += lap();
    }

    // An update is `batches_per_update` batches and one step.
    void summarize(const std::vector<OpTime>& ops, UpdateTimes& times) const {
        const double per_step = 1 / static_cast<double>(std::max<std::int64_t>(1, times.batches)),
                     per_batch = per_step * static_cast<double>(times.batches_per_update);
        const auto add = [&](std::string name, double seconds, double calls) {
            times.works.push_back({.name = std::move(name), .seconds = calls * per_step * seconds, .calls = calls});
        };
        add("making the batch", steps_.making, static_cast<double>(times.batches_per_update));
        add("zeroing the gradients", steps_.zeroing, 1);
        add("norm of the gradient", steps_.norm, 1);
        add(fmt::format("step of {}", word_of(options_.optimizer)), steps_.step, 1);
        for (const OpTime& op : ops)
            times.works.push_back({.name = op.op,
                                   .seconds = per_batch * op.total(),
                                   .forward = per_batch * op.forward,
                                   .backward = per_batch * op.backward,
                                   .calls = per_batch * static_cast<double>(op.calls),
                                   .is_op = true});
        std::stable_sort(times.works.begin(), times.works.end(),
                         [](const TimedWork& a, const TimedWork& b) { return a.seconds > b.seconds; });
        times.seconds = per_batch * (steps_.making + steps_.passes) + per_step * (steps_.zeroing + steps_.norm + steps_.step);
    }

    nn::Transformer& model_;
    const Trainer& trainer_;
    const TrainingOptions& options_;
    const nn::FlatParameters& parameters_;
    optim::Optimizer optimizer_;
    Clock::time_point last_ = Clock::now();
    Steps steps_;
};

}  // namespace

double UpdateTimes::unexplained() const {
    double rest = seconds;
    for (const TimedWork& work : works) rest -= work.seconds;
    return rest;
}

UpdateTimes measure_update(nn::Transformer& model, const Trainer& trainer) {
    const bool training = model.training();
    Generator keys;
    keys.seed = trainer.options().seed;
    const RandomState random(std::move(keys));
    model.train();
    UpdateTimes times = MeasuredUpdates(model, trainer).measure();
    if (!training) model.eval();
    return times;
}

}  // namespace heddle::app
