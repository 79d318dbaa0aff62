// Runs stopped by a user or a power failure, and resumed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    const int wanted = all_faults() ? 1000 : 80;
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

TEST_F(Resuming, ChoosesNoLengthPenaltyWhenItIsToldToStop) {
    const std::string copying =
        " --task copy --layers 1 --d-model 16 --heads 2 --d-ff 32 --valid-sentences 0 --tune-search false";
    ASSERT_EQ(train(" --out run --epochs 1" + copying).status, 0);
    const auto program = start(" --resume run --epochs 2 --tune-search");
    for (int i = 0; i < 12000 && here_.read("log").find("choosing the length penalty") == std::string::npos; ++i)
        std::this_thread::sleep_for(5ms);
    program->send(SIGTERM);
    EXPECT_EQ(program->wait(), 128 + SIGTERM) << here_.read("log");
    EXPECT_THAT(here_.read("log"),
                AllOf(HasSubstr("no length penalty was chosen: stopped by SIGTERM; heddle evaluate --tune run "),
                      HasSubstr("wrote run/report.html")));
    EXPECT_FALSE(here_.exists("run/search.toml"));
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

}  // namespace
}  // namespace heddle
