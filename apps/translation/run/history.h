// What log.jsonl says of a run, from its first update on: a run that was resumed is one run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/translation/run/log.h"

namespace heddle::app {

struct TrainingHistory {
    std::vector<IntervalReport> intervals;
    std::vector<ValidationReport> validations;  ///< `averaged` is 1 or more where the averaged weights were validated
    std::vector<std::string> notes;
};

/// Reads the file. Numbers that JSON has no word for (NaN) are null there and NaN here. Lines that are no whole object, as a
/// crash may leave one, are passed over, and so are kinds that are not known. Error when the file cannot be read.
TrainingHistory read_history(const std::filesystem::path& log);

}  // namespace heddle::app
