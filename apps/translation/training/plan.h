// Which batches a training goes through.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/batching/batch_stream.h"
#include "apps/translation/training/data.h"
#include "apps/translation/training/options.h"
#include "nn/transformer.h"

namespace heddle::app {

/// The limits of batches that the options set.
BatchLimits batch_limits(const TrainingOptions& options);

/// What a training goes through.
struct TrainingPlan {
    BatchStream training;  ///< from the first epoch on. Sentences that a table of learned positions cannot number are left out
                           ///< like those above --max-length
    BatchPlan validation;  ///< the same at every validation; empty without validation pairs
};

/// Plans both. Error when no training pair, or none of the validation pairs there are, can be used: worth knowing before a folder
/// is made.
TrainingPlan plan_training(const nn::Transformer& model, const TrainingData& data, const TrainingOptions& options);

/// What a training says of its first epoch: the counts, and a warning if a limit leaves out more than a tenth of the pairs.
/// `table`: the sentences that learned positions can number, if the model has them. `unit`: what the text consists of.
std::vector<std::string> plan_notes(const PlanCounts& counts, std::int64_t batches, const TrainingOptions& options,
                                    std::optional<std::int64_t> table, std::string_view unit = "pairs");

/// A note on the pairs that validation leaves out, empty if there are none: "--valid corpus/val: 2 of 202 pairs are not in the
/// validation loss: 1 with an empty side, ...".
std::string validation_note(const nn::Transformer& model, const TrainingData& data, const PlanCounts& counts);

/// The updates until the limits of the options end a training with so many batches an epoch; 0 when nobody knows. Epochs that are
/// planned in several windows differ by a few batches: with --epochs this is then an estimate, made from the first of them.
std::int64_t planned_updates(const TrainingOptions& options, std::int64_t batches_per_epoch);

}  // namespace heddle::app
