// What `heddle summary` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nn/summary.h"

namespace heddle::app {

/// A line for each module down to `depth` below the first one, the totals, and torchinfo's count beside the true one.
std::string summary_table(const nn::ModelSummary& summary, const nn::SummaryBatch& batch, std::optional<std::int64_t> depth);
/// The same as one JSON object: "input", "modules", "total", "torchinfo"; bytes and counts unrounded.
std::string summary_json(const nn::ModelSummary& summary, const nn::SummaryBatch& batch, std::optional<std::int64_t> depth);

/// Parameters of one head's query, key and value.
struct HeadCount {
    std::int64_t projected = 0;  ///< three projections of all columns: 3 (d_model width + width)
    std::int64_t written = 0;    ///< what the write-up behind "explained" counts: 3 (width d_model + d_model), three layers from
                                 ///< the head's own columns to all of them, so that each bias is d_model wide
};
HeadCount explained_head(std::int64_t d_model, std::int64_t width);
/// How many parameters the write-up behind the preset "explained" counts for a head of this model, and how many there are.
std::string explained_note(const nn::TransformerOptions& model);

}  // namespace heddle::app
