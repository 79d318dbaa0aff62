// What the scenarios of heddle prepare and --prepare-above 0 do not show: foreign options, kills, and a full disk.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/translation/prepared/header.h"
#include "tests/program/program_process.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

const std::string packed_run =
    " --train text --source a --target b --valid valid --layers 1 --d-model 16 --heads 2 --d-ff 32 --batch-tokens 80"
    " --accumulate 2 --log-every 1 --valid-every 5 --valid-sentences 2 --save-every 4 --keep 0 --tune-search false"
    " --vocab-type word";
const std::string in_files = " --prepare-above 0";

TEST(PreparedText, SetsNoOptionThatIsNotItsOwn) {
    const Workplace here;
    write_toy_corpus(here, 90);
    ASSERT_EQ(here.run("prepare --train text --source a --target b --vocab-type word --out prepared").status, 0);
    const app::PreparedHeader good = app::PreparedHeader::parse(here.read("prepared/prepared.json"), "good");
    for (const auto& [name, value] : {std::pair("valid", "\"other\""),
                                      {"seed", "2"},
                                      {"out", "\"elsewhere\""},
                                      {"nonsense", "1"},
                                      {"vocab-type", "\"word\"\nseed = 2"},
                                      {"source", "\"a\"\rseed = 2"}}) {
        app::PreparedHeader header = good;
        header.options[name] = value;
        here.write("prepared/prepared.json", header.serialized());
        expect_complaint(here.run("train --train prepared --out run --updates 1"), 1,
                         fmt::format("prepared: its prepared.json sets the option {}, which a prepared text does not", name));
        EXPECT_FALSE(here.exists("run"));
    }
}

class PackedText : public testing::Test {
  protected:
    PackedText() {
        write_toy_corpus(here_, 90);
        for (const std::string language : {"a", "b"}) fs::copy(here_.path("text." + language), here_.path("valid." + language));
    }
    void expect_no_parts() const {
        for (const auto& entry : fs::recursive_directory_iterator(here_.path("")))
            EXPECT_NE(entry.path().extension(), ".part") << entry.path();
    }
    void expect_trained(const std::string& arguments) const {
        const ProgramResult result = here_.run(arguments);
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(digests_of_weights(here_, "run"), digests_of_weights(here_, "memory"));
        expect_no_parts();
    }
    // Kills the program while it prepares the text; what happens before, while it is stopped, is `meanwhile`.
    void kill_while_preparing(
        const std::string& arguments, const std::function<void()>& meanwhile = [] {}) const {
        std::istringstream words(arguments);
        RunningProgram program(here_, {std::istream_iterator<std::string>(words), {}});
        int status = 0;
        while (!here_.exists("run/text.prepared.part/00000.ids") && !has_part_of_ids())
            ASSERT_FALSE(program.ends_within(100us, status)) << here_.read("log");
        program.send(SIGSTOP);
        EXPECT_FALSE(here_.exists("run/text.prepared/00000.ids")) << "it was too fast for this test";
        meanwhile();
        program.send(SIGKILL);
        EXPECT_EQ(program.wait(), -SIGKILL);
        EXPECT_TRUE(here_.exists("run/text.prepared.part"));
    }
    bool has_part_of_ids() const {
        std::error_code missing;
        const fs::directory_iterator part(here_.path("run/text.prepared.part"), missing);
        return !missing && std::any_of(begin(part), end(part), [](const fs::directory_entry& entry) {
            return entry.path().filename().string().starts_with(".heddle-");
        });
    }

    const Workplace here_;
};

TEST_F(PackedText, ThatWasKilledIsBegunAgain) {
    write_toy_corpus(here_, 60'000);  // takes a moment to prepare
    const std::string in_memory = "train" + packed_run + " --out run --updates 2", begin = in_memory + in_files;
    ASSERT_EQ(here_.run("train" + packed_run + " --out memory --updates 2").status, 0);
    kill_while_preparing(begin, [&] { expect_complaint(here_.run(begin), 1, "run is in use: process "); });
    EXPECT_FALSE(here_.exists("run/config.toml"));
    expect_trained(begin);
    EXPECT_TRUE(here_.exists("run/text.prepared/00000.ids"));

    // Killed while a resumed run prepares it: what is there is neither used nor lost.
    fs::remove_all(here_.path("run/text.prepared"));
    kill_while_preparing("train --resume run --updates 4");
    EXPECT_EQ(here_.run("train --resume run --updates 4").status, 0);
    expect_no_parts();

    fs::remove_all(here_.path("run"));
    kill_while_preparing(begin);
    expect_trained(in_memory);
}

TEST_F(PackedText, SaysThatTheDiskIsFull) {
    write_toy_corpus(here_, 20'000);
    fs::create_directory(here_.path("disk"));
    here_.write("script", "mount -t tmpfs -o size=128k tmpfs disk || exit 90\n'" HEDDLE_PROGRAM "' train" + packed_run +
                              in_files + " --out disk/run --updates 1 2>log; status=$?; ls -A disk >left; exit $status\n");
    const int status = std::system(("cd '" + here_.path("") + "' && unshare -rm bash script 2>unshared").c_str());
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 90 || !here_.exists("log"))
        GTEST_SKIP() << "no disk can be mounted here: " << here_.read("unshared");
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(here_.read("log"), AllOf(HasSubstr("disk/run/text.prepared.part/00000."), HasSubstr("No space left on device")));
    EXPECT_EQ(here_.read("left"), "");
}

}  // namespace
}  // namespace heddle
