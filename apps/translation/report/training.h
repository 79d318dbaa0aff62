// RUN/report.html: the course of a run on one page that needs no other file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/picture/page.h"
#include "apps/translation/decoding/attention.h"
#include "apps/translation/training/history.h"
#include "apps/translation/training/update_times.h"

namespace heddle::app {

/// A translation whose attention is shown.
struct LookedAt {
    std::string source;
    std::string translation;
    TranslationAttention attention;
    std::vector<DecodingStep> steps;
};

/// The contents of a report besides the run's history. Missing parts are omitted, and `remarks` explain why.
struct ReportParts {
    std::string command;                                 ///< "heddle train --task copy --out RUN"
    std::string version;                                 ///< "heddle 0.1.0 (a160b23c4d5e)"
    std::string config;                                  ///< config.toml
    std::string machine;                                 ///< the processor or device
    std::string ended = {};                              ///< how and why
    std::string data = {};                               ///< "2,187,904 parameters; 29,000 pairs to learn from"
    std::optional<IntervalReport> since_last_line = {};  ///< the updates after the last log line
    UpdateTimes times = {};
    std::vector<LookedAt> looked_at = {};
    std::vector<std::string> remarks = {};
};

/// The page: how the run ended, curves of loss, accuracy, BLEU or chrF, exact translations and rate, samples over time,
/// attention, the time of an update op by op, command, version and configuration.
picture::Page training_report(std::string_view run, const TrainingHistory& history, const ReportParts& parts);

}  // namespace heddle::app
