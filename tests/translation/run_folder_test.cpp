// The files of a training run.
#include "apps/translation/run/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "core/file.h"
#include "core/safetensors.h"
#include "tests/support.h"
#include "tests/translation/training_support.h"

namespace heddle::app {
namespace {

class RunFolderTest : public testing::Test {
  protected:
    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_ / "run";
};

// A run that ends while it still learns fast. Resuming it when nothing is left to train gives the same weights.
TEST_F(RunFolderTest, HoldsTheLastWeightsWhereTheirLossIsLowerThanThatOfTheAverage) {
    const TrainingData data = copy_data(60, 10);
    TrainingOptions options = tiny_training();
    options.epochs = 3;
    options.average = 2;
    for (const bool resumed : {false, true}) {
        nn::Transformer model(tiny_model(data));
        std::optional<ValidationReport> result;
        {
            const RunFolder folder = resumed ? RunFolder::reopen(path_) : RunFolder(path_, false);
            folder.write_config("\n");
            TrainingLog log(folder.log(), true);
            Trainer trainer(model, data, options, log, &folder);
            if (resumed) trainer.resume(latest_save(path_));
            result = trainer.run().result;
        }
        ASSERT_TRUE(result);
        EXPECT_EQ(result->averaged, 0);
        EXPECT_THAT(read_file(path_ / "log.jsonl"), testing::HasSubstr("than the average of 2"));
        const SafetensorsFile kept(path_ / "model.safetensors");
        const SafetensorsFile last(path_ / "saves" / "latest" / "model.safetensors");
        for (const auto& [name, tensor] : model.named_tensors()) {
            EXPECT_EQ(kept.load(name).to_vector(), last.load(name).to_vector()) << name;
            EXPECT_EQ(tensor.to_vector(), last.load(name).to_vector()) << name;
        }
    }
    // After resuming with more to train and stopping at once, the same weights are used.
    const std::string kept = read_file(path_ / "model.safetensors");
    options.epochs = 9;
    nn::Transformer model(tiny_model(data));
    const RunFolder folder = RunFolder::reopen(path_);
    TrainingLog log(folder.log(), true);
    Trainer trainer(model, data, options, log, &folder);
    trainer.resume(latest_save(path_));
    trainer.stop_when([] { return true; });
    EXPECT_EQ(trainer.run().ended_by, EndReason::stopped);
    EXPECT_EQ(read_file(path_ / "model.safetensors"), kept);
}

// The best validation is an early one, so that the last weights, the best ones and the average differ. The translator of the
// validations keeps a copy of its weights.
TEST_F(RunFolderTest, KeepsTheBestWeightsAndTheAverageOfTheLastOnesAndLogsEverything) {
    const TrainingData data = worsening_data(120, 10);
    TrainingOptions options = tiny_training();
    options.updates = 44;
    options.valid_every = 6;
    options.save_every = 20;
    options.log_every = 10;
    options.average = 3;
    options.valid_sentences = 2;
    nn::Transformer model(tiny_model(data));
    std::vector<std::map<std::string, std::vector<double>>> validated;
    const TranslateLines copy_weights = [&](const nn::Transformer& used, const std::vector<std::string>& lines) {
        auto& weights = validated.emplace_back();
        for (const auto& [name, tensor] : used.named_tensors()) weights[name] = tensor.to_vector();
        return lines;
    };
    std::int64_t epochs = 0;
    {
        const RunFolder folder(path_, false);
        TrainingLog log(folder.log(), true);
        epochs = Trainer(model, data, options, log, &folder, copy_weights).run().epochs;
    }
    std::vector<double> losses;
    std::vector<std::int64_t> at;
    std::map<std::string, int> kinds;
    std::ifstream lines(path_ / "log.jsonl");
    for (std::string line; std::getline(lines, line);) {
        const auto object = nlohmann::json::parse(line);
        ++kinds[object["kind"]];
        if (object["kind"] == "note") continue;
        EXPECT_LE(object["epoch"], epochs) << line;
        EXPECT_GE(object["epoch"], 1) << line;
        if (object["kind"] == "training") {
            for (const char* field :
                 {"update", "sentences", "loss", "tokens_per_second", "gradient_norm", "learning_rate", "eta"})
                EXPECT_TRUE(object.contains(field)) << field;
        }
        if (object["kind"] != "validation") continue;
        at.push_back(object["update"]);
        losses.push_back(object["loss"]);
        EXPECT_EQ(object["best"], losses.back() == *std::min_element(losses.begin(), losses.end())) << line;
        for (const char* field : {"perplexity", "accuracy", "bleu", "samples"}) EXPECT_TRUE(object.contains(field)) << field;
    }
    EXPECT_EQ(at, (std::vector<std::int64_t>{6, 12, 18, 24, 30, 36, 42, 44}));
    EXPECT_EQ(kinds["training"], 4);
    EXPECT_EQ(kinds["average"], 1);
    EXPECT_GE(kinds["note"], 2) << "what is read, and why training ended";
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path_ / "saves"), {}), 2) << "one save, and the link to it";
    EXPECT_TRUE(std::filesystem::exists(path_ / "saves" / "44"));

    ASSERT_EQ(validated.size(), 9u) << "eight validations, and one of the average";
    const auto best = static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
    ASSERT_LT(best, 7u) << "the loss must get worse again, or the test shows nothing";
    const SafetensorsFile kept(path_ / "best.safetensors"), averaged(path_ / "model.safetensors");
    for (const auto& [name, weights] : validated[best]) {
        EXPECT_EQ(kept.load(name).to_vector(), weights) << name;
        const std::vector<double> mean = averaged.load(name).to_vector();
        for (std::size_t i = 0; i < mean.size(); ++i)
            ASSERT_NEAR(mean[i], (validated[5][name][i] + validated[6][name][i] + validated[7][name][i]) / 3, 1e-6) << name;
    }
    const SafetensorsFile moments(path_ / "saves" / "latest" / "moments.safetensors");
    for (const auto& [name, tensor] : model.named_tensors()) {
        EXPECT_EQ(averaged.load(name).to_vector(), tensor.to_vector()) << "the model ends with the averaged weights: " << name;
        for (const char* moment : {"first_moment.", "second_moment."}) EXPECT_TRUE(moments.contains(moment + name)) << name;
    }
}

TEST_F(RunFolderTest, IsNotReplacedUnasked) {
    { const RunFolder folder(path_, false); }
    {
        const RunFolder again(path_, false);
        again.write_config("x = 1\n");
        const TrainingLog log(again.log(), true);
        EXPECT_TRUE(std::filesystem::exists(path_ / event_file_name));
        again.write_best({});
    }
    expect_error([&] { RunFolder(path_, false); }, "--overwrite");
    expect_error([&] { RunFolder::check_free(path_, false); }, "to train on from its weights (--init ");
    std::filesystem::create_directory(save_folder(path_, 4));
    expect_error([&] { RunFolder::check_free(path_, false); }, "go on with it (--resume ");
    const std::filesystem::path below_a_file = path_ / "config.toml" / "run";
    expect_error([&] { RunFolder(below_a_file, false); }, "--out " + below_a_file.string() + ": the folder cannot be made: ");
    std::filesystem::create_directories(path_ / "mine");
    for (const char* name : {"model-40.safetensors", "best-40.safetensors", "model-mine.safetensors", "best-.safetensors"})
        std::ofstream(path_ / name) << "x";
    const RunFolder replaced(path_, true);
    EXPECT_FALSE(std::filesystem::exists(path_ / "config.toml"));
    EXPECT_FALSE(std::filesystem::exists(path_ / event_file_name)) << "old curves would go on in the new run's";
    EXPECT_FALSE(std::filesystem::exists(path_ / "model-40.safetensors")) << "put aside when the old run went back";
    EXPECT_FALSE(std::filesystem::exists(path_ / "best-40.safetensors"));
    for (const char* mine : {"mine", "model-mine.safetensors", "best-.safetensors"})
        EXPECT_TRUE(std::filesystem::exists(path_ / mine)) << "files that are not the run's stay: " << mine;
}

// A folder with other people's files, some with the names of a run's files.
TEST_F(RunFolderTest, NeverTakesAFolderOfSomebodyElsesForARun) {
    namespace fs = std::filesystem;
    const std::vector<std::string> others = {"config.toml",    "model.safetensors", "vocab.model",
                                             "vocab.map.json", "all_scalars.json",  "search.toml",
                                             "report.html",    "saves/2024/game",   "saves/3/state.json"};
    for (const std::string& file : others) {
        fs::remove_all(path_);
        fs::create_directories((path_ / file).parent_path());
        std::ofstream(path_ / file) << "mine";
        for (const bool overwrite : {false, true}) {
            const std::string message = error_of([&] { RunFolder(path_, overwrite); });
            EXPECT_NE(message.find("choose another --out"), std::string::npos) << file << ": " << message;
            EXPECT_EQ(error_of([&] { RunFolder::check_free(path_, overwrite); }), message);
        }
        EXPECT_EQ(read_file(path_ / file), "mine");
        EXPECT_EQ(std::distance(fs::recursive_directory_iterator(path_), {}), std::count(file.begin(), file.end(), '/') + 1);
    }
}

TEST_F(RunFolderTest, KnowsARunWithoutTheFirstLineByItsSavesAndOneThatHadOnlyBegunByItsFolder) {
    namespace fs = std::filesystem;
    fs::create_directories(path_ / "saves" / "40");
    std::ofstream(path_ / "config.toml") << "layers = 2\n";
    std::ofstream(path_ / "saves" / "40" / "state.json") << TrainingState().serialized();
    EXPECT_NO_THROW(RunFolder::reopen(path_));
    { const RunFolder replaced(path_, true); }
    EXPECT_FALSE(fs::exists(path_ / "config.toml"));
    EXPECT_TRUE(fs::is_empty(path_ / "saves"));
    std::ofstream(path_ / "vocab.model") << "killed before it wrote its configuration";
    EXPECT_NO_THROW(RunFolder(path_, false));
}

TEST_F(RunFolderTest, ThatLearnedNothingIsBegunAgain) {
    namespace fs = std::filesystem;
    EXPECT_FALSE(RunFolder::learned_nothing(path_));
    const auto begin = [&] {
        const RunFolder folder(path_, false);
        folder.write_config("x = 1\n");
        for (const char* file : {"vocab.tsv", "vocab.map.json"}) std::ofstream(path_ / file) << "old";
        const TrainingLog log(folder.log(), true);
    };
    begin();
    EXPECT_TRUE(RunFolder::learned_nothing(path_));
    EXPECT_NO_THROW(RunFolder::check_can_begin(path_));
    {
        const RunFolder again(path_, false);
        EXPECT_THAT(error_of([&] { RunFolder::check_can_begin(path_); }), testing::HasSubstr("in use: process "));
    }
    for (const char* name : {"config.toml", "vocab.tsv", "vocab.map.json", "log.jsonl", "lock"})
        EXPECT_FALSE(fs::exists(path_ / name)) << name;

    // Not if anything would be lost.
    for (const char* kept : {"model.safetensors", "best.safetensors", "model-40.safetensors", "saves/40/state.json"}) {
        begin();
        fs::create_directories((path_ / kept).parent_path());
        std::ofstream(path_ / kept) << "{}";
        EXPECT_FALSE(RunFolder::learned_nothing(path_)) << kept;
        expect_error([&] { RunFolder(path_, false); }, "holds a run already");
        { const RunFolder replaced(path_, true); }
    }
    begin();
    std::ofstream(path_ / "config.toml", std::ios::app) << "layers = 3\n";
    expect_error([&] { RunFolder(path_, false); }, "holds a run already");
}

TEST_F(RunFolderTest, IsTriedBeforeItIsMade) {
    namespace fs = std::filesystem;
    const fs::path new_one = path_ / "below" / "run";
    RunFolder::check_can_begin(new_one);
    EXPECT_TRUE(fs::is_empty(folder_.path()));
    std::ofstream(path_) << "a file";
    fs::create_symlink(folder_ / "nothing", folder_ / "link");
    for (const fs::path& wrong :
         {path_, new_one, folder_ / "link", folder_ / std::string(300, 'x').c_str(), fs::path("/proc/x/run")})
        expect_error([&] { RunFolder::check_can_begin(wrong); }, "--out " + wrong.string() + ": the folder cannot be made: ");
    RunFolder::check_can_begin("new");  // a folder in the working directory
    EXPECT_FALSE(fs::exists("new"));
    fs::remove(path_);
    fs::create_directory(path_);
    fs::create_directory(path_ / "lock");
    expect_error([&] { RunFolder::check_can_begin(path_); }, "lock");
}

TEST_F(RunFolderTest, IsReplacedWithoutWhatOthersPutIntoIt) {
    namespace fs = std::filesystem;
    RunFolder(path_, false).write_config("x = 1\n");
    fs::create_directories(path_ / "saves" / "40");
    fs::create_directories(path_ / "saves" / "50");
    std::ofstream(path_ / "saves" / "50" / "state.json") << "{}";
    std::ofstream(path_ / "saves" / "50" / "notes.txt") << "mine";
    fs::create_directories(path_ / "saves" / "mine");
    fs::create_directories(path_ / "report.html" / "mine");
    std::ofstream(folder_ / "target") << "mine";
    fs::create_symlink(folder_ / "target", path_ / "log.jsonl");
    const RunFolder replaced(path_, true);
    EXPECT_FALSE(fs::exists(path_ / "saves" / "40"));
    EXPECT_TRUE(saved_updates(path_).empty());
    EXPECT_EQ(read_file(path_ / "saves" / "50.others" / "notes.txt"), "mine");
    EXPECT_FALSE(fs::exists(path_ / "saves" / "50.others" / "state.json"));
    EXPECT_TRUE(fs::exists(path_ / "saves" / "mine"));
    EXPECT_TRUE(fs::exists(path_ / "report.html" / "mine")) << "a folder is no report";
    EXPECT_FALSE(fs::is_symlink(path_ / "log.jsonl"));
    EXPECT_EQ(read_file(folder_ / "target"), "mine");
}

TEST_F(RunFolderTest, DoesNotWriteItsLogThroughALink) {
    namespace fs = std::filesystem;
    const RunFolder folder(path_, false);
    for (const fs::path& file : {folder.log(), path_ / event_file_name}) {
        std::ofstream(folder_ / "target") << "mine";
        fs::create_symlink(folder_ / "target", file);
        expect_error([&] { TrainingLog(folder.log(), true); }, file.string() + "': it is a symbolic link, which is not followed");
        EXPECT_EQ(read_file(folder_ / "target"), "mine");
        fs::remove(file);
    }
    // A copy by `cp -al` shares its files with the run.
    std::ofstream(folder_ / "target") << "{}\n";
    fs::remove(folder.log());
    fs::create_hard_link(folder_ / "target", folder.log());
    TrainingLog(folder.log(), true).note("only here");
    EXPECT_EQ(read_file(folder_ / "target"), "{}\n");
    EXPECT_TRUE(read_file(folder.log()).starts_with("{}\n{\"kind\":\"note\"")) << read_file(folder.log());
    fs::remove(folder.log());
    fs::create_directory(folder.log());
    expect_error([&] { TrainingLog(folder.log(), true); }, "log.jsonl");
}

TEST_F(RunFolderTest, ThatWasMovedIsNotWrittenToAtItsOldPlace) {
    namespace fs = std::filesystem;
    const RunFolder first(path_, false);
    fs::rename(path_, folder_ / "moved");
    const RunFolder second(path_, false);
    second.write_config("of the second\n");
    const nn::NamedTensors weights = {{"w", Tensor::zeros({2}, DType::f32)}};
    Save save;
    save.weights = weights;
    expect_error([&] { first.save(save, 1); }, "another folder lies there now");
    expect_error([&] { first.write_model(weights); }, "another folder lies there now");
    expect_error([&] { first.write_best(weights); }, "another folder lies there now");
    expect_error([&] { first.write_config("of the first\n"); }, "another folder lies there now");
    EXPECT_TRUE(saved_updates(path_).empty());
    EXPECT_THAT(read_file(path_ / "config.toml"), testing::HasSubstr("of the second\n"));
}

TEST_F(RunFolderTest, BelongsToOneProcessAtATime) {
    {
        const RunFolder folder(path_, false);
        folder.write_config("x = 1\n");
        const std::string message = error_of([&] { RunFolder::reopen(path_); });
        EXPECT_NE(message.find("in use: process " + std::to_string(getpid())), std::string::npos) << message;
        expect_error([&] { RunFolder(path_, true); }, "in use");
        EXPECT_TRUE(std::filesystem::exists(path_ / "config.toml")) << "--overwrite removes nothing before it has the lock";
    }
    EXPECT_FALSE(std::filesystem::exists(path_ / "lock"));
    // A killed process leaves its lock file, which locks nothing.
    std::ofstream(path_ / "lock") << "process 1 on somewhere\n";
    EXPECT_NO_THROW(RunFolder::reopen(path_));
}

TEST_F(RunFolderTest, ClearsAwayWhatAKilledProcessLeftHalfWritten) {
    RunFolder(path_, false).write_config("x = 1\n");
    std::ofstream(path_ / ".heddle-12-3.part") << "half";
    std::filesystem::create_directories(path_ / "saves" / "40.part");
    std::filesystem::create_directories(path_ / "saves" / "20");
    std::ofstream(path_ / "saves" / "40.part" / "model.safetensors") << "half";
    const RunFolder folder = RunFolder::reopen(path_);
    EXPECT_FALSE(std::filesystem::exists(path_ / ".heddle-12-3.part"));
    EXPECT_FALSE(std::filesystem::exists(path_ / "saves" / "40.part"));
    EXPECT_TRUE(std::filesystem::exists(path_ / "saves" / "20"));
    expect_error([&] { RunFolder::reopen(folder_ / "nothing"); }, "there is no run");
}

// The lock of a running process was removed by hand, or another command is writing to the run.
TEST_F(RunFolderTest, LeavesWhatAnotherProcessIsWriting) {
    namespace fs = std::filesystem;
    RunFolder(path_, false).write_config("x = 1\n");
    fs::create_directories(path_ / "saves" / "40.part");
    AtomicFile tuned(path_ / "search.toml");
    tuned.write("length-penalty = 1\n");
    {
        const WriteMark saving(path_ / "saves" / "40.part");
        const RunFolder folder = RunFolder::reopen(path_);
        EXPECT_TRUE(fs::exists(path_ / "saves" / "40.part"));
        EXPECT_NO_THROW(tuned.commit());
        EXPECT_EQ(read_file(path_ / "search.toml"), "length-penalty = 1\n");
    }
    RunFolder::reopen(path_);
    EXPECT_FALSE(fs::exists(path_ / "saves" / "40.part"));
}

// While one process starts a run, another one finds the folder free or finds the run, but never a foreign file.
TEST_F(RunFolderTest, ThatBeginsIsNeverTakenForAStrangers) {
    constexpr int runs = 300;
    const auto path = [&](int i) { return path_.string() + std::to_string(i); };
    std::atomic<int> looked = -1;
    std::thread beginner([&] {
        for (int i = 0; i < runs; ++i) {
            while (looked < i) std::this_thread::yield();
            const RunFolder folder(path(i), false);
            write_file_atomically(folder.path() / "vocab.model", std::string("a vocabulary"));
            folder.write_config("# no options\n");
            folder.write_model({});
        }
    });
    std::string wrong;
    for (int i = 0; i < runs; ++i) {
        for (bool free = true; free && wrong.empty();) {
            looked = i;
            try {
                RunFolder::check_free(path(i), false);
            } catch (const Error& error) {
                free = false;
                if (std::string_view(error.what()).find("holds a run already") == std::string_view::npos) wrong = error.what();
            }
        }
    }
    looked = runs;
    beginner.join();
    EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace heddle::app
