#include "apps/translation/training/update_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "apps/translation/training/training_step.h"
#include "autograd/op_times.h"
#include "core/random.h"

namespace heddle::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t most_batches = 12;
constexpr std::chrono::seconds most_time{2};

double seconds(Clock::duration time) { return std::max(0.0, std::chrono::duration<double>(time).count()); }

// Looks at the clock behind each part of an update, and adds up what each took.
class PartTimes final : public StepObserver {
  public:
    explicit PartTimes(bool on_device) : on_device_(on_device) {}

    void done(StepPart part) override {
        seconds_[static_cast<std::size_t>(part)] += lap();
        if (part == StepPart::making && ops_ != nullptr) ops_->start();  // what comes next are ops
    }
    /// Forgets what was measured.
    void reset() { seconds_ = {}; }
    /// The clock starts anew: what happened since the last part counts for none. `ops`: who times the ops of the passes, if any.
    void start(OpTimer* ops) {
        ops_ = ops;
        lap();
    }
    double of(StepPart part) const { return seconds_[static_cast<std::size_t>(part)]; }

  private:
    double lap() {
        if (on_device_) device::synchronize();
        const Clock::time_point now = Clock::now();
        return seconds(now - std::exchange(last_, now));
    }

    bool on_device_;
    OpTimer* ops_ = nullptr;
    Clock::time_point last_ = Clock::now();
    std::array<double, 5> seconds_ = {};
};

class MeasuredUpdates {
  public:
    MeasuredUpdates(nn::Transformer& model, const Trainer& trainer)
        : trainer_(trainer),
          options_(trainer.options()),
          parameters_(trainer.learner().parameters()),
          // Moments of its own, too: nothing of the run moves but the gradients.
          optimizer_(parameters_.values.clone(), parameters_.gradients, optimizer_options(options_)),
          parts_(on_device()),
          step_(model, optimizer_, parts_, options_.label_smoothing) {
        optimizer_.set_active(parameters_.active());
        if (parameters_.bf16_copy.defined()) optimizer_.round_to(parameters_.bf16_copy.clone());
    }

    UpdateTimes measure() {
        const std::int64_t planned = trainer_.batches_planned(), wanted = std::min(most_batches, planned);
        update(0);
        const Clock::time_point begin = Clock::now();
        parts_.reset();
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

    void update(std::int64_t number, OpTimer* ops = nullptr) {
        parts_.start(ops);
        step_.begin();
        const PairBatch batch = trainer_.batch(number);
        step_.add(batch, static_cast<double>(batch.target_tokens));
        step_.finish({.lr = rate_of(options_), .clip = options_.clip});
    }

    // An update is `batches_per_update` batches and one step.
    void summarize(const std::vector<OpTime>& ops, UpdateTimes& times) const {
        const double per_step = 1 / static_cast<double>(std::max<std::int64_t>(1, times.batches)),
                     per_batch = per_step * static_cast<double>(times.batches_per_update);
        const auto add = [&](std::string name, double seconds, double calls) {
            times.works.push_back({.name = std::move(name), .seconds = calls * per_step * seconds, .calls = calls});
        };
        add("making the batch", parts_.of(StepPart::making), static_cast<double>(times.batches_per_update));
        add("zeroing the gradients", parts_.of(StepPart::zeroing), 1);
        add("norm of the gradient", parts_.of(StepPart::norm), 1);
        add(fmt::format("step of {}", word_of(options_.optimizer)), parts_.of(StepPart::step), 1);
        for (const OpTime& op : ops)
            times.works.push_back({.name = op.op,
                                   .seconds = per_batch * op.total(),
                                   .forward = per_batch * op.forward,
                                   .backward = per_batch * op.backward,
                                   .calls = per_batch * static_cast<double>(op.calls),
                                   .is_op = true});
        std::stable_sort(times.works.begin(), times.works.end(),
                         [](const TimedWork& a, const TimedWork& b) { return a.seconds > b.seconds; });
        times.seconds = per_batch * (parts_.of(StepPart::making) + parts_.of(StepPart::passes)) +
                        per_step * (parts_.of(StepPart::zeroing) + parts_.of(StepPart::norm) + parts_.of(StepPart::step));
    }

    const Trainer& trainer_;
    const TrainingOptions& options_;
    const nn::FlatParameters& parameters_;
    optim::Optimizer optimizer_;
    PartTimes parts_;
    TrainingStep step_;
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
