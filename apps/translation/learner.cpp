#include "apps/translation/learner.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "autograd/tape.h"
#include "kernels/update_tally/update_tally.h"

namespace heddle::app {

optim::OptimizerOptions optimizer_options(const TrainingOptions& options) {
    return {.method = optim::method(options.optimizer),
            .momentum = options.momentum,
            .beta1 = options.adam_betas.first,
            .beta2 = options.adam_betas.second,
            .eps = options.adam_eps,
            .weight_decay = options.weight_decay};
}

namespace {

// Whose batches are kept at most.
constexpr std::size_t most_unread_updates = 1000;

// A cosine run that ends before its warm-up does would never leave it: such a run warms up for a tenth of its updates.
optim::Schedule schedule(const TrainingOptions& options, std::int64_t d_model, std::int64_t planned_updates) {
    const bool too_short = options.schedule == "cosine" && options.warmup >= planned_updates;
    return {.kind = optim::schedule_kind(options.schedule),
            .lr = options.lr,
            .warmup = too_short ? planned_updates / 10 : options.warmup,
            .d_model = d_model,
            .total = planned_updates};
}

optim::NotFinite loss_not_finite(double loss) { return optim::NotFinite(fmt::format("the loss is {}", loss)); }

}  // namespace

Learner::Learner(nn::Transformer& model, const TrainingOptions& options, std::int64_t planned_updates, DType dtype)
    : model_(model),
      options_(options),
      parameters_(nn::flatten(model, dtype)),
      optimizer_(parameters_.values, parameters_.gradients, optimizer_options(options)),
      schedule_(schedule(options, model.options().d_model, planned_updates)) {
    optimizer_.set_active(parameters_.active());
    if (parameters_.bf16_copy.defined()) optimizer_.round_to(parameters_.bf16_copy);
    if (on_device()) tally_ = kernels::empty_tally(parameters_.values.device());
    generator().seed = options.seed;
}

void Learner::set_updates(std::int64_t updates) {
    optimizer_.set_updates(updates);
    parameters_.round_again();
}

void Learner::accumulate(const Batch& batch, std::int64_t number, double divisor, UpdateReport& report) {
    generator().start(static_cast<std::uint64_t>(updates()), static_cast<std::uint64_t>(number));
    const Shape targets{batch.target_tokens};
    const ops::LossOptions options{.label_smoothing = options_.label_smoothing, .ignore = -1, .divisor = divisor};
    Tensor counts;
    const Variable loss = model_.loss({Tensor::from(batch.source, {batch.source_tokens}), batch.source_spans},
                                      {Tensor::from(batch.target_in, targets), batch.target_spans},
                                      Tensor::from(batch.target_out, targets), options, &counts);
    take_losses(counts, report);
    backward(loss);
    report.targets += batch.target_tokens;
    report.tokens += batch.source_tokens + batch.target_tokens;
    report.sentences += batch.sentences;
}

void Learner::take_losses(const Tensor& statistics, UpdateReport& report) {
    if (on_device()) return kernels::tally_losses(tally_, statistics);
    const double loss = ops::loss_statistics(statistics).loss;
    if (!std::isfinite(loss)) throw loss_not_finite(loss);
    report.loss += loss;
}

UpdateReport Learner::gradients(std::span<const Batch> batches) {
    std::int64_t targets = 0;
    for (const Batch& batch : batches) targets += batch.target_tokens;
    optimizer_.zero_gradients();
    UpdateReport report;
    std::int64_t number = 0;
    for (const Batch& batch : batches) accumulate(batch, number++, static_cast<double>(targets), report);
    return report;
}

UpdateReport Learner::update(std::span<const Batch> batches) {
    if (!on_device()) return update_and_wait(batches);
    UpdateReport report = update_unread(batches);
    if (options_.on_divergence == "skip") {
        const LossReading reading = read();
        report.loss = reading.loss;
        report.gradient_norm = reading.gradient_norm;
        report.read = true;
    } else if (unread_.size() == most_unread_updates) {
        collect();
    }
    return report;
}

UpdateReport Learner::update_and_wait(std::span<const Batch> batches) {
    try {
        UpdateReport report = gradients(batches);
        report.learning_rate = schedule_.rate(updates());
        report.gradient_norm = optimizer_.step({.lr = report.learning_rate, .clip = options_.clip});
        return report;
    } catch (const optim::NotFinite& failed) {
        throw Divergence(divergence_text(batches, failed));
    }
}

// ---- on a device

UpdateReport Learner::update_unread(std::span<const Batch> batches) {
    UpdateReport report = gradients(batches);
    report.learning_rate = schedule_.rate(updates());
    const optim::StepOptions step{.lr = report.learning_rate, .clip = options_.clip};
    Tensor measured = optimizer_.measure(step);
    kernels::tally_update(tally_, measured);
    optimizer_.step_measured(step, measured);
    unread_.emplace_back(batches.begin(), batches.end());
    report.loss = report.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    report.read = false;
    return report;
}

LossReading Learner::read() {
    if (!unread_.empty()) collect();
    return std::exchange(reading_, {});
}

void Learner::collect() {
    const kernels::UpdateTally tally = kernels::read_tally(tally_);
    const std::vector<std::vector<Batch>> unread = std::exchange(unread_, {});
    tally_.fill_(0);
    if (tally.updates > 0) reading_.gradient_norm = tally.gradient_norm;
    reading_.updates += tally.updates;
    reading_.loss += tally.losses.loss;
    reading_.targets += tally.losses.counted;
    if (!tally.failed) return;
    optimizer_.set_updates(updates() - static_cast<std::int64_t>(unread.size()) + tally.updates);
    const optim::NotFinite failed = std::isfinite(tally.failed_loss) ? optim::NotFinite::of_gradient(tally.failed_norm, updates())
                                                                     : loss_not_finite(tally.failed_loss);
    const std::string text = divergence_text(unread[static_cast<std::size_t>(tally.updates)], failed);
    tally_.fill_(0);  // the search counted, too
    throw Divergence(text);
}

// ---- when it diverged

std::string Learner::divergence_text(std::span<const Batch> batches, const optim::NotFinite& failed) {
    const std::string origin = origin_of_divergence(batches);
    return fmt::format("training diverged in update {}: {}. {}. Lower --lr or --clip, or raise --warmup", updates() + 1,
                       failed.what(), origin);
}

// The same arithmetic again, with every value searched: the keys of everything random are those of the first time.
std::string Learner::origin_of_divergence(std::span<const Batch> batches) {
    const AnomalyMode search;
    try {
        gradients(batches);
    } catch (const Error& found) {
        return found.what();
    }
    return "Searched once more, every single value is finite";
}

nn::NamedTensors Learner::moments(bool copied) const {
    nn::NamedTensors moments;
    for (const auto& [array, tensor] : optimizer_.state())
        for (auto& [name, part] : parameters_.named(copied ? copy_on_cpu(tensor) : tensor))
            moments.emplace_back(array + "." + name, part);
    return moments;
}

}  // namespace heddle::app
