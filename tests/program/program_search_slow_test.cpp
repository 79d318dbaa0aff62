// The choice of a length penalty at the end of training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/program.h"
#include "tests/program/program_process.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* small =
    " --layers 1 --d-model 16 --heads 2 --d-ff 32 --valid-sentences 0 --average 2 --log-every 1000 --schedule constant --lr 1e-3";

// The log lines about the choice, without the seconds and the folder.
std::string chosen(const ProgramResult& trained) {
    EXPECT_EQ(trained.status, 0) << trained.err;
    for (const std::string& line : lines_of(trained.err))
        if (line.starts_with("length penalty ")) return line.substr(0, line.find(" (chosen in"));
    return {};
}

TEST(ProgramSearchSlow, IsChosenAtTheEndAndTheSameOnAnyThreadsAndWayThere) {
    const Workplace here;
    const std::string straight = chosen(here.run("train --task copy --out ONE --epochs 2 --threads 2" + std::string(small)));
    EXPECT_THAT(straight, AllOf(StartsWith("length penalty "), HasSubstr(" % exact of "), HasSubstr(" validation pairs")));
    EXPECT_THAT(here.read("ONE/search.toml"), HasSubstr("\nlength-penalty = "));

    ASSERT_EQ(here.run("train --task copy --out TWO --epochs 1 --threads 1 --tune-search false" + std::string(small)).status, 0);
    EXPECT_FALSE(here.exists("TWO/search.toml"));
    EXPECT_EQ(chosen(here.run("train --resume TWO --epochs 2 --tune-search")), straight);
    EXPECT_EQ(here.read("TWO/search.toml"), here.read("ONE/search.toml"));
    // Resuming a finished run does not train further, and makes the same choice.
    std::filesystem::remove(here.path("TWO/search.toml"));
    EXPECT_EQ(chosen(here.run("train --resume TWO")), straight);
    EXPECT_EQ(here.read("TWO/search.toml"), here.read("ONE/search.toml"));
    // A choice that exists is kept, since it may be the user's.
    here.write("TWO/search.toml", "length-penalty = 0.77\n");
    const ProgramResult again = here.run("train --resume TWO");
    EXPECT_THAT(again.err, AllOf(HasSubstr("nothing to train"), Not(HasSubstr("choosing the length penalty"))));
    EXPECT_EQ(here.read("TWO/search.toml"), "length-penalty = 0.77\n");
}

TEST(ProgramSearchSlow, IsNotChosenByATrainingThatIsToldToStop) {
    const Workplace here;
    ASSERT_EQ(here.run("train --task copy --out RUN --epochs 1 --tune-search false" + std::string(small)).status, 0);
    RunningProgram program(here, {"train", "--resume", "RUN", "--epochs", "2", "--tune-search"});
    for (int i = 0; i < 12000 && here.read("log").find("choosing the length penalty") == std::string::npos; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program.send(SIGTERM);
    EXPECT_EQ(program.wait(), 128 + SIGTERM) << here.read("log");
    EXPECT_THAT(here.read("log"),
                AllOf(HasSubstr("no length penalty was chosen: stopped by SIGTERM; heddle evaluate --tune RUN "),
                      HasSubstr("wrote RUN/report.html")));
    EXPECT_FALSE(here.exists("RUN/search.toml"));
}

}  // namespace
}  // namespace heddle
