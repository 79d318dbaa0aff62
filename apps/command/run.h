// Makes a model from options, and reads a model and its options back from a run's folder, or several that translate together.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/translation/run/weights_file.h"
#include "apps/translation/training/options.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "nn/search/ensemble.h"
#include "nn/transformer.h"

namespace heddle::app {

/// Error unless the file has as many elements as a model of these options needs; call it before allocating the model.
void check_model_size(const nn::TransformerOptions& options, const SafetensorsFile& weights);

/// The settings in RUN/config.toml, resolved. Error when heddle train did not make RUN.
TrainSettings read_settings(const std::filesystem::path& run);

/// Error, with the run's name, when the model's languages share an embedding, but number their tokens differently.
void check_numbering(const nn::TransformerOptions& model, const Vocabularies& vocabularies, const std::filesystem::path& run);

/// UsageError, for this command, when the run is a language model, which translates nothing.
void check_translates(const std::string& command, const std::filesystem::path& run);
/// UsageError, for this command, unless the run is a language model.
void check_writes_text(const std::string& command, const std::filesystem::path& run);

/// The identity of a run's weights: its model's options as TOML lines, and the vocabularies in its folder.
ModelIdentity model_identity(const TrainSettings& settings, const std::filesystem::path& run);

/// A trained model with everything needed to use it.
struct Run {
    TrainSettings settings;
    Vocabularies vocabularies;
    std::unique_ptr<nn::Transformer> model;  ///< in evaluation mode
};

/// The path of the chosen weights in a run's folder: "model.safetensors", "best.safetensors", or a save's
/// "saves/880/model.safetensors". Error when there is no save of the end of the epoch.
std::string weights_file(const WeightsChoice& weights, const std::filesystem::path& run);

/// Opens the run's folder. `weights` is a file in it, as named by weights_file(). The model is on the device and in the dtype of
/// `machine`. Error that names what is missing or does not fit.
Run open_run(const std::filesystem::path& run, const std::string& weights = "model.safetensors",
             const MachineOptions& machine = {});

/// "runs/first: de to en, 2,187,904 parameters, update 4,400 (epoch 12)", for messages; unknown parts are omitted.
std::string description(const std::filesystem::path& run, const Run& opened, const WeightsChoice& weights);

/// Trained models with one vocabulary.
struct EnsembleRun {
    std::vector<Run> runs;

    const Vocabularies& vocabularies() const { return runs.front().vocabularies; }
    nn::Ensemble models() const;
};

/// Opens each run's folder (at least one). Error as open_run, and when the runs' vocabularies are not equal byte for byte: it
/// names the first difference.
EnsembleRun open_ensemble(const std::vector<std::string>& runs, const WeightsChoice& weights, const MachineOptions& machine);

/// The difference between two vocabularies, in words for an error; empty if they are equal.
std::string vocabulary_difference(const Vocabulary& one, const Vocabulary& other);

}  // namespace heddle::app
