// Runs that start at one CPU level and are resumed at another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cpu.h"
#include "core/digest.h"
#include "tests/program.h"

namespace heddle {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* const tiny =
    " --train text --source a --target b --vocab-type word --layers 1 --d-model 48 --heads 2 --d-ff 80 --threads 1"
    " --batch-tokens 40 --log-every 1 --tune-search false";

class Levels : public testing::Test {
  protected:
    void SetUp() override {
        if (processor_level() < CpuLevel::v3) GTEST_SKIP() << "this processor has one level";
        std::string a, b;
        for (int line = 0; line < 40; ++line) {
            for (int word = 0; word < 3 + line % 3; ++word) {
                a += static_cast<char>('a' + line * (word + 3) % 7);
                b += static_cast<char>('A' + line * (word + 3) % 7);
                a += ' ', b += ' ';
            }
            a.back() = b.back() = '\n';
        }
        here_.write("text.a", a);
        here_.write("text.b", b);
    }

    ProgramResult train(const std::string& arguments) const {
        ProgramResult result = here_.run("train" + arguments);
        EXPECT_EQ(result.status, 0) << result.err;
        return result;
    }
    // The digest of a run's weights after six updates.
    std::string learned(const std::string& run) const {
        EXPECT_TRUE(here_.exists(run + "/saves/6/model.safetensors"));
        return digest(here_.read(run + "/saves/6/model.safetensors"));
    }

    const Workplace here_;
};

TEST_F(Levels, OfARunStandInItsSavesAndConfiguration) {
    train(std::string(tiny) + " --updates 2 --cpu-level v2 --out low");
    EXPECT_THAT(here_.read("low/config.toml"), HasSubstr("cpu-level = \"v2\""));
    EXPECT_THAT(here_.read("low/saves/2/state.json"), HasSubstr("\"cpu_level\": \"v2 (SSE4.2)\""));
    train(std::string(tiny) + " --updates 2 --out best");
    EXPECT_THAT(here_.read("best/config.toml"), Not(HasSubstr("cpu-level")));
    EXPECT_THAT(here_.read("best/saves/2/state.json"), HasSubstr(std::string(name(processor_level()))));
}

// A run of a processor with other bits is resumed: with the same bits if told to, otherwise with a warning.
TEST_F(Levels, WithOtherBitsAreWarnedOfAndCanBeKept) {
    train(std::string(tiny) + " --updates 6 --cpu-level v2 --out whole");
    // Simulates another machine: the environment chooses the level, so the run's configuration does not name v2.
    setenv("HEDDLE_CPU_LEVEL", "v2", 1);
    for (const char* run : {"told", "untold"}) train(std::string(tiny) + " --updates 3 --out " + run);
    unsetenv("HEDDLE_CPU_LEVEL");
    const ProgramResult told = train(" --resume told --updates 6 --cpu-level v2");
    EXPECT_THAT(told.err, Not(HasSubstr("warning")));
    EXPECT_EQ(learned("told"), learned("whole"));
    const ProgramResult untold = train(" --resume untold --updates 6");
    EXPECT_THAT(untold.err, HasSubstr("warning: the save was computed at the CPU level v2 (SSE4.2), what follows is at " +
                                      std::string(name(processor_level()))));
    EXPECT_THAT(untold.err, HasSubstr("--cpu-level v2 would keep the bits"));
#if defined(HEDDLE_OPTIMIZED)  // otherwise no level fuses multiplications and additions, and the bits happen to be equal
    EXPECT_NE(learned("untold"), learned("whole"));
#endif
    EXPECT_THAT(here_.read("untold/log.jsonl"), HasSubstr("warning: the save was computed at"));
}

TEST_F(Levels, WithTheSameBitsGoOnAsOne) {
    if (processor_level() < CpuLevel::v4) GTEST_SKIP() << "this processor has no AVX-512";
    train(std::string(tiny) + " --updates 6 --cpu-level v4 --out whole");
    train(std::string(tiny) + " --updates 3 --cpu-level v3 --out run");
    const ProgramResult result = train(" --resume run --updates 6 --cpu-level v4");
    EXPECT_THAT(result.err, HasSubstr("cpu-level = \"v4\" (was \"v3\")"));
    EXPECT_THAT(result.err, Not(HasSubstr("warning")));
    EXPECT_EQ(learned("run"), learned("whole"));
}

}  // namespace
}  // namespace heddle
