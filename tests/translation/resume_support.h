// Helpers for the tests of resumed runs: a run with many features, in a folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/translation/training_support.h"

namespace heddle::app {

// Dropout, several batches per update, saves within epochs, an average, and a patience that ends the run.
inline TrainingOptions eventful_training() {
    TrainingOptions options = tiny_training();
    options.batch_tokens = 60;
    options.accumulate = 2;
    options.average = 2;
    options.valid_every = 3;
    options.valid_sentences = 2;
    options.save_every = 1;
    options.log_every = 2;
    options.keep = 1000;
    options.patience = 3;
    options.epochs = 12;
    return options;
}

// The same without patience, for this many updates.
inline TrainingOptions training_of_updates(std::int64_t updates) {
    TrainingOptions options = eventful_training();
    options.patience = 0;
    options.epochs.reset();
    options.updates = updates;
    return options;
}

inline std::vector<std::string> translate_nothing(const nn::Transformer&, const std::vector<std::string>& lines) { return lines; }

struct Ended {
    TrainingResult result;
    std::vector<double> weights;
};

// Trains in `path`, from its newest save if there is one.
inline Ended train_in(const std::filesystem::path& path, const TrainingData& data, const TrainingOptions& options,
                      std::function<bool()> stop = {}) {
    nn::Transformer model(tiny_model(data, 0.1));
    const RunFolder folder = std::filesystem::exists(path / "config.toml") ? RunFolder::reopen(path) : RunFolder(path, false);
    folder.write_config("\n");
    TrainingLog log(folder.log(), true);
    Trainer trainer(model, data, options, log, &folder, translate_nothing);
    if (const std::filesystem::path save = latest_save(path); !save.empty()) trainer.resume(save);
    trainer.stop_when(std::move(stop));
    Ended ended{trainer.run(), {}};
    ended.weights = trainer.learner().parameters().values.to_vector();
    return ended;
}

}  // namespace heddle::app
