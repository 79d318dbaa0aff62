// One save of a run: a folder from which training continues as if it had never stopped.
//
//     saves/<update>/model.safetensors     the weights
//                    moments.safetensors   the optimizer's moments
//                    average.safetensors   the weights that the average is made of, oldest first: "0.encoder...", "1.encoder..."
//                    best.safetensors      the weights of the best validation
//                    state.json            TrainingState
#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <thread>
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

/// Saves in the background: training continues while a save is written and synced. Runs one job at a time on a separate thread.
class SaveWriter {
  public:
    SaveWriter() = default;
    /// Waits; errors of the last job are lost, so call wait() first.
    ~SaveWriter();
    SaveWriter(const SaveWriter&) = delete;
    SaveWriter& operator=(const SaveWriter&) = delete;

    /// Waits for the previous job and rethrows its exception, then starts this one.
    void start(std::function<void()> job);
    /// Rethrows what a job that has ended threw; returns at once while one is running.
    void check_ended();
    /// Waits for the end of the job and rethrows what it threw.
    void wait();

  private:
    std::thread thread_;
    std::atomic<bool> ended_{true};
    std::exception_ptr error_;
};

}  // namespace heddle::app
