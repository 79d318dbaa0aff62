// From options to a model, and from a run's folder back to both.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "apps/translation/run/weights_file.h"
#include "apps/translation/training/options.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "nn/transformer.h"

namespace heddle::app {

/// Error unless the file has as many elements as a model of these options needs; call it before allocating the model.
void check_model_size(const nn::TransformerOptions& options, const SafetensorsFile& weights);

/// The settings in RUN/config.toml, resolved. Error when heddle train did not make RUN.
TrainSettings read_settings(const std::filesystem::path& run);

/// What the weights of a run belong to: the options of its model, as TOML lines, and the vocabularies in its folder.
ModelIdentity model_identity(const TrainSettings& settings, const std::filesystem::path& run);

/// A trained model with all that is needed to use it.
struct Run {
    TrainSettings settings;
    Vocabularies vocabularies;
    std::unique_ptr<nn::Transformer> model;  ///< in evaluation mode
};

/// The file of the weights in a run's folder: "model.safetensors", "best.safetensors", or in a save,
/// "saves/880/model.safetensors". Error when there is no save of the end of the epoch.
std::string weights_file(const WeightsChoice& weights, const std::filesystem::path& run);

/// Opens the run's folder. `weights` is a file in it, as weights_file() names it. Error that names
/// what is missing or does not fit. The model lies where `machine` says, in its dtype.
Run open_run(const std::filesystem::path& run, const std::string& weights = "model.safetensors",
             const MachineOptions& machine = {});

/// characters_per_token() of the run's training text, for FarText; nothing where no save has it.
std::optional<double> source_characters_of(const std::filesystem::path& run);

/// "runs/first: de to en, 2,187,904 parameters, update 4,400 (epoch 12)", for messages; unknown parts are omitted.
std::string description(const std::filesystem::path& run, const Run& opened, const WeightsChoice& weights);

}  // namespace heddle::app
