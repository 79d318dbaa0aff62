// The history of a run as read from log.jsonl, from its first update on; resuming does not start a new one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/translation/training/log.h"

namespace heddle::app {

struct TrainingHistory {
    std::vector<IntervalReport> intervals;
    std::vector<ValidationReport> validations;  ///< `averaged` is 1 or more if the averaged weights were validated
    std::vector<std::string> notes;
};

/// Reads the file. NaN, which JSON writes as null, is read as NaN. Incomplete lines, as a crash may leave, and unknown kinds are
/// skipped. Error when the file cannot be read.
TrainingHistory read_history(const std::filesystem::path& log);

}  // namespace heddle::app
