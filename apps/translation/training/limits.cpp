#include "apps/translation/training/limits.h"
#include "apps/translation/text/number_text.h"

#include <fmt/format.h>

namespace heddle::app {
namespace {

// `what` is "epoch" or "update", and the option is called after it.
TrainingEnd end_of_count(const char* what, std::int64_t now, std::int64_t limit) {
    return {.limit = fmt::format("{} {}s", limit, what),
            .already = fmt::format("the run is already at {0} {1}, {2} --{0}s {3}; a larger --{0}s goes on", what, now,
                                   now > limit ? "which is more than" : "the last of", limit)};
}

}  // namespace

std::optional<TrainingEnd> training_end(const TrainingOptions& options, const TrainingState& state, double seconds) {
    if (options.updates && state.updates >= *options.updates) return end_of_count("update", state.updates, *options.updates);
    if (options.minutes && seconds >= 60 * *options.minutes)
        return TrainingEnd{.limit = fmt::format("{} minutes", *options.minutes),
                           .already = fmt::format("the run has already trained for {}, and --minutes is {}; a larger one goes on",
                                                  duration_text(seconds), *options.minutes)};
    if (options.epochs && state.epoch_is_over() && state.epoch >= *options.epochs)
        return end_of_count("epoch", state.epoch, *options.epochs);
    if (options.patience > 0 && state.validations_since_best >= options.patience) {
        const std::string limit = fmt::format("{} validations without a better loss", state.validations_since_best);
        return TrainingEnd{.limit = limit,
                           .already = fmt::format("the run has already had {}, and --patience is {}; a larger one goes on", limit,
                                                  options.patience)};
    }
    return {};
}

}  // namespace heddle::app
