// RUN/report.html of a training that has just ended, successfully or not.
#pragma once

#include <string>

#include "apps/command/commands.h"
#include "apps/translation/training/options.h"
#include "apps/translation/training/trainer.h"

namespace heddle::app {

/// What a training was started with.
struct TrainingStart {
    Arguments arguments;  ///< the arguments of `heddle train`
    const TrainSettings& settings;
    const TrainingData& data;
};

/// Writes the report: how the training ended, curves of the whole run, the attention of a sample, and the time of an update,
/// measured now. The model's weights are unchanged, and it is left in evaluation mode. Failures go to the log: a report
/// must not cost a run.
void write_run_report(const RunFolder& folder, const TrainingStart& start, const Trainer& trainer, nn::Transformer& model,
                      TrainingLog& log, const std::string& ended);

}  // namespace heddle::app
