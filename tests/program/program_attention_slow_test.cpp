// The alignments of a trained model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program.h"

namespace heddle {
namespace {

// Of a model that has learned, in a few seconds, to repeat its input.
TEST(ProgramAttention, OfACopyIsTheDiagonal) {
    const Workplace here;
    const ProgramResult trained = here.run(
        "train --task copy --out RUN --updates 300 --layers 1 --d-model 32 --heads 2 --d-ff 64 --lr 4e-3 --valid-sentences 0 "
        "--threads 2");
    ASSERT_EQ(trained.status, 0) << trained.err;
    const ProgramResult result = here.run("translate --model RUN --alignment", here.read("RUN/test.in"));
    ASSERT_EQ(result.status, 0) << result.err;
    int diagonal = 0, all = 0;
    for (const std::string& line : lines_of(result.out)) {
        const std::string pairs = line.substr(line.find(" ||| ") + 5);
        ASSERT_THAT(pairs, testing::MatchesRegex("([0-9]+-[0-9]+ ?)*")) << line;
        std::istringstream stream(pairs);
        for (std::string pair; stream >> pair; ++all) {
            const std::size_t dash = pair.find('-');
            diagonal += pair.substr(0, dash) == pair.substr(dash + 1) ? 1 : 0;
        }
    }
    EXPECT_GT(all, 5000);
    EXPECT_GT(diagonal, all * 9 / 10) << diagonal << " of " << all;
}

}  // namespace
}  // namespace heddle
