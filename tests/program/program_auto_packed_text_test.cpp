// heddle train with a text too large to be held in memory, simulated by --prepare-above 0.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program.h"
#include "tests/program/program_process.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string auto_packed_text_pairs = " --train text --source a --target b --valid valid";
const std::string auto_packed_text_run =
    " --layers 1 --d-model 16 --heads 2 --d-ff 32 --batch-tokens 80 --accumulate 2 --log-every 1 --valid-every 5"
    " --valid-sentences 2 --save-every 4 --keep 0 --tune-search false --vocab-type word";
const std::string in_files = " --prepare-above 0";
const char* const ids = "run/text.prepared/00000.ids";

class AutoPackedText : public testing::Test {
  protected:
    AutoPackedText() {
        write_toy_corpus(here_, 90);
        for (const std::string language : {"a", "b"}) fs::copy(here_.path("text." + language), here_.path("valid." + language));
    }

    ProgramResult train(const std::string& arguments) const {
        return here_.run("train" + auto_packed_text_pairs + auto_packed_text_run + arguments);
    }
    ProgramResult resume(const std::string& arguments) const { return here_.run("train --resume run" + arguments); }
    void expect_trained(const ProgramResult& result, const std::string& run, const std::string& like) const {
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(digests_of_weights(here_, run), digests_of_weights(here_, like));
        EXPECT_EQ(here_.read(run + "/vocab.tsv"), here_.read(like + "/vocab.tsv"));
        expect_no_parts();
    }
    // Compares the weights and moments after the last update; earlier files depend on where a run was stopped.
    void expect_resumed(const ProgramResult& result, const std::string& like) const {
        ASSERT_EQ(result.status, 0) << result.err;
        for (const char* file : {"saves/17/model.safetensors", "saves/17/moments.safetensors"})
            EXPECT_EQ(digests_of_weights(here_, "run").at(file), digests_of_weights(here_, like).at(file));
        expect_no_parts();
    }
    void expect_no_parts() const {
        for (const auto& entry : fs::recursive_directory_iterator(here_.path("")))
            EXPECT_NE(entry.path().extension(), ".part") << entry.path();
    }
    // A file's inode number, which changes when the file is written anew.
    ino_t number_of(const std::string& file) const {
        struct stat information {};
        EXPECT_EQ(stat(here_.path(file).c_str(), &information), 0) << file;
        return information.st_ino;
    }

    const Workplace here_;
};

TEST_F(AutoPackedText, TrainsToTheBytesOfTheTextInMemoryAndOfAPreparedOne) {
    for (const std::string vocabulary : {"", " --vocab-lines 40", " --vocab-lines 7 --shared-vocab false"}) {
        SCOPED_TRACE(vocabulary);
        ASSERT_EQ(train(" --out memory --overwrite --updates 10" + vocabulary).status, 0);
        const ProgramResult result = train(" --out run --overwrite --updates 10" + vocabulary + in_files);
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(digests_of_weights(here_, "run"), digests_of_weights(here_, "memory"));
        EXPECT_THAT(result.err, AllOf(HasSubstr("of text are more than --prepare-above 0, so its tokens are written to "
                                                "run/text.prepared"),
                                      HasSubstr("run/text.prepared: 90 pairs with ")));
        const auto held = HasSubstr("the vocabulary is learned from all lines, which are held meanwhile; --vocab-lines");
        EXPECT_THAT(result.err, vocabulary.empty() ? testing::Matcher<std::string>(held) : Not(held));
        std::string config = here_.read("run/config.toml");
        config.erase(config.find("prepare-above = 0\n"), 18);
        const std::string wanted = here_.read("memory/config.toml");
        EXPECT_EQ(config.substr(0, config.find("\n# digest")), wanted.substr(0, wanted.find("\n# digest")));

        // It is an ordinary prepared text.
        EXPECT_EQ(here_.run("prepare --check run/text.prepared").status, 0);
        ASSERT_EQ(
            here_.run("prepare --train text --source a --target b --vocab-type word --out prepared --overwrite" + vocabulary)
                .status,
            0);
        for (const auto& entry : fs::directory_iterator(here_.path("prepared"))) {
            const std::string name = entry.path().filename().string();
            if (name == "prepared.json") continue;
            EXPECT_EQ(here_.read("run/text.prepared/" + name), here_.read("prepared/" + name)) << name;
        }
        const std::string valid =
            auto_packed_text_run.substr(0, auto_packed_text_run.find(" --vocab-type")) + " --valid valid --updates 10";
        for (const std::string text : {"prepared", "run/text.prepared"}) {
            const ProgramResult again = here_.run("train --train " + text + " --out again --overwrite" + valid);
            ASSERT_EQ(again.status, 0) << again.err;
            EXPECT_EQ(digests_of_weights(here_, "again"), digests_of_weights(here_, "memory"));
            EXPECT_FALSE(here_.exists("again/text.prepared"));
        }
    }
    expect_no_parts();
}

TEST_F(AutoPackedText, IsUsedAgainByAResumedRun) {
    ASSERT_EQ(train(" --out whole --updates 17").status, 0);
    ASSERT_EQ(train(" --out run --updates 10" + in_files).status, 0);
    const ino_t first = number_of(ids);
    fs::rename(here_.path("text.a"), here_.path("moved.a"));
    fs::rename(here_.path("text.b"), here_.path("moved.b"));
    const ProgramResult resumed = resume(" --updates 17 --train moved");
    expect_resumed(resumed, "whole");
    EXPECT_THAT(resumed.err, HasSubstr("run/text.prepared: 90 pairs, prepared before"));
    EXPECT_EQ(number_of(ids), first);
    // With the text held in memory again, the prepared text is kept.
    expect_resumed(resume(" --prepare-above 1 --updates 17"), "whole");
    EXPECT_EQ(number_of(ids), first);
}

TEST_F(AutoPackedText, IsWrittenForARunThatHeldIt) {
    ASSERT_EQ(train(" --out whole --updates 17").status, 0);
    ASSERT_EQ(train(" --out run --updates 10").status, 0);
    const ProgramResult resumed = resume(" --updates 17" + in_files);
    expect_resumed(resumed, "whole");
    EXPECT_THAT(resumed.err, HasSubstr("run/text.prepared: 90 pairs with "));
    // With another run's vocabulary.
    ASSERT_EQ(train(" --out tuned --init run --updates 6").status, 0);
    const ProgramResult result = train(" --out tuned2 --init run --updates 6" + in_files);
    expect_trained(result, "tuned2", "tuned");
}

TEST_F(AutoPackedText, IsWrittenAgainWhereTheFilesChanged) {
    ASSERT_EQ(train(" --out whole --updates 17").status, 0);
    ASSERT_EQ(train(" --out run --updates 10" + in_files).status, 0);
    const std::string good = here_.read("text.a"), other_files = "run/text.prepared is not used: it was made of other files";
    const auto run_before = digests_of_weights(here_, "run");
    here_.write("text.a", good.substr(good.find('\n') + 1) + "a\n");
    const ProgramResult refused = resume(" --updates 17");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr(other_files), HasSubstr("heddle: the training text is another one than the run began with")));
    EXPECT_EQ(digests_of_weights(here_, "run"), run_before);

    // Different bytes, but the same words.
    std::string spaced = good;
    spaced.insert(spaced.find(' '), " ");
    here_.write("text.a", spaced);
    const ProgramResult resumed = resume(" --updates 14");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, AllOf(HasSubstr(other_files), HasSubstr("run/text.prepared: 90 pairs with ")));
    std::string damaged = here_.read(ids);
    ++damaged[10];
    here_.write(ids, damaged);
    const ProgramResult mended = resume(" --updates 17");
    expect_resumed(mended, "whole");
    EXPECT_THAT(mended.err, HasSubstr("run/text.prepared is not used: run/text.prepared/00000.ids: the file is damaged"));
    EXPECT_EQ(here_.run("prepare --check run/text.prepared").status, 0);
}

TEST_F(AutoPackedText, GoesWithItsRun) {
    ASSERT_EQ(train(" --out memory --updates 6").status, 0);
    ASSERT_EQ(train(" --out run --updates 6" + in_files).status, 0);
    expect_complaint(train(" --out run --updates 6" + in_files), 1, "run holds a run already; go on with it");
    expect_complaint(here_.run("train --train run/text.prepared --out run --overwrite --updates 1"), 2,
                     "--train run/text.prepared is what a run in --out run prepared, and goes with that run; give another --out");
    EXPECT_TRUE(here_.exists(ids));
    expect_trained(train(" --out run --overwrite --updates 6" + in_files), "run", "memory");
    EXPECT_TRUE(here_.exists(ids));
    expect_trained(train(" --out run --overwrite --updates 6"), "run", "memory");
    EXPECT_FALSE(here_.exists("run/text.prepared"));
}

TEST_F(AutoPackedText, DoesNotTakeThePlaceOfSomebodyElses) {
    ASSERT_EQ(here_.run("prepare --train text --source a --target b --vocab-type word --out mine/text.prepared").status, 0);
    const std::string header = here_.read("mine/text.prepared/prepared.json");
    expect_complaint(train(" --out mine --updates 1" + in_files), 1,
                     "mine/text.prepared: heddle train did not write this, and needs the name");
    for (const std::string overwrite : {"", " --overwrite"}) {
        const ProgramResult beside = train(" --out mine --updates 1" + overwrite);
        EXPECT_EQ(beside.status, 0) << beside.err;
        EXPECT_EQ(here_.read("mine/text.prepared/prepared.json"), header);
    }
}

TEST_F(AutoPackedText, LeavesNothingWhereTrainingCannotBegin) {
    const std::string begin = " --out run --updates 1" + in_files;
    const ProgramResult short_ones = train(begin + " --max-length 1");
    EXPECT_EQ(short_ones.status, 1);
    EXPECT_THAT(short_ones.err, AllOf(HasSubstr("run/text.prepared: 90 pairs with "), HasSubstr("--max-length")));
    EXPECT_FALSE(here_.exists("run"));

    ASSERT_EQ(train(" --out run --updates 4").status, 0);
    const auto before = digests_of_weights(here_, "run");
    here_.write("text.b", here_.read("text.b") + "\xff\n");
    here_.write("text.a", here_.read("text.a") + "a\n");
    for (const std::string run : {"none", "run --overwrite"}) {
        const ProgramResult invalid = train(in_files + " --updates 1 --out " + run);
        EXPECT_EQ(invalid.status, 1);
        EXPECT_THAT(invalid.err, HasSubstr("text.b:91: this line is not UTF-8"));
    }
    EXPECT_FALSE(here_.exists("none"));
    EXPECT_FALSE(here_.exists("run/text.prepared"));
    EXPECT_EQ(digests_of_weights(here_, "run"), before);
    expect_no_parts();
}

// A text that takes a moment to prepare, and a program that is killed in that moment.
class KilledAutoPackedText : public AutoPackedText {
  protected:
    KilledAutoPackedText() { write_toy_corpus(here_, 60'000); }

    std::vector<std::string> words(const std::string& text) const {
        std::istringstream stream(text);
        return {std::istream_iterator<std::string>(stream), {}};
    }
    void kill_while_preparing(const std::string& arguments) const {
        RunningProgram program(here_, words(arguments));
        int status = 0;
        while (!here_.exists("run/text.prepared.part/00000.ids") && !has_part_of_ids())
            ASSERT_FALSE(program.ends_within(100us, status)) << here_.read("log");
        program.send(SIGSTOP);
        EXPECT_FALSE(here_.exists(ids)) << "it was too fast for this test";
        while_stopped();
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

    const std::string begin_ = "train" + auto_packed_text_pairs + auto_packed_text_run + " --out run --updates 2" + in_files;
    std::function<void()> while_stopped = [] {};
};

TEST_F(KilledAutoPackedText, IsBegunAgain) {
    ASSERT_EQ(train(" --out memory --updates 2").status, 0);
    while_stopped = [&] {
        expect_complaint(here_.run(begin_), 1, "run is in use: process ");
        const ProgramResult held = train(" --out run --updates 2");
        EXPECT_EQ(held.status, 1);
        EXPECT_THAT(held.err, HasSubstr("heddle: run is in use: process "));
    };
    kill_while_preparing(begin_);
    EXPECT_FALSE(here_.exists("run/config.toml"));
    expect_trained(here_.run(begin_), "run", "memory");
    EXPECT_TRUE(here_.exists(ids));
    while_stopped = [] {};

    // Killed while a resumed run prepares it: what is there is neither used nor lost.
    fs::remove_all(here_.path("run/text.prepared"));
    kill_while_preparing("train --resume run --updates 4");
    const ProgramResult resumed = resume(" --updates 4");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    expect_no_parts();

    // Resumed with the text in memory.
    fs::remove_all(here_.path("run"));
    kill_while_preparing(begin_);
    expect_trained(train(" --out run --updates 2"), "run", "memory");
}

TEST_F(AutoPackedText, SaysThatTheDiskIsFull) {
    write_toy_corpus(here_, 20'000);
    fs::create_directory(here_.path("disk"));
    here_.write("script", "mount -t tmpfs -o size=128k tmpfs disk || exit 90\n'" HEDDLE_PROGRAM "' train" +
                              auto_packed_text_pairs + auto_packed_text_run + in_files +
                              " --out disk/run --updates 1 2>log; status=$?; ls -A disk >left; exit $status\n");
    const int status = std::system(("cd '" + here_.path("") + "' && unshare -rm bash script 2>unshared").c_str());
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 90 || !here_.exists("log"))
        GTEST_SKIP() << "no disk can be mounted here: " << here_.read("unshared");
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(here_.read("log"), AllOf(HasSubstr("disk/run/text.prepared.part/00000."), HasSubstr("No space left on device")));
    EXPECT_EQ(here_.read("left"), "");
}

}  // namespace
}  // namespace heddle
