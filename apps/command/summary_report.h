// The output of `heddle summary`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nn/summary.h"

namespace heddle::app {

/// A line per module down to `depth` below the first one, the totals, and torchinfo's count beside the actual one.
std::string summary_table(const nn::ModelSummary& summary, const nn::SummaryBatch& batch, std::optional<std::int64_t> depth);
/// The summary as one JSON object: "input", "modules", "total", "torchinfo"; bytes and counts unrounded.
std::string summary_json(const nn::ModelSummary& summary, const nn::SummaryBatch& batch, std::optional<std::int64_t> depth);

}  // namespace heddle::app
