#include "apps/translation/training/plan.h"

#include <algorithm>
#include <limits>

#include "apps/translation/training/validation.h"

namespace heddle::app {
namespace {

constexpr std::int64_t validation_batch_tokens = 3000;

std::int64_t groups(std::int64_t batches, std::int64_t size) { return batches / size + (batches % size == 0 ? 0 : 1); }

}  // namespace

BatchOptions batch_options(const TrainingOptions& options) {
    return {.batch_tokens = options.batch_tokens,
            .batch_sentences = options.batch_sentences,
            .max_length = options.max_length,
            .max_words = options.max_words};
}

EpochPlan plan_epoch(const nn::Transformer& model, const TrainingData& data, const TrainingOptions& options, std::int64_t epoch) {
    const std::int64_t table = model.options().longest_sentence().value_or(options.max_length);
    BatchOptions wanted = batch_options(options);
    wanted.max_length = options.max_length == 0 ? table : std::min(options.max_length, table);
    return EpochPlan(data.pairs(), wanted, options.seed, static_cast<std::uint64_t>(epoch), data.windows);
}

TrainingPlan plan_training(const nn::Transformer& model, const TrainingData& data, const TrainingOptions& options) {
    TrainingPlan plan{.epoch = plan_epoch(model, data, options, 1), .validation = {}};
    if (!data.validation.empty()) plan.validation = plan_validation(model, data.validation, validation_batch_tokens);
    return plan;
}

std::int64_t planned_updates(const TrainingOptions& options, std::int64_t batches_per_epoch) {
    if (!options.epochs && !options.updates) return 0;
    constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();
    const std::int64_t per_epoch = groups(batches_per_epoch, options.accumulate);
    // No more than 64 bits can count.
    const std::int64_t by_epochs = options.epochs ? std::min(*options.epochs, unlimited / per_epoch) * per_epoch : unlimited;
    return std::min(by_epochs, options.updates.value_or(unlimited));
}

}  // namespace heddle::app
