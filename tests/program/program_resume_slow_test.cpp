// Runs stopped by a user or a power failure, and resumed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/translation/run/folder.h"
#include "core/digest.h"
#include "core/random.h"
#include "tests/program/program_process.h"
#include "tests/system_calls.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

using app::saved_updates;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const char* const tiny =
    " --train text --valid text --source a --target b --vocab-type word --layers 1 --d-model 16 --heads 2 --key-heads 1"
    " --d-ff 32 --threads 1"
    " --batch-tokens 40 --log-every 1 --valid-sentences 2";

// A workplace with sixty sentence pairs.
class Resuming : public testing::Test {
  protected:
    Resuming() { write_toy_corpus(here_, 60); }

    ProgramResult train(const std::string& arguments) const { return here_.run("train" + arguments); }
    // A digest, because the bytes of weights would flood the output of a failing test.
    std::string model(const std::string& run) const {
        EXPECT_TRUE(here_.exists(run + "/model.safetensors"));
        return digest(here_.read(run + "/model.safetensors"));
    }
    static std::vector<std::string> words(const std::string& text) {
        std::istringstream stream(text);
        return {std::istream_iterator<std::string>(stream), {}};
    }
    std::unique_ptr<RunningProgram> start(const std::string& arguments) const {
        return std::make_unique<RunningProgram>(here_, words("train" + arguments));
    }
    void wait_for_save(const std::string& run) const {
        for (int i = 0; i < 3000 && !here_.exists(run + "/saves/latest"); ++i) std::this_thread::sleep_for(10ms);
        ASSERT_TRUE(here_.exists(run + "/saves/latest")) << here_.read("log");
    }

    const Workplace here_;
};

TEST_F(Resuming, SurvivesKillsAtRandomMoments) {
    const int wanted = all_faults() ? 1000 : 200;
    const std::string options = std::string(tiny) + " --epochs 12 --save-every 2 --valid-every 5";
    const auto start_of_whole = std::chrono::steady_clock::now();
    const ProgramResult whole = train(" --out whole" + options);
    ASSERT_EQ(whole.status, 0) << whole.err;
    Sequence numbers(7);
    int kills = 0, runs = 0;
    // Microseconds, chosen so that some runs are killed before their first save, and some after several, even on a busy machine.
    const auto taken = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_of_whole);
    const auto longest = static_cast<std::uint64_t>(std::max<std::int64_t>(60'000, taken.count() / 2));
    while (kills < wanted) {
        const bool going_on = here_.exists("run/config.toml");
        const auto program = start(going_on ? " --resume run" : " --out run" + options);
        int status = 0;
        if (!program->ends_within(std::chrono::microseconds(numbers.below(longest)), status)) {
            program->send(SIGKILL);
            status = program->wait();
            if (status == -SIGKILL) {
                ++kills;
                continue;
            }
            // It had just ended by itself.
        }
        ASSERT_EQ(status, 0) << "after " << kills << " kills: " << here_.read("log");
        ASSERT_EQ(model("run"), model("whole")) << "after " << kills << " kills";
        ++runs;
        std::filesystem::remove_all(here_.path("run"));
    }
    if (here_.exists("run/config.toml")) {
        const ProgramResult last = train(" --resume run");
        EXPECT_EQ(last.status, 0) << last.err;
        EXPECT_EQ(model("run"), model("whole"));
    }
    print_faults("kill -9 at a random moment", kills, fmt::format("{} runs came to their end, all with the same bytes", runs));
}

TEST_F(Resuming, CtrlCFinishesTheStepSavesAndSaysHowToGoOn) {
    const std::string options = std::string(tiny) + " --updates 2000 --save-every 500";
    for (const int signal : {SIGINT, SIGTERM}) {
        const std::string run = signal == SIGINT ? "interrupted" : "terminated";
        const auto program = start(" --out " + run + options);
        for (int i = 0; i < 1000 && here_.read("log").find("update      5") == std::string::npos; ++i)
            std::this_thread::sleep_for(5ms);
        program->send(signal);
        EXPECT_EQ(program->wait(), 128 + signal);
        EXPECT_THAT(here_.read("log"), AllOf(HasSubstr(signal == SIGINT ? "stopped by Ctrl-C" : "stopped by SIGTERM"),
                                             HasSubstr("heddle train --resume " + run)));
        const std::vector<std::int64_t> saves = saved_updates(here_.path(run));
        ASSERT_EQ(saves.size(), 1u);
        const ProgramResult shorter = train(" --resume " + run + " --updates " + std::to_string(saves[0] + 20));
        EXPECT_EQ(shorter.status, 0) << shorter.err;
        EXPECT_THAT(shorter.err, HasSubstr("changed: updates"));
        const ProgramResult whole =
            train(" --out whole --overwrite" + std::string(tiny) + " --updates " + std::to_string(saves[0] + 20));
        EXPECT_EQ(whole.status, 0) << whole.err;
        EXPECT_EQ(model(run), model("whole"));
    }
}

TEST_F(Resuming, ASecondSignalStopsAtOnce) {
    // One update that takes minutes: a wide model, with the whole text repeated in one step.
    std::string text;
    for (int i = 0; i < 40; ++i) text += here_.read("text.a");
    here_.write("long.a", text);
    here_.write("long.b", text);
    const auto program = start(
        " --out run --train long --source a --target b --vocab-type word --layers 4 --d-model 256 --heads 4 --d-ff 2048"
        " --threads 1 --accumulate 100000 --batch-tokens 200");
    for (int i = 0; i < 2000 && here_.read("log").find("training:") == std::string::npos; ++i) std::this_thread::sleep_for(5ms);
    program->send(SIGINT);
    int status = 0;
    ASSERT_FALSE(program->ends_within(300ms, status)) << "the first one waits for the update: " << here_.read("log");
    EXPECT_THAT(here_.read("log"), HasSubstr("stopping after this update"));
    program->send(SIGINT);
    EXPECT_EQ(program->wait(), -SIGINT);
}

TEST_F(Resuming, IsForOneProcessAtATime) {
    const auto program = start(std::string(" --out run --epochs 100000") + tiny);
    wait_for_save("run");
    const ProgramResult second = train(" --resume run");
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.err, HasSubstr("run is in use: process"));
    EXPECT_THAT(train(std::string(" --out run --overwrite") + tiny).err, HasSubstr("run is in use: process"));
    program->send(SIGKILL);
    program->wait();
    EXPECT_TRUE(here_.exists("run/lock")) << "a killed process leaves its lock file";
    EXPECT_EQ(train(" --resume run --updates 1").status, 0);
    EXPECT_FALSE(here_.exists("run/lock"));
}

// After a kill before the first new save, options changed on resuming are in config.toml, but not in the save.
TEST_F(Resuming, KeepsTheOptionsThatItWasGivenWhenItIsKilledBeforeItsNextSave) {
    ASSERT_EQ(train(std::string(" --out run --updates 4") + tiny).status, 0);
    const auto program = start(" --resume run --updates 100000 --lr 0.001 --save-every 100000");
    for (int i = 0; i < 6000 && here_.read("log").find("update      6") == std::string::npos; ++i)
        std::this_thread::sleep_for(5ms);
    program->send(SIGKILL);
    program->wait();
    ASSERT_EQ(saved_updates(here_.path("run")), std::vector<std::int64_t>{4});
    const ProgramResult resumed = train(" --resume run --updates 8");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, AllOf(HasSubstr("changed: lr = 0.001 (was 0.003)"), HasSubstr("goes on from update 4")));
}

TEST_F(Resuming, SaysWhenItsFolderVanishesOrItsDiskIsFull) {
    const std::string endless = std::string(tiny) + " --epochs 1000000 --save-every 3";
    {
        const auto program = start(" --out run" + endless);
        wait_for_save("run");
        std::filesystem::rename(here_.path("run"), here_.path("moved"));
        EXPECT_EQ(program->wait(), 1);
        EXPECT_THAT(here_.read("log"), HasSubstr("heddle: "));
        EXPECT_FALSE(here_.exists("run/saves"));
    }
    EXPECT_EQ(train(" --resume moved --updates " + std::to_string(saved_updates(here_.path("moved")).back() + 1)).status, 0);

    // Files are limited to 20 KB: the weights fit, their moments do not. The run has an earlier save.
    ASSERT_EQ(train(std::string(" --out full --updates 4 --save-every 2") + tiny).status, 0);
    const std::string limited = "cd '" + here_.path("") +
                                "' && trap '' XFSZ && ulimit -f 20 && '" HEDDLE_PROGRAM
                                "' train --resume full --updates 100 --save-every 2 2>limited";
    const int status = std::system(("bash -c \"" + limited + "\"").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(here_.read("limited"),
                AllOf(HasSubstr("cannot be saved"), HasSubstr("File too large"), HasSubstr("--resume full")));
    EXPECT_EQ(saved_updates(here_.path("full")), std::vector<std::int64_t>{4});
    const ProgramResult later = train(" --resume full --updates 10");
    EXPECT_EQ(later.status, 0) << later.err;
    ASSERT_EQ(train(std::string(" --out whole --updates 10") + tiny).status, 0);
    EXPECT_EQ(model("full"), model("whole"));
}

TEST_F(Resuming, BeginsWithAnotherRunsWeights) {
    ASSERT_EQ(train(std::string(" --out first --epochs 3") + tiny).status, 0);
    const std::string data = " --train text --source a --target b --threads 1 --batch-tokens 40";
    const ProgramResult same = train(" --out same --init first --updates 1 --lr 0" + data);
    EXPECT_EQ(same.status, 0) << same.err;
    EXPECT_THAT(same.err, HasSubstr("begins with the weights of first"));
    EXPECT_EQ(here_.run("translate --model same", "a b c\n").out, here_.run("translate --model first", "a b c\n").out);
    EXPECT_EQ(here_.read("same/vocab.tsv"), here_.read("first/vocab.tsv"));

    const ProgramResult wrong = train(" --out wrong --init first --d-model 32 --vocab-type char" + data);
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.err, AllOf(HasSubstr("--d-model 32 (it has 16)"), HasSubstr("--vocab-type \"char\" (it has \"word\")")));
    EXPECT_FALSE(here_.exists("wrong"));

    // A run started with --init is resumed without the first run.
    ASSERT_EQ(train(" --out tuned --init first --updates 6" + data).status, 0);
    ASSERT_EQ(train(" --out stopped --init first --updates 3 --save-every 1" + data).status, 0);
    std::filesystem::remove_all(here_.path("first"));
    const ProgramResult resumed = train(" --resume stopped --updates 6");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(model("stopped"), model("tuned"));
}

TEST_F(Resuming, AveragesTheLastSaves) {
    ASSERT_EQ(train(std::string(" --out run --updates 9 --save-every 3 --keep 2") + tiny).status, 0);
    const ProgramResult average = here_.run("average run --last 2 --out average.safetensors");
    EXPECT_EQ(average.status, 0) << average.err;
    EXPECT_THAT(average.err, HasSubstr("updates 6, 9"));
    const SafetensorsFile six(here_.path("run/saves/6/model.safetensors")), nine(here_.path("run/saves/9/model.safetensors"));
    const SafetensorsFile mean(here_.path("average.safetensors"));
    for (const std::string& name : mean.names()) {
        const std::vector<double> a = six.load(name).to_vector(), b = nine.load(name).to_vector(),
                                  m = mean.load(name).to_vector();
        for (std::size_t i = 0; i < m.size(); ++i) ASSERT_NEAR(m[i], (a[i] + b[i]) / 2, 1e-7) << name;
    }
    EXPECT_EQ(here_.run("average run --last 2").status, 0);
    EXPECT_EQ(here_.run("translate --model run", "a b\n").status, 0);
    const ProgramResult more = here_.run("average run --last 3");
    EXPECT_EQ(more.status, 1);
    EXPECT_THAT(more.err, AllOf(HasSubstr("run has 2 saves, but --last asks for 3"), HasSubstr("--keep 3")));
    EXPECT_EQ(here_.run("average").status, 2);
}

TEST_F(Resuming, KeepsTheGoodSaveWhenWeightsRunAway) {
    ASSERT_EQ(train(std::string(" --out run --updates 4") + tiny).status, 0);
    const std::string config = here_.read("run/config.toml"), good = model("run");
    // The gradient of update 5 is finite, but the weights it leads to are not worth saving.
    const std::string away = " --resume run --updates 50 --lr 1e30 --clip 0 --warmup 0 --save-every 1 --keep 1";
    for (const char* validation : {"", " --valid-every 1"}) {
        const ProgramResult result = train(away + validation);
        EXPECT_EQ(result.status, 3) << result.err;
        EXPECT_THAT(result.err, AllOf(HasSubstr("after update 5 the loss"), HasSubstr("the save of update 4 is whole")));
        EXPECT_EQ(saved_updates(here_.path("run")), std::vector<std::int64_t>{4});
        EXPECT_EQ(here_.read("run/config.toml"), config) << "what led to nothing is not kept";
        EXPECT_EQ(model("run"), good);
    }
    EXPECT_EQ(train(away + " --valid-every 1 --on-divergence skip").status, 3) << "the update was made: nothing to skip";
    EXPECT_EQ(train(" --resume run --updates 8").status, 0);
    ASSERT_EQ(train(std::string(" --out whole --updates 8") + tiny).status, 0);
    EXPECT_EQ(model("run"), model("whole"));
}

TEST_F(Resuming, LeavesWhatIsNotItsOwn) {
    std::filesystem::create_directories(here_.path("mine/d.part"));
    here_.write("mine/movie.part", "x");
    here_.write("mine/log.jsonl", "mine\n");
    ASSERT_EQ(train(std::string(" --out mine --updates 4") + tiny).status, 0);
    EXPECT_TRUE(here_.exists("mine/d.part"));
    EXPECT_EQ(here_.read("mine/movie.part"), "x");
    EXPECT_THAT(here_.read("mine/log.jsonl"), testing::StartsWith("mine\n"));
    // Without config.toml it is still recognised as a run.
    std::filesystem::remove(here_.path("mine/config.toml"));
    std::filesystem::remove(here_.path("mine/model.safetensors"));
    EXPECT_THAT(train(std::string(" --out mine --updates 4") + tiny).err, HasSubstr("holds a run already"));
    // --init from the folder that --overwrite would clear.
    ASSERT_EQ(train(std::string(" --out mine --overwrite --updates 4") + tiny).status, 0);
    const std::string before = model("mine");
    const ProgramResult same = train(" --init mine --out ./mine --overwrite --train text --source a --target b");
    EXPECT_EQ(same.status, 2) << same.err;
    EXPECT_EQ(model("mine"), before);
}

TEST_F(Resuming, WorksOnACopyThatFollowedLinks) {
    ASSERT_EQ(train(std::string(" --out run --updates 4") + tiny).status, 0);
    std::filesystem::copy(here_.path("run"), here_.path("copy"), std::filesystem::copy_options::recursive);
    ASSERT_FALSE(std::filesystem::is_symlink(here_.path("copy/saves/latest")));
    for (const char* updates : {"8", "12"}) {
        const ProgramResult resumed = train(std::string(" --resume copy --updates ") + updates);
        EXPECT_EQ(resumed.status, 0) << resumed.err;
    }
    ASSERT_EQ(train(std::string(" --out whole --updates 12") + tiny).status, 0);
    EXPECT_EQ(model("copy"), model("whole"));
}

TEST_F(Resuming, DivergenceEndsWithStatusThreeAndNamesTheOp) {
    ASSERT_EQ(train(std::string(" --out run --updates 4 --save-every 2") + tiny).status, 0);
    const std::string good = model("run");
    const ProgramResult result = train(" --resume run --updates 50 --lr 1e30 --clip 0 --warmup 0");
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("heddle: training diverged in update"), HasSubstr("in module "), HasSubstr("nn/"),
                                  HasSubstr(".cpp:"), HasSubstr("the save of update 4 is whole; heddle train --resume run")));
    EXPECT_EQ(model("run"), good) << "the last good model stays";
    const ProgramResult calmer = train(" --resume run --updates 8 --lr 0.001 --clip 1");
    EXPECT_EQ(calmer.status, 0) << calmer.err;
    EXPECT_THAT(calmer.err, HasSubstr("goes on from update 4"));

    const std::string away = " --lr 1e30 --clip 0 --warmup 0 --on-divergence skip" + std::string(tiny);
    const ProgramResult validated = train(" --out validated --epochs 3" + away);
    EXPECT_EQ(validated.status, 3);
    EXPECT_THAT(validated.err, HasSubstr("the loss without dropout is "));
    EXPECT_FALSE(here_.exists("validated/model.safetensors"));
    EXPECT_THAT(validated.err, HasSubstr("nothing was saved before"));
    const ProgramResult skipping = train(" --out skip --epochs 30 --valid-every 100000 --save-every 100000" + away);
    EXPECT_EQ(skipping.status, 3) << "nothing but skipped updates is a divergence, too";
    EXPECT_THAT(skipping.err, AllOf(HasSubstr("skipped (1 so far)"), HasSubstr("50 updates in a row")));
}

TEST_F(Resuming, SaysThatThereIsNothingToTrain) {
    ASSERT_EQ(train(tiny + std::string(" --epochs 3 --keep 0 --out RUN")).status, 0);
    const ProgramResult again = train(" --resume RUN --preload 3 --epochs 2");
    EXPECT_EQ(again.status, 0);
    EXPECT_THAT(again.err, AllOf(HasSubstr("\nnothing to train: the run is already at epoch 3, which is more than --epochs 2; "),
                                 Not(HasSubstr("ended after"))));
    EXPECT_THAT(here_.read("RUN/report.html"), HasSubstr("<p>Nothing to train: the run is already at epoch 3"));
}

}  // namespace
}  // namespace heddle
