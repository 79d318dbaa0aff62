// RUN/report.html: how a run went, on one page that needs no other file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/picture/page.h"
#include "apps/translation/attention.h"
#include "apps/translation/batches.h"
#include "apps/translation/training_history.h"
#include "autograd/op_times.h"

namespace heddle::app {

/// Times of forward and backward over some batches.
struct OpMeasurement {
    std::vector<OpTime> ops;  ///< the longest first
    double seconds = 0;       ///< of all ops together
    std::int64_t batches = 0;
};

/// Runs the loss of these batches forward and backward in training mode until all are done or two seconds are over; the first one
/// runs once before, uncounted. Adds to the model's gradients, and leaves its weights and its mode as they were.
OpMeasurement measure_ops(nn::Transformer& model, std::span<const Batch> batches, double label_smoothing);

/// A translation to look into.
struct LookedAt {
    std::string source;
    std::string translation;
    TranslationAttention attention;
};

/// What a report says beside the run's history. What could not be had is left out, and `remarks` say why.
struct ReportParts {
    std::string command;  ///< "heddle train --task copy --out RUN"
    std::string version;  ///< "heddle 0.1.0 (a160b23c4d5e)"
    std::string config;   ///< config.toml
    std::string machine;  ///< what computed
    OpMeasurement ops = {};
    std::vector<LookedAt> looked_at = {};
    std::vector<std::string> remarks = {};
};

/// Curves of loss, accuracy, BLEU and rate, samples over time, attention, op times, command, version and configuration.
picture::Page training_report(std::string_view run, const TrainingHistory& history, const ReportParts& parts);

}  // namespace heddle::app
