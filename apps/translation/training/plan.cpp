#include "apps/translation/training/plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "apps/translation/training/validation.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

constexpr std::int64_t validation_batch_tokens = 3000;

BatchLimits options_of_validation(const nn::Transformer& model, const TrainingData& data) {
    return validation_options(model, validation_batch_tokens, data.validation_names.text);
}

std::int64_t groups(std::int64_t batches, std::int64_t size) { return batches / size + (batches % size == 0 ? 0 : 1); }

// "1,500 tokens", "512 sentences".
std::string batch_limit(const TrainingOptions& options) {
    const std::string tokens = grouped_text(options.batch_tokens) + " tokens",
                      sentences = grouped_text(options.batch_sentences) + " sentences";
    if (options.batch_sentences == 0) return tokens;
    return options.batch_tokens == 0 ? sentences : sentences + " and " + tokens;
}

}  // namespace

BatchLimits batch_limits(const TrainingOptions& options) {
    return {.batch_tokens = options.batch_tokens,
            .batch_sentences = options.batch_sentences,
            .max_length = options.max_length,
            .max_words = options.max_words};
}

std::vector<std::string> plan_notes(const PlanCounts& counts, std::int64_t batches, const TrainingOptions& options,
                                    std::optional<std::int64_t> table, std::string_view unit) {
    const std::int64_t left_out = counts.too_long + counts.too_wide;
    std::vector<std::string> notes = {
        fmt::format("training: {} {}, {} batches of up to {} an epoch ({} {} too long, {} empty are left out)",
                    grouped_text(counts.sentences), unit, grouped_text(batches), batch_limit(options), grouped_text(left_out),
                    unit, grouped_text(counts.empty))};
    const std::int64_t all = counts.sentences + left_out + counts.empty;
    const auto warn = [&](std::int64_t pairs, const std::string& limit) {
        if (10 * pairs > all)
            notes.push_back(fmt::format("warning: {} of {} {} are longer than {}, and are not trained on", grouped_text(pairs),
                                        grouped_text(all), unit, limit));
    };
    std::vector<std::string> limits;
    if (table && (options.max_length == 0 || *table < options.max_length))
        limits.push_back(fmt::format("--position-table allows, {} tokens", *table));
    else if (options.max_length > 0)
        limits.push_back(fmt::format("--max-length {}", options.max_length));
    if (options.max_words > 0) limits.push_back(fmt::format("--max-words {}", options.max_words));
    warn(counts.too_long, fmt::format("{}", fmt::join(limits, " or ")));
    warn(counts.too_wide, fmt::format("a batch of --batch-tokens {}", options.batch_tokens));
    return notes;
}

TrainingPlan plan_training(const nn::Transformer& model, const TrainingData& data, const TrainingOptions& options) {
    const std::int64_t table = model.options().longest_sentence().value_or(options.max_length);
    BatchLimits limits = batch_limits(options);
    limits.text = data.training_names.text;
    limits.without_source = model.options().decoder_only;
    limits.max_length = options.max_length == 0 ? table : std::min(options.max_length, table);
    TrainingPlan plan{.training = BatchStream(data.pairs(), limits, options.seed, 1, data.windows), .validation = {}};
    if (!data.validation.empty()) plan.validation = plan_batches(data.validation, options_of_validation(model, data), 0, 0);
    return plan;
}

std::string validation_note(const nn::Transformer& model, const TrainingData& data, const PlanCounts& counts) {
    const auto all = static_cast<std::int64_t>(data.validation.size());
    if (counts.sentences == all) return {};
    return fmt::format("{}: {} of {} {} are not in the validation loss: {}", data.validation_names.text,
                       grouped_text(all - counts.sentences), grouped_text(all), model.options().decoder_only ? "lines" : "pairs",
                       left_out_text(counts, options_of_validation(model, data)));
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
