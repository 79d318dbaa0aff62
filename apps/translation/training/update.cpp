#include "apps/translation/training/update.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "apps/translation/distributed/shards.h"
#include "apps/translation/run/json.h"
#include "autograd/tape.h"

namespace heddle::app {

optim::NotFinite loss_not_finite(double loss) { return optim::NotFinite(fmt::format("the loss is {}", unsigned_nan(loss))); }

UpdateReport::UpdateReport(std::span<const PairBatch> batches) {
    for (const PairBatch& batch : batches) {
        targets += batch.target_tokens;
        tokens += batch.source_tokens + batch.target_tokens;
        sentences += batch.sentences;
    }
}

void UpdateReport::add(double part_loss, std::int64_t part_correct) {
    if (!std::isfinite(part_loss)) throw loss_not_finite(part_loss);
    loss += part_loss;
    correct += part_correct;
}

Tensor add_gradients(nn::Transformer& model, const BatchTensors& batch, const ops::LossOptions& options) {
    Tensor statistics;
    const Variable loss = model.loss(batch.source, batch.target_in, batch.target_out, options, &statistics);
    backward(loss);
    return statistics;
}

Generator ModelInTraining::random_numbers(std::int64_t shard, std::int64_t batch) const {
    Generator numbers;
    numbers.seed = options.seed;
    numbers.start(static_cast<std::uint64_t>(optimizer.updates()), shard_key(shard, batch));
    return numbers;
}

namespace {

// The gradients of an update. The divisor is that of the whole update: the shards' gradients add up to the gradient of its mean
// loss per target token.
UpdateReport sum_gradients(const ModelInTraining& trained, std::span<const PairBatch> batches) {
    UpdateReport report(batches);
    const ShardedBatches shards(batches, trained.options.shards);
    ShardSum sum(trained.parameters.gradients, shards.shards());
    for (std::int64_t shard = 0; shard < shards.shards(); ++shard) {
        trained.parameters.zero_gradients();
        for (std::int64_t batch = 0; batch < shards.batches(); ++batch) {
            const PairBatch& part = shards.part(shard, batch);
            if (part.sentences == 0) continue;
            const RandomState random(trained.random_numbers(shard, batch));
            const ops::LossStatistics loss = ops::loss_statistics(add_gradients(
                trained.model, tensors_of(part, trained.model.device()), trained.loss(static_cast<double>(report.targets))));
            report.add(loss.loss, loss.correct);
        }
        sum.add();
    }
    return report;
}

}  // namespace

Divergence divergence(const ModelInTraining& trained, std::span<const PairBatch> batches, const optim::NotFinite& failed) {
    std::string origin = "Searched once more, every single value is finite";
    try {
        const AnomalyMode search;
        sum_gradients(trained, batches);
    } catch (const Error& error) {
        origin = error.what();
    }
    return Divergence(fmt::format("training diverged in update {}: {}. {}. Lower --lr or --clip, or raise --warmup",
                                  trained.optimizer.updates() + 1, failed.what(), origin));
}

UpdateReport HostUpdate::update(std::span<const PairBatch> batches) {
    try {
        UpdateReport report = sum_gradients(trained_, batches);
        const optim::StepOptions step = trained_.step();
        report.learning_rate = step.lr;
        report.gradient_norm = trained_.optimizer.step(step);
        return report;
    } catch (const optim::NotFinite& failed) {
        throw divergence(trained_, batches, failed);
    }
}

}  // namespace heddle::app
