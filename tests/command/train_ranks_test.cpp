// The description of a training on several processes.
#include "apps/command/train_ranks.h"

#include <gtest/gtest.h>

#include "tests/translation/thread_ranks.h"

namespace heddle::app {
namespace {

// A pair that counts as this many tokens, including the two ends of sentence.
TokenPair pair_of(std::size_t tokens) { return {std::vector<std::int32_t>(1, 4), std::vector<std::int32_t>(tokens - 3, 5), 0}; }

TEST(TrainRanks, CompareTheTokensOfWholeUpdates) {
    const std::vector<TokenPair> pairs = {pair_of(30), pair_of(10), pair_of(10), pair_of(30), pair_of(8), pair_of(8)};
    BatchPlan plan;
    plan.batches = {{0, 1}, {2, 3}, {4, 5}};
    TrainingOptions options;
    options.shards = 2;
    Mailboxes mail;
    const ThreadRank first(mail, 0, 2);
    // Every batch is an update: 30 of 40 tokens, 30 of 40, and 8 of 16, where the mean is half.
    options.accumulate = 1;
    EXPECT_EQ(description(first, options, pairs, plan),
              "2 processes share the 2 shards of an update; the one with the most tokens has 41.7 % more than the mean");
    // Each process has 40 tokens of the first two batches. The epoch's last update has one batch less.
    options.accumulate = 2;
    EXPECT_EQ(description(first, options, pairs, plan),
              "2 processes share the 2 shards of an update; the one with the most tokens has 0.0 % more than the mean");
}

}  // namespace
}  // namespace heddle::app
