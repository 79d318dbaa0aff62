// Resuming a run from an earlier save than its last, and what happens to the later weights.
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/safetensors.h"
#include "tests/support.h"
#include "tests/translation/resume_support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

// A trainer that resumes from the given save.
struct ResumedTrainer {
    explicit ResumedTrainer(const fs::path& path, const TrainingData& data, std::int64_t update)
        : model(tiny_model(data, 0.1)),
          folder(RunFolder::reopen(path)),
          log(folder.log(), true),
          trainer(model, data, eventful_training(), log, &folder, translate_nothing) {
        trainer.resume(save_folder(path, update));
    }
    nn::Transformer model;
    RunFolder folder;
    TrainingLog log;
    Trainer trainer;
};

void expect_same_tensors(const fs::path& file, const fs::path& wanted, const std::string& prefix = "") {
    const SafetensorsFile one(file), other(wanted);
    std::size_t compared = 0;
    for (const std::string& name : one.names()) {
        EXPECT_EQ(one.load(name).to_vector(), other.load(prefix + name).to_vector()) << file << ": " << name;
        ++compared;
    }
    EXPECT_GT(compared, 10u);
}

TEST(ResumeEarlierSave, RenamesTheWeightsThatItDiscards) {
    const TrainingData data = worsening_data(40, 6);
    const TemporaryFolder here;
    const fs::path whole = here / "whole", run = here / "run";
    const Ended reference = train_in(whole, data, eventful_training());
    const std::string last = std::to_string(saved_updates(whole).back());
    const fs::path model_aside = run / ("model-" + last + ".safetensors"), best_aside = run / ("best-" + last + ".safetensors");
    // Validations are at 3, 6, ...: the save of update 2 precedes the first one, that of update 5 does not.
    for (const std::int64_t update : {2, 5})
        for (const bool interrupted : {false, true}) {
            SCOPED_TRACE("back to update " + std::to_string(update) + (interrupted ? " after an interruption" : ""));
            fs::copy(whole, run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
            if (interrupted) fs::rename(run / "model.safetensors", model_aside);
            ResumedTrainer back(run, data, update);
            EXPECT_EQ(read_file(model_aside), read_file(whole / "model.safetensors"));
            EXPECT_EQ(read_file(best_aside), read_file(whole / "best.safetensors"));
            const fs::path save = save_folder(run, update);
            if (update == 2) {
                EXPECT_FALSE(fs::exists(run / "best.safetensors")) << "nothing was validated yet";
                expect_same_tensors(run / "model.safetensors", save / "model.safetensors");
            } else {
                expect_same_tensors(run / "best.safetensors", save / "best.safetensors");
                expect_same_tensors(run / "model.safetensors", save / "average.safetensors", "0.");
            }
            back.trainer.run();
            for (const char* file : {"model.safetensors", "best.safetensors"})
                EXPECT_EQ(read_file(run / file), read_file(whole / file)) << file;
            EXPECT_EQ(read_file(model_aside), read_file(whole / "model.safetensors")) << "it stays";
            fs::remove_all(run);
        }
    // Resuming from the last save renames nothing.
    fs::copy(whole, run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const ResumedTrainer on(run, data, saved_updates(whole).back());
    EXPECT_FALSE(fs::exists(model_aside));
    EXPECT_EQ(read_file(run / "best.safetensors"), read_file(whole / "best.safetensors"));
}

TEST(ResumeEarlierSave, SaysWhyThereIsNothingToTrain) {
    const TrainingData data = copy_data(40, 6);
    const TemporaryFolder here;
    const fs::path run = here / "run";
    TrainingOptions options = eventful_training();
    options.patience = 0;
    options.epochs = 3;
    const Ended first = train_in(run, data, options);
    EXPECT_EQ(first.result.limit, "3 epochs");
    EXPECT_EQ(first.result.nothing_to_train, "") << "it was trained";
    EXPECT_EQ(train_in(run, data, options).result.nothing_to_train,
              "the run is already at epoch 3, the last of --epochs 3; a larger --epochs goes on");
    options.epochs = 2;
    const Ended again = train_in(run, data, options);
    EXPECT_EQ(again.result.nothing_to_train,
              "the run is already at epoch 3, which is more than --epochs 2; a larger --epochs goes on");
    EXPECT_EQ(again.weights, first.weights);
    const std::string log = read_file(run / "log.jsonl");
    EXPECT_NE(log.find("\"nothing to train: " + again.result.nothing_to_train + "\""), std::string::npos) << log;
    options.updates = 1;
    EXPECT_EQ(train_in(run, data, options).result.nothing_to_train.substr(0, 28), "the run is already at update");
    options.updates.reset();
    options.minutes = 1e-9;
    EXPECT_EQ(train_in(run, data, options).result.nothing_to_train.substr(0, 28), "the run has already trained ");
    options.minutes.reset();
    options.epochs = 4;
    EXPECT_EQ(train_in(run, data, options).result.nothing_to_train, "");
}

}  // namespace
}  // namespace heddle::app
