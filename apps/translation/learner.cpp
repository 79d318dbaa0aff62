#include "apps/translation/learner.h"

#include <fmt/format.h>

#include <cmath>

#include "autograd/tape.h"

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

// A cosine run that ends before its warm-up does would never leave it: such a run warms up for a tenth of its updates.
optim::Schedule schedule(const TrainingOptions& options, std::int64_t d_model, std::int64_t planned_updates) {
    const bool too_short = options.schedule == "cosine" && options.warmup >= planned_updates;
    return {.kind = optim::schedule_kind(options.schedule),
            .lr = options.lr,
            .warmup = too_short ? planned_updates / 10 : options.warmup,
            .d_model = d_model,
            .total = planned_updates};
}

}  // namespace

Learner::Learner(nn::Transformer& model, const TrainingOptions& options, std::int64_t planned_updates)
    : model_(model),
      options_(options),
      parameters_(nn::flatten(model)),
      optimizer_(parameters_.values, parameters_.gradients, optimizer_options(options)),
      schedule_(schedule(options, model.options().d_model, planned_updates)) {
    optimizer_.set_active(parameters_.active());
    generator().seed = options.seed;
}

void Learner::accumulate(const Batch& batch, std::int64_t number, double divisor, UpdateReport& report) {
    generator().start(static_cast<std::uint64_t>(updates()), static_cast<std::uint64_t>(number));
    const Shape targets{batch.target_tokens};
    const ops::LossOptions options{.label_smoothing = options_.label_smoothing, .ignore = -1, .divisor = divisor};
    Tensor counts;
    const Variable loss = model_.loss({Tensor::from(batch.source, {batch.source_tokens}), batch.source_spans},
                                      {Tensor::from(batch.target_in, targets), batch.target_spans},
                                      Tensor::from(batch.target_out, targets), options, &counts);
    const ops::LossStatistics statistics = ops::loss_statistics(counts);
    if (!std::isfinite(statistics.loss)) throw optim::NotFinite(fmt::format("the loss is {}", statistics.loss));
    backward(loss);
    report.loss += statistics.loss;
    report.targets += batch.target_tokens;
    report.tokens += batch.source_tokens + batch.target_tokens;
    report.sentences += batch.sentences;
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
    try {
        UpdateReport report = gradients(batches);
        report.learning_rate = schedule_.rate(updates());
        report.gradient_norm = optimizer_.step({.lr = report.learning_rate, .clip = options_.clip});
        return report;
    } catch (const optim::NotFinite& failed) {
        const std::string origin = origin_of_divergence(batches);
        throw Divergence(fmt::format("training diverged in update {}: {}. {}. Lower --lr or --clip, or raise --warmup",
                                     updates() + 1, failed.what(), origin));
    }
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
        for (auto& [name, part] : parameters_.named(copied ? nn::copy_on_cpu(tensor) : tensor))
            moments.emplace_back(array + "." + name, part);
    return moments;
}

}  // namespace heddle::app
