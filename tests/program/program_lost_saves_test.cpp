// A run whose saves are gone or damaged keeps its weights, and the advice given works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "apps/translation/run/folder.h"
#include "core/digest.h"
#include "tests/program/program_process.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using app::saved_updates;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string copying =
    " --task copy --layers 1 --d-model 16 --heads 2 --d-ff 32 --threads 1 --schedule constant --batch-tokens 60 --log-every 1 "
    "--valid-sentences 0 --valid-every 3 --save-every 3";

class LostSaves : public testing::Test {
  protected:
    LostSaves() {
        const ProgramResult result = train(" --out run --updates 6" + copying);
        EXPECT_EQ(result.status, 0) << result.err;
    }
    ProgramResult train(const std::string& arguments) const { return here_.run("train" + arguments); }
    // The digest of each file of a run, and the names of its folders.
    std::map<std::string, std::string> files(const std::string& run) const {
        std::map<std::string, std::string> digests;
        for (const auto& entry : fs::recursive_directory_iterator(here_.path(run))) {
            const std::string name = entry.path().lexically_relative(here_.path("")).string();
            digests[name] = entry.is_regular_file() ? digest(here_.read(name)) : "";
        }
        return digests;
    }
    std::string model(const std::string& run) const { return digest(here_.read(run + "/model.safetensors")); }
    void damage_state(const std::string& run, int update) const {
        const std::string file = run + "/saves/" + std::to_string(update) + "/state.json";
        here_.write(file, here_.read(file) + "\n");
    }
    // Runs the command at the end of the message.
    ProgramResult follow(const std::string& message, const std::string& more) const {
        const std::size_t at = message.find(": heddle train ");
        EXPECT_NE(at, std::string::npos) << message;
        return here_.run(message.substr(at + 9, message.find('\n', at) - at - 9) + more);
    }

    const Workplace here_;
};

TEST_F(LostSaves, WithoutThemARunIsRefusedAndLeftAsItIs) {
    const std::string wanted = "--resume run: the run has weights but no save, so it would begin again and overwrite them";
    for (const char* lost : {"run/saves/6", "run/saves"}) {
        fs::remove_all(here_.path(lost));
        const std::map<std::string, std::string> before = files("run");
        const ProgramResult refused = train(" --resume run --updates 9");
        expect_complaint(refused, 1, wanted);
        EXPECT_EQ(files("run"), before) << lost;
        EXPECT_THAT(refused.err, HasSubstr("heddle train --config run/config.toml --init run --out NEW"));
        fs::remove_all(here_.path("NEW"));
        const ProgramResult followed = follow(refused.err, " --updates 2");
        EXPECT_EQ(followed.status, 0) << followed.err;
        EXPECT_THAT(followed.err, HasSubstr("begins with the weights of run"));
        EXPECT_TRUE(here_.exists("NEW/model.safetensors"));
    }
    EXPECT_THAT(train(" --out run --updates 6" + copying).err, AllOf(HasSubstr("--init run"), Not(HasSubstr("--resume"))));
    fs::remove(here_.path("run/model.safetensors"));
    EXPECT_THAT(train(" --resume run").err, HasSubstr("copy run/best.safetensors to run/model.safetensors, then heddle train"));
}

TEST_F(LostSaves, ARunThatSavedNothingBeginsAgainAndSaysSo) {
    for (const char* file : {"run/saves", "run/model.safetensors", "run/best.safetensors"}) fs::remove_all(here_.path(file));
    const ProgramResult again = train(" --resume run");
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("nothing was saved before: begins at update 0"));
    EXPECT_EQ(saved_updates(here_.path("run")), std::vector<std::int64_t>{6}) << "the folder of the saves is made again";
    ASSERT_EQ(train(" --out whole --updates 6" + copying).status, 0);
    EXPECT_EQ(model("run"), model("whole"));
}

TEST_F(LostSaves, WeightsComeAfterTheFirstSave) {
    ASSERT_EQ(train(" --out early --updates 3 --keep 0" + copying + " --overwrite").status, 0);
    std::string rare = copying;
    rare.replace(rare.find("--save-every 3"), 14, "--save-every 9");
    ASSERT_EQ(train(" --out rare --updates 4 --keep 0" + rare).status, 0);
    EXPECT_EQ(saved_updates(here_.path("rare")), (std::vector<std::int64_t>{3, 4})) << "one of the first validation";
    const auto of_save = [&](const std::string& run) { return digest(here_.read(run + "/saves/3/moments.safetensors")); };
    EXPECT_EQ(of_save("rare"), of_save("early"));
    // If the first validation ends while a save is being written, it is waited for, not made twice.
    std::string soon = copying;
    soon.replace(soon.find("--valid-every 3 --save-every 3"), 30, "--valid-every 5 --save-every 4");
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(train(" --out soon --overwrite --updates 6 --keep 0" + soon).status, 0);
        EXPECT_EQ(saved_updates(here_.path("soon")), (std::vector<std::int64_t>{4, 6}));
    }
}

TEST_F(LostSaves, AdviceAfterADamagedSaveIsAboutWhatThereIs) {
    ASSERT_EQ(train(" --out several --updates 6 --keep 0" + copying).status, 0);
    damage_state("several", 6);
    const ProgramResult other = train(" --resume several --updates 9");
    expect_complaint(other, 1,
                     "several/saves/6/state.json: the file is damaged or was changed since it was written; delete the folder "
                     "several/saves/6: heddle train --resume several then goes on from update 3");
    fs::remove_all(here_.path("several/saves/6"));
    EXPECT_THAT(train(" --resume several --updates 9").err, HasSubstr("goes on from update 3"));

    damage_state("run", 6);
    const ProgramResult only = train(" --resume run --updates 9");
    expect_complaint(only, 1, "the run has no other save; train on from its weights: heddle train --config run/config.toml");
    EXPECT_EQ(follow(only.err, " --updates 2").status, 0);
    fs::remove(here_.path("run/saves/6/state.json"));
    EXPECT_THAT(train(" --resume run").err, AllOf(HasSubstr("run/saves/6/state.json"), HasSubstr("--init run --out NEW")));

    for (const char* kind : {"model", "best"}) fs::remove(here_.path("run/" + std::string(kind) + ".safetensors"));
    const ProgramResult nothing = train(" --resume run");
    expect_complaint(nothing, 1, "the run has no other save; begin again: heddle train --config run/config.toml --out run");
    EXPECT_EQ(follow(nothing.err, "").status, 0);
}

TEST_F(LostSaves, AdviceAfterDamagedWeightsOfASaveIsAboutWhatThereIs) {
    ASSERT_EQ(train(" --out several --updates 6 --keep 0" + copying).status, 0);
    for (const char* name : {"model", "moments"}) {
        const std::string file = "/saves/6/" + std::string(name) + ".safetensors";
        const auto flip_a_bit = [&] {
            for (const char* run : {"run", "several"}) {
                std::string bytes = here_.read(run + file);
                bytes.back() = static_cast<char>(bytes.back() ^ 1);
                here_.write(run + file, bytes);
            }
        };
        flip_a_bit();
        EXPECT_THAT(train(" --resume run --updates 9").err, AllOf(HasSubstr(file), HasSubstr("--init run --out NEW")));
        EXPECT_THAT(train(" --resume several --updates 9").err,
                    AllOf(HasSubstr(file), HasSubstr("delete the folder several/saves/6"), HasSubstr("from update 3")));
        flip_a_bit();
    }
}

TEST_F(LostSaves, AFolderThatIsRemovedWhileTrainingIsMadeAgain) {
    RunningProgram program(
        here_, {"train", "--resume", "run", "--updates", "1000000", "--save-every", "1000000", "--valid-every", "1000000"});
    const auto has_begun = [&] { return here_.read("log").find("update     20") != std::string::npos; };
    for (int i = 0; i < 6000 && !has_begun(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(has_begun()) << here_.read("log");
    fs::remove_all(here_.path("run/saves"));
    program.send(SIGTERM);
    EXPECT_EQ(program.wait(), 128 + SIGTERM) << here_.read("log");
    EXPECT_EQ(saved_updates(here_.path("run")).size(), 1u);
}

}  // namespace
}  // namespace heddle
