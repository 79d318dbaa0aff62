#include "apps/translation/training/queued_update.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "apps/translation/distributed/shards.h"
#include "kernels/update_tally/update_tally.h"

namespace heddle::app {
namespace {

// The batches of at most this many updates are kept.
constexpr std::size_t most_unread_updates = 1000;

}  // namespace

QueuedPasses::QueuedPasses(const ModelInTraining& trained, RankExchange* exchange)
    : trained_(trained), exchange_(exchange), tally_(kernels::empty_tally(trained.parameters.values.device())) {
    // With checkpointed layers the host compares what is computed again with what it was.
    if (!trained.options.cuda_graphs || trained.model.options().checkpoint_layers) return;
    const auto step = [this](const StepInputs& inputs) {
        Generator numbers = generator();
        numbers.calls.clear();
        numbers.step_key_on_device = inputs.random_key;
        const RandomState random(std::move(numbers));
        ops::LossOptions loss = trained_.loss(1);
        loss.divisor_in_memory = inputs.divisor;
        pass(inputs, loss);
    };
    graphs_.emplace(step, arena_, trained.model.options().longest_sentence());
}

void QueuedPasses::run(const PairBatch& part, Generator random_numbers, double divisor) {
    const RandomState random(std::move(random_numbers));
    if (!graphs_) return pass(tensors_of(part, Device::cuda), trained_.loss(divisor));
    graphs_->run(part, generator().step_key(), divisor);
    trained_.parameters.gradients.bump_version();
}

void QueuedPasses::pass(const BatchTensors& batch, const ops::LossOptions& options) {
    MarkedPass marks(exchange_, trained_.parameters.gradients);
    kernels::tally_losses(tally_, add_gradients(trained_.model, batch, options));
    marks.end();
}

QueuedUpdate::QueuedUpdate(const ModelInTraining& trained, QueuedPasses& passes) : trained_(trained), passes_(passes) {
    if (passes.captures()) graph_ = std::make_unique<StepGraph>();
}

UpdateReport QueuedUpdate::update(std::span<const PairBatch> batches) {
    UpdateReport report(batches);
    const ShardedBatches shards(batches, trained_.options.shards);
    ShardSum sum(trained_.parameters.gradients, shards.shards());
    for (std::int64_t shard = 0; shard < shards.shards(); ++shard) {
        trained_.parameters.zero_gradients();
        for (std::int64_t batch = 0; batch < shards.batches(); ++batch)
            if (const PairBatch& part = shards.part(shard, batch); part.sentences > 0)
                passes_.run(part, trained_.random_numbers(shard, batch), static_cast<double>(report.targets));
        sum.add();
    }
    const optim::StepOptions options = trained_.step();
    queue_step(options);
    unread_.emplace_back(batches.begin(), batches.end());
    for (PairBatch& batch : unread_.back()) batch.fitted = nullptr;  // a search for a divergence does not replay
    report.learning_rate = options.lr;
    report.loss = report.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    report.read = false;
    if (trained_.options.on_divergence == OnDivergence::skip) {
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

// Like the passes: the first step is a direct one, the second is captured, all later ones are replayed.
void QueuedUpdate::queue_step(const optim::StepOptions& options) {
    if (!graph_) return step(options);
    const std::array<double, 3> numbers = trained_.optimizer.numbers(options);
    std::memcpy(graph_->staging.begin(sizeof numbers), numbers.data(), sizeof numbers);
    graph_->staging.send(graph_->numbers.mutable_bytes_data(), sizeof numbers);
    if (graph_->graph.captured()) {
        trained_.optimizer.count_replay();
    } else {
        const MemoryArena::Use use(passes_.arena());
        if (std::exchange(graph_->first, false)) return step(options);
        graph_->graph.capture([&] { step(options); });
    }
    graph_->graph.launch();
}

void QueuedUpdate::step(const optim::StepOptions& options) {
    Tensor measured = trained_.optimizer.measure(options);
    kernels::tally_update(passes_.tally(), measured);
    trained_.optimizer.step_measured(options, measured, graph_ ? graph_->numbers : Tensor());
}

LossReading QueuedUpdate::read() {
    if (!unread_.empty()) collect();
    return std::exchange(reading_, {});
}

void QueuedUpdate::collect() {
    const kernels::UpdateTally tally = kernels::read_tally(passes_.tally());
    const std::vector<std::vector<PairBatch>> unread = std::exchange(unread_, {});
    passes_.tally().fill_(0);
    if (tally.updates > 0) reading_.gradient_norm = tally.gradient_norm;
    reading_.updates += tally.updates;
    reading_.loss += tally.losses.loss;
    reading_.targets += tally.losses.counted;
    reading_.correct += tally.losses.correct;
    if (!tally.failed) return;
    optim::Optimizer& optimizer = trained_.optimizer;
    optimizer.set_updates(optimizer.updates() - static_cast<std::int64_t>(unread.size()) + tally.updates);
    const optim::NotFinite failed = std::isfinite(tally.failed_loss)
                                        ? optim::NotFinite::of_gradient(tally.failed_norm, optimizer.updates())
                                        : loss_not_finite(tally.failed_loss);
    throw divergence(trained_, unread[static_cast<std::size_t>(tally.updates)], failed);
}

}  // namespace heddle::app
