#include "apps/translation/training/update_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "apps/translation/batching/batches.h"
#include "apps/translation/training/update.h"
#include "autograd/op_times.h"
#include "core/random.h"

namespace heddle::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t most_batches = 12;
constexpr std::chrono::seconds most_time{2};

double seconds(Clock::duration time) { return std::max(0.0, std::chrono::duration<double>(time).count()); }

// What the parts of some updates took, in seconds.
struct PartTimes {
    double zeroing = 0, making = 0, passes = 0, norm = 0, step = 0;
};

class MeasuredUpdates {
  public:
    MeasuredUpdates(nn::Transformer& model, const Trainer& trainer)
        : trainer_(trainer),
          options_(trainer.options()),
          parameters_(trainer.learner().parameters()),
          // Moments of its own, too: nothing of the run moves but the gradients.
          optimizer_(parameters_.values.clone(), parameters_.gradients, optimizer_options(options_)),
          model_(model) {
        optimizer_.set_active(parameters_.active());
        if (parameters_.bf16_copy.defined()) optimizer_.round_to(parameters_.bf16_copy.clone());
    }

    UpdateTimes measure() {
        const std::int64_t planned = trainer_.batches_planned(), wanted = std::min(most_batches, planned);
        update(0);
        const Clock::time_point begin = Clock::now();
        parts_ = {};
        OpTimer timer;
        UpdateTimes times{.batches_per_update = std::min(options_.accumulate, planned),
                          .on_device = on_device(),
                          .shards = options_.shards,
                          .exchange = trainer_.learner().exchange_costs()};
        while (times.batches < wanted && Clock::now() - begin < most_time) {
            update(times.batches * planned / wanted, &timer);
            ++times.batches;
        }
        optimizer_.zero_gradients();
        summarize(timer.times(), times);
        return times;
    }

  private:
    bool on_device() const { return parameters_.values.device() != Device::cpu; }

    // `ops`: times the ops of the passes.
    void update(std::int64_t number, OpTimer* ops = nullptr) {
        const optim::StepOptions options{.lr = rate_of(options_), .clip = options_.clip};
        lap();
        optimizer_.zero_gradients();
        parts_.zeroing += lap();
        const PairBatch batch = trainer_.batch(number);
        const BatchTensors tensors = tensors_of(batch, model_.device());
        parts_.making += lap();
        if (ops != nullptr) ops->start();
        add_gradients(model_, tensors,
                      {.label_smoothing = options_.label_smoothing, .divisor = static_cast<double>(batch.target_tokens)});
        parts_.passes += lap();
        const Tensor measured = optimizer_.measure(options);
        parts_.norm += lap();
        optimizer_.step_measured(options, measured);
        parts_.step += lap();
    }

    // Seconds since the last call, with all work on the device.
    double lap() {
        if (on_device()) device::synchronize();
        const Clock::time_point now = Clock::now();
        return seconds(now - std::exchange(last_, now));
    }

    // An update is `batches_per_update` batches and one step.
    void summarize(const std::vector<OpTime>& ops, UpdateTimes& times) const {
        const double per_step = 1 / static_cast<double>(std::max<std::int64_t>(1, times.batches)),
                     per_batch = per_step * static_cast<double>(times.batches_per_update);
        const auto add = [&](std::string name, double seconds, double calls) {
            times.works.push_back({.name = std::move(name), .seconds = calls * per_step * seconds, .calls = calls});
        };
        add("making the batch", parts_.making, static_cast<double>(times.batches_per_update));
        add("zeroing the gradients", parts_.zeroing, 1);
        add("norm of the gradient", parts_.norm, 1);
        add(fmt::format("step of {}", word_of(options_.optimizer)), parts_.step, 1);
        for (const OpTime& op : ops)
            times.works.push_back({.name = op.op,
                                   .seconds = per_batch * op.total(),
                                   .forward = per_batch * op.forward,
                                   .backward = per_batch * op.backward,
                                   .calls = per_batch * static_cast<double>(op.calls),
                                   .is_op = true});
        std::stable_sort(times.works.begin(), times.works.end(),
                         [](const TimedWork& a, const TimedWork& b) { return a.seconds > b.seconds; });
        times.seconds = per_batch * (parts_.making + parts_.passes) + per_step * (parts_.zeroing + parts_.norm + parts_.step);
    }

    const Trainer& trainer_;
    const TrainingOptions& options_;
    const nn::FlatParameters& parameters_;
    optim::Optimizer optimizer_;
    nn::Transformer& model_;
    PartTimes parts_;
    Clock::time_point last_;
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
