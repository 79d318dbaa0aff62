#include "apps/translation/training/learner.h"

#include "core/format.h"

namespace heddle::app {

optim::OptimizerOptions optimizer_options(const TrainingOptions& options) {
    return {.method = options.optimizer,
            .momentum = options.momentum,
            .beta1 = options.adam_betas.first,
            .beta2 = options.adam_betas.second,
            .eps = options.adam_eps,
            .weight_decay = options.weight_decay};
}

namespace {

// More than a host's hiccup, few enough to cost nothing.
constexpr std::int64_t batches_ahead = 8;

// A cosine run that ends before its warm-up does would never leave it: such a run warms up for a tenth of its updates.
optim::Schedule schedule_of(const TrainingOptions& options, std::int64_t d_model, std::int64_t planned_updates) {
    const bool too_short = options.schedule == optim::ScheduleKind::cosine && options.warmup >= planned_updates;
    return {.kind = options.schedule,
            .lr = rate_of(options),
            .warmup = too_short ? planned_updates / 10 : options.warmup,
            .d_model = d_model,
            .total = planned_updates};
}

// Null for a learner that is alone.
std::unique_ptr<RankExchange> exchange_of(Ranks* ranks, const TrainingOptions& options, const nn::FlatParameters& parameters) {
    if (ranks == nullptr) return nullptr;
    std::vector<Span> leaves;
    for (const nn::FlatParameters::Entry& entry : parameters.entries)
        if (entry.parameter.variable.requires_grad()) leaves.push_back({entry.begin, entry.count});
    const bool on_device = parameters.values.device() != Device::cpu;
    return std::make_unique<RankExchange>(*ranks, options.shards, Spans(parameters.active(), parameters.values.numel()), leaves,
                                          on_device ? GradientBuckets::kElementsOnDevice : GradientBuckets::kElements);
}

optim::Optimizer optimizer_of(const TrainingOptions& options, const nn::FlatParameters& parameters,
                              const RankExchange* exchange) {
    if (exchange == nullptr) {
        optim::Optimizer optimizer(parameters.values, parameters.gradients, optimizer_options(options));
        optimizer.set_active(parameters.active());
        if (parameters.bf16_copy.defined()) optimizer.round_to(parameters.bf16_copy);
        return optimizer;
    }
    optim::Optimizer optimizer(exchange->own(parameters.values), exchange->own(parameters.gradients), optimizer_options(options));
    optimizer.set_active(exchange->own_active());
    return optimizer;
}

}  // namespace

Learner::Learner(nn::Transformer& model, const TrainingOptions& options, std::int64_t planned_updates, DType dtype, Ranks* ranks)
    : options_(options),
      parameters_(nn::flatten(model, dtype)),
      exchange_(exchange_of(ranks, options, parameters_)),
      optimizer_(optimizer_of(options, parameters_, exchange_.get())),
      schedule_(schedule_of(options, model.options().d_model, planned_updates)) {
    const ModelInTraining trained{model, options_, parameters_, optimizer_, schedule_};
    if (parameters_.values.device() != Device::cpu) passes_ = std::make_shared<QueuedPasses>(trained, exchange_.get());
    if (exchange_ != nullptr) {
        auto shared = std::make_unique<SharedUpdate>(trained, *exchange_, passes_.get());
        shared_ = shared.get();
        update_ = std::move(shared);
    } else if (passes_ != nullptr) {
        update_ = std::make_unique<QueuedUpdate>(trained, *passes_);
    } else {
        update_ = std::make_unique<HostUpdate>(trained);
    }
}

void Learner::pack_ahead(BatchStream& stream) const {
    if (passes_ == nullptr) return;
    BatchStream::WhenPacked fit;
    // Shards are fitted when they are cut.
    if (options_.shards == 1) fit = [passes = passes_](PairBatch& batch) { passes->fit(batch); };
    stream.pack_ahead(batches_ahead, std::move(fit));
}

void Learner::set_updates(std::int64_t updates) {
    optimizer_.set_updates(updates);
    weights_changed();
}

void Learner::weights_changed() {
    if (shared_ != nullptr) shared_->state_changed();
    parameters_.round_again();
}

void Learner::share_weights() {
    if (shared_ != nullptr) shared_->share_state();
}

void Learner::follow(const TokenPairs& pairs) {
    check(shared_ != nullptr, "learner: one that is alone has nobody to follow");
    shared_->follow(pairs);
}

nn::NamedTensors Learner::copy_of_moments() {
    if (shared_ != nullptr) return named(shared_->gathered_moments());
    std::vector<std::pair<std::string, Tensor>> moments = optimizer_.state();
    for (auto& [name, array] : moments) array = copy_on_cpu(array);
    return named(moments);
}

nn::NamedTensors Learner::moments_to_fill() {
    return named(shared_ != nullptr ? shared_->moments_to_fill() : optimizer_.state());
}

nn::NamedTensors Learner::named(const std::vector<std::pair<std::string, Tensor>>& arrays) const {
    nn::NamedTensors moments;
    for (const auto& [array, tensor] : arrays)
        for (auto& [name, part] : parameters_.named(tensor)) moments.emplace_back(array + "." + name, part);
    return moments;
}

}  // namespace heddle::app
