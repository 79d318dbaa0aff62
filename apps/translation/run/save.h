// One save of a run: a folder from which training continues as if it had never stopped.
//
//     saves/<update>/model.safetensors     the weights
//                    moments.safetensors   the optimizer's moments
//                    average.safetensors   the weights that the average is made of, oldest first: "0.encoder...", "1.encoder..."
//                    best.safetensors      the weights of the best validation
//                    state.json            TrainingState
#pragma once

#include <filesystem>
#include <vector>

#include "apps/translation/run/state.h"
#include "apps/translation/run/weights_file.h"

namespace heddle::app {

struct Save {
    TrainingState state;
    nn::NamedTensors weights;
    nn::NamedTensors moments;
    std::vector<nn::NamedTensors> averaged;
    nn::NamedTensors best;  ///< empty before the first validation
};

/// Writes the files into `folder`, which must exist; they are on the disk when this returns.
void write_save(const std::filesystem::path& folder, const Save& save, const ModelIdentity& identity);

/// Reads only the state. Error when it is missing or damaged.
TrainingState read_state(const std::filesystem::path& folder);

/// Error unless the save's file of averaged weights has the elements of `count` sets of such weights, as its state says. Called
/// before memory for them is allocated.
void check_averaged(const std::filesystem::path& folder, std::int64_t count, const nn::NamedTensors& weights);

/// Fills the tensors of `into`, whose lists must have the names and numbers given by read_state(). Error when a file is missing,
/// damaged, of another model or of another save. `weights`: the save's model.safetensors if open_weights() has already opened
/// it.
void read_save(const std::filesystem::path& folder, const Save& into, const ModelIdentity& identity,
               const SafetensorsFile* weights = nullptr);

}  // namespace heddle::app
