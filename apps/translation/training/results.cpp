#include "apps/translation/training/results.h"

#include <fmt/format.h>

#include "core/text.h"

namespace heddle::app {

std::string how_it_ended(const TrainingResult& result) {
    if (!result.nothing_to_train.empty()) return "nothing to train: " + result.nothing_to_train;
    // A limit of updates counts them already.
    const std::string updates =
        result.ended_by == EndReason::updates ? "" : fmt::format(": {} updates", grouped_text(result.updates));
    const std::string skipped = result.skipped == 0 ? "" : fmt::format(", {} skipped", result.skipped);
    return fmt::format("ended after {}{}{} in {}", result.limit, updates, skipped, duration_text(result.seconds));
}

}  // namespace heddle::app
