#include "apps/translation/training/learner.h"
#include "apps/translation/run/json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "autograd/observe.h"
#include "autograd/tape.h"
#include "kernels/update_tally/update_tally.h"

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

// Whose batches are kept at most.
constexpr std::size_t most_unread_updates = 1000;
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

optim::NotFinite loss_not_finite(double loss) { return optim::NotFinite(fmt::format("the loss is {}", unsigned_nan(loss))); }

}  // namespace

Learner::Learner(nn::Transformer& model, const TrainingOptions& options, std::int64_t planned_updates, DType dtype, Ranks* ranks)
    : model_(model),
      options_(options),
      parameters_(nn::flatten(model, dtype)),
      exchange_(exchange_of(ranks, options, parameters_)),
      optimizer_(own(parameters_.values), own(parameters_.gradients), optimizer_options(options)),
      schedule_(schedule_of(options, model.options().d_model, planned_updates)),
      step_(model, optimizer_, observer_, options.label_smoothing) {
    optimizer_.set_active(exchange_ != nullptr ? exchange_->own_active() : parameters_.active());
    if (parameters_.bf16_copy.defined() && exchange_ == nullptr) optimizer_.round_to(parameters_.bf16_copy);
    if (!on_device()) return;
    tally_ = kernels::empty_tally(parameters_.values.device());
    // A checkpointed layer compares what it computes again with what it was, on the host.
    if (!options.cuda_graphs || model.options().checkpoint_layers) return;
    const auto step = [this](const StepInputs& inputs) {
        Generator keys = generator();
        keys.calls.clear();
        keys.step_key_on_device = inputs.random_key;
        const RandomState random(std::move(keys));
        pass([&] {
            step_.add_gradients(inputs.source, inputs.target_in, inputs.target_out, {.divisor_in_memory = inputs.divisor});
        });
    };
    graphs_ = std::make_shared<Graphs>(step, model.options().longest_sentence());
}

void Learner::set_updates(std::int64_t updates) {
    optimizer_.set_updates(updates);
    weights_changed();
}

void Learner::weights_changed() {
    shared_ = false;
    parameters_.round_again();
}

void Learner::accumulate(const PairBatch& batch, std::uint64_t key, double divisor) {
    // Of this learner alone, whatever else draws on this thread.
    Generator keys;
    keys.seed = options_.seed;
    keys.start(static_cast<std::uint64_t>(updates()), key);
    const RandomState random(std::move(keys));
    if (graphs_ != nullptr && !searching_) {
        graphs_->steps.run(batch, generator().step_key(), divisor);
        parameters_.gradients.bump_version();
    } else {
        pass([&] { step_.add(batch, divisor); });
    }
}

// Runs forward and backward of a batch, or nothing for an empty shard. With several ranks on a device every pass marks where its
// gradients are complete, because the same captured step serves the last batch and the others.
void Learner::pass(const std::function<void()>& passes) {
    if (shares_step() && on_device()) return exchange_->mark_pass(parameters_.gradients, passes);
    passes();
}

// On a device the loss is tallied there.
void Learner::see_loss(const Tensor& statistics) {
    if (on_device()) return kernels::tally_losses(tally_, statistics);
    const ops::LossStatistics sum = ops::loss_statistics(statistics);
    if (!shares_step()) return add_loss(sum.loss, sum.correct);
    losses_[losses_.size() - 2] = sum.loss;
    losses_.back() = static_cast<double>(sum.correct);
}

void Learner::add_loss(double loss, std::int64_t correct) {
    if (!std::isfinite(loss)) throw loss_not_finite(loss);
    report_.loss += loss;
    report_.correct += correct;
}

void Learner::see_norm(Tensor& measured) {
    if (on_device()) return kernels::tally_update(tally_, measured);
    add_norm(measured.to_vector().front());
}

void Learner::add_norm(double norm) {
    report_.gradient_norm = norm;
    if (!std::isfinite(norm)) throw optim::NotFinite::of_gradient(norm, updates());
}

void Learner::count(std::span<const PairBatch> batches) {
    report_ = {};
    for (const PairBatch& batch : batches) {
        report_.targets += batch.target_tokens;
        report_.tokens += batch.source_tokens + batch.target_tokens;
        report_.sentences += batch.sentences;
    }
}

void Learner::gradients(std::span<const PairBatch> batches) {
    count(batches);
    const ShardedBatches shards(batches, options_.shards);
    sum_shards(parameters_.gradients, {0, options_.shards}, [&](std::int64_t shard) { gradients_of_shard(shards, shard); });
}

// The divisor is that of the whole update: the shards' gradients add up to the gradient of its mean loss.
void Learner::gradients_of_shard(const ShardedBatches& shards, std::int64_t shard, const RankExchange::Complete& complete) {
    parameters_.zero_gradients();
    const std::int64_t last = shards.last_part(shard);
    for (std::int64_t number = 0; number < shards.batches(); ++number) {
        if (shares_step()) losses_.insert(losses_.end(), 2, 0.0);  // an empty part has no loss
        shards.with_part(shard, number, [&](const PairBatch& part) {
            std::optional<ObserveGradients> observe;
            if (complete && number == last) observe.emplace([&](const Variable& leaf) { complete(leaf.grad()); });
            accumulate(part, shard_key(shard, number), static_cast<double>(report_.targets));
            if (shares_step() && on_device()) keep_tallied_loss();
        });
    }
    if (last < 0) pass([] {});
}

UpdateReport Learner::update(std::span<const PairBatch> batches) {
    if (exchange_ != nullptr) return update_together(batches);
    if (!on_device()) return update_and_wait(batches);
    UpdateReport report = update_unread(batches);
    if (options_.on_divergence == OnDivergence::skip) {
        const LossReading reading = read();
        report.loss = reading.loss;
        report.correct = reading.correct;
        report.gradient_norm = reading.gradient_norm;
        report.read = true;
    } else if (unread_.size() == most_unread_updates) {
        collect();
    }
    return report;
}

UpdateReport Learner::update_and_wait(std::span<const PairBatch> batches) {
    try {
        gradients(batches);
        report_.learning_rate = schedule_.rate(updates());
        step_.finish({.lr = report_.learning_rate, .clip = options_.clip});
        return report_;
    } catch (const optim::NotFinite& failed) {
        throw Divergence(divergence_text(batches, failed));
    }
}

// ---- on a device

UpdateReport Learner::update_unread(std::span<const PairBatch> batches) {
    gradients(batches);
    report_.learning_rate = schedule_.rate(updates());
    const optim::StepOptions step{.lr = report_.learning_rate, .clip = options_.clip};
    if (graphs_ != nullptr)
        replay(step);
    else
        step_.finish(step);
    unread_.emplace_back(batches.begin(), batches.end());
    for (PairBatch& batch : unread_.back()) batch.prepared = nullptr;  // a search for a divergence does not replay
    report_.loss = report_.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    report_.read = false;
    return report_;
}

void Learner::pack_ahead(BatchStream& stream) const {
    if (!on_device()) return;
    BatchStream::Prepare prepare;
    // Shards are prepared when they are cut.
    if (graphs_ != nullptr && options_.shards == 1)
        prepare = [graphs = graphs_](PairBatch& batch) { graphs->steps.prepare(batch); };
    stream.pack_ahead(batches_ahead, std::move(prepare));
}

// As the steps of batches: the first update as it is, the second one captured, all others replayed.
void Learner::replay(const optim::StepOptions& step) {
    Graphs& graphs = *graphs_;
    const std::array<double, 3> numbers = optimizer_.numbers(step);
    std::memcpy(graphs.staging.begin(sizeof numbers), numbers.data(), sizeof numbers);
    graphs.staging.send(graphs.numbers.mutable_bytes_data(), sizeof numbers);
    if (graphs.update.captured()) {
        optimizer_.count_replay();
    } else {
        const MemoryArena::Use use(graphs.arena);
        if (std::exchange(graphs.first, false)) return step_.finish(step, graphs.numbers);
        graphs.update.capture([&] { step_.finish(step, graphs.numbers); });
    }
    graphs.update.launch();
}

LossReading Learner::read() {
    if (!unread_.empty()) collect();
    return std::exchange(reading_, {});
}

void Learner::collect() {
    const kernels::UpdateTally tally = kernels::read_tally(tally_);
    const std::vector<std::vector<PairBatch>> unread = std::exchange(unread_, {});
    tally_.fill_(0);
    if (tally.updates > 0) reading_.gradient_norm = tally.gradient_norm;
    reading_.updates += tally.updates;
    reading_.loss += tally.losses.loss;
    reading_.targets += tally.losses.counted;
    reading_.correct += tally.losses.correct;
    if (!tally.failed) return;
    optimizer_.set_updates(updates() - static_cast<std::int64_t>(unread.size()) + tally.updates);
    const optim::NotFinite failed = std::isfinite(tally.failed_loss) ? optim::NotFinite::of_gradient(tally.failed_norm, updates())
                                                                     : loss_not_finite(tally.failed_loss);
    const std::string text = divergence_text(unread[static_cast<std::size_t>(tally.updates)], failed);
    tally_.fill_(0);  // the search counted, too
    throw Divergence(text);
}

// ---- when it diverged

std::string Learner::divergence_text(std::span<const PairBatch> batches, const optim::NotFinite& failed) {
    const std::string origin = origin_of_divergence(batches);
    return fmt::format("training diverged in update {}: {}. {}. Lower --lr or --clip, or raise --warmup", updates() + 1,
                       failed.what(), origin);
}

// The same step again, with every value searched and, on a device, without the rows of a capacity: the keys of everything random
// are those of the first time.
std::string Learner::origin_of_divergence(std::span<const PairBatch> batches) {
    const AnomalyMode search;
    searching_ = true;  // the host looks at every value: no graphs
    std::string found = "Searched once more, every single value is finite";
    try {
        gradients(batches);
    } catch (const Error& error) {
        found = error.what();
    }
    searching_ = false;
    return found;
}

nn::NamedTensors Learner::copy_of_moments() {
    return exchange_ != nullptr ? gathered_moments() : named_moments([](const Tensor& array) { return copy_on_cpu(array); });
}

nn::NamedTensors Learner::moments_to_fill() {
    return exchange_ != nullptr ? whole_moments_to_fill() : named_moments([](const Tensor& array) { return array; });
}

nn::NamedTensors Learner::named_moments(const std::function<Tensor(const Tensor&)>& view) const {
    nn::NamedTensors moments;
    for (const auto& [array, tensor] : optimizer_.state())
        for (auto& [name, part] : parameters_.named(view(tensor))) moments.emplace_back(array + "." + name, part);
    return moments;
}

}  // namespace heddle::app
