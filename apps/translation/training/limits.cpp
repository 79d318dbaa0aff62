#include "apps/translation/training/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/text.h"

namespace heddle::app {
namespace {

// `what` is "epoch" or "update", and the option is called after it.
TrainingEnd end_of_count(EndReason reason, const char* what, std::int64_t now, std::int64_t limit) {
    return {.reason = reason,
            .limit = fmt::format("{} {}s", limit, what),
            .already = fmt::format("the run is already at {0} {1}, {2} --{0}s {3}; a larger --{0}s goes on", what, now,
                                   now > limit ? "which is more than" : "the last of", limit)};
}

}  // namespace

std::optional<TrainingEnd> training_end(const TrainingOptions& options, const TrainingState& state, double seconds) {
    if (options.updates && state.updates >= *options.updates)
        return end_of_count(EndReason::updates, "update", state.updates, *options.updates);
    if (options.minutes && seconds >= 60 * *options.minutes)
        return TrainingEnd{.reason = EndReason::minutes,
                           .limit = fmt::format("{} minutes", *options.minutes),
                           .already = fmt::format("the run has already trained for {}, and --minutes is {}; a larger one goes on",
                                                  duration_text(seconds), *options.minutes)};
    if (options.epochs && state.epoch_is_over() && state.epoch >= *options.epochs)
        return end_of_count(EndReason::epochs, "epoch", state.epoch, *options.epochs);
    if (options.patience > 0 && state.validations_since_best >= options.patience) {
        const std::string limit = fmt::format("{} validations without a better loss", state.validations_since_best);
        return TrainingEnd{.reason = EndReason::patience,
                           .limit = limit,
                           .already = fmt::format("the run has already had {}, and --patience is {}; a larger one goes on", limit,
                                                  options.patience)};
    }
    return {};
}

std::string warmup_note(const optim::Schedule& schedule, std::int64_t updates) {
    const bool rises = schedule.kind != optim::ScheduleKind::constant && schedule.lr > 0;
    if (!rises || updates == 0 || updates >= schedule.warmup) return {};
    return fmt::format(
        "the learning rate rises to {:.2g} % of its peak only: {} of {} updates of warm-up; train longer, or lower --warmup, to "
        "{} for example",
        100 * static_cast<double>(updates) / static_cast<double>(schedule.warmup), grouped_text(updates),
        grouped_text(schedule.warmup), std::max<std::int64_t>(1, updates / 10));
}

double seconds_left(const TrainingOptions& options, const TrainingState& state, double seconds) {
    double least = std::numeric_limits<double>::infinity();
    const auto after = [&](double done) { least = std::min(least, seconds * (1 - done) / std::max(done, 1e-9)); };
    const double epoch_done = static_cast<double>(state.batches) / static_cast<double>(state.epoch_batches);
    if (options.epochs) after((static_cast<double>(state.epoch - 1) + epoch_done) / static_cast<double>(*options.epochs));
    if (options.updates) after(static_cast<double>(state.updates) / static_cast<double>(*options.updates));
    if (options.minutes) least = std::min(least, 60 * *options.minutes - seconds);
    return std::max(0.0, least);
}

}  // namespace heddle::app
