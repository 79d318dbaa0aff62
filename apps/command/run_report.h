// Writes RUN/report.html when a training ends, successfully or not.
#pragma once

#include <string>

#include "apps/command/commands.h"
#include "apps/translation/training/options.h"
#include "apps/translation/training/trainer.h"

namespace heddle::app {

/// The arguments and circumstances of a training's start.
struct TrainingStart {
    Arguments arguments;  ///< the arguments of `heddle train`
    const TrainSettings& settings;
    const TrainingData& data;
};

/// Writes the report: how the training ended, curves of the whole run, the attention of a sample, and the time of an update,
/// measured now. Leaves the model in evaluation mode, with its weights unchanged. Failures are only logged: a report must not
/// cost a run.
void write_run_report(const RunFolder& folder, const TrainingStart& start, const Trainer& trainer, nn::Transformer& model,
                      TrainingLog& log, const std::string& ended);

}  // namespace heddle::app
