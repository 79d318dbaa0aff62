// What `heddle train` does before a run starts: completing the options, checking them, reading the text, making the model.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command/commands.h"
#include "apps/command/train.h"
#include "apps/options/option_table.h"
#include "apps/translation/distributed/ranks.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/training/auto_packed_text.h"
#include "apps/translation/training/data.h"
#include "apps/translation/training/options.h"
#include "apps/translation/training/plan.h"
#include "nn/transformer.h"

namespace heddle::app {

/// One call of `heddle train`.
struct TrainCall {
    Arguments arguments;
    OptionTable& table;
    TrainSettings& settings;
    Ranks* ranks;  ///< null: one process
    Say say;
    const TrainWatch* watch = nullptr;  ///< null: nobody watches

    bool resumes() const { return !settings.data.resume.empty(); }
};

/// All that a training needs, read and checked.
struct CheckedRun {
    std::string path;                        ///< of its folder
    std::optional<RunFolder> folder;         ///< of a resumed run; that of a new one is made once training starts
    std::filesystem::path save;              ///< to continue from; empty: none
    std::vector<std::string> changes;        ///< of the options since that save
    std::optional<SafetensorsFile> weights;  ///< to begin with; nothing: new ones
    Corpus test;                             ///< of a task
    std::unique_ptr<AutoPackedText> packed;  ///< the text, where this process has written it
    TrainingData data;
    std::unique_ptr<nn::Transformer> model;
    std::optional<TrainingPlan> plan;
    std::string sharing;  ///< how ranks share the updates; empty for one process
};

/// UsageError for combinations that have no effect, whatever a preset or the resumed run sets.
void check_together(const DataOptions& data);
/// Makes all checks of a run. Nothing is written, except that a text too large to be held is packed (it goes away with the result
/// unless the run starts). Errors of all that it reads; UsageError for options that do not go together.
CheckedRun check_run(const TrainCall& call);
/// The weights that a run begins with, from a save or another run: opened, with their digest checked. Nothing where they are new.
std::optional<SafetensorsFile> first_weights(const TrainSettings& settings, const std::filesystem::path& save);

}  // namespace heddle::app
