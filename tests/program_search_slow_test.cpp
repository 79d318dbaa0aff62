// The length penalty that a training ends with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* small =
    " --layers 1 --d-model 16 --heads 2 --d-ff 32 --valid-sentences 0 --average 2 --log-every 1000 --schedule constant --lr 1e-3";

// What the log says of the choice, but for the seconds and the folder.
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
    // An ended run that is resumed trains no further, and comes to the same end.
    std::filesystem::remove(here.path("TWO/search.toml"));
    EXPECT_EQ(chosen(here.run("train --resume TWO")), straight);
    EXPECT_EQ(here.read("TWO/search.toml"), here.read("ONE/search.toml"));
}

}  // namespace
}  // namespace heddle
