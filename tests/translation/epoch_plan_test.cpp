// Epochs of texts that are planned in windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "apps/translation/batching/batch_stream.h"
#include "core/parallel.h"
#include "core/random.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using Batches = std::vector<std::vector<std::int64_t>>;

std::vector<TokenPair> some_pairs(std::size_t count) {
    Sequence numbers(9);
    std::vector<TokenPair> pairs;
    for (std::size_t i = 0; i < count; ++i) {
        const auto source = static_cast<std::size_t>(1 + numbers.below(12)),
                   target = static_cast<std::size_t>(1 + numbers.below(12));
        pairs.push_back({std::vector<std::int32_t>(source, 4), std::vector<std::int32_t>(target, 5),
                         static_cast<std::int64_t>(std::max(source, target))});
    }
    return pairs;
}

// Windows of five blocks of eight pairs.
constexpr PlanWindows small{.whole = 40, .block = 8, .blocks = 5};
const BatchLimits limits{.batch_tokens = 60, .max_length = 12};

// Of the epoch that the stream is at.
Batches all_batches(BatchStream& stream, std::uint64_t epoch) {
    Batches found;
    stream.seek(epoch);
    for (std::int64_t batch = 0; batch < stream.batches(); ++batch) found.push_back(stream.next().indices);
    return found;
}

void expect_equal(const PlanCounts& a, const PlanCounts& b) {
    EXPECT_EQ(a.sentences, b.sentences);
    EXPECT_EQ(a.source_tokens, b.source_tokens);
    EXPECT_EQ(a.target_tokens, b.target_tokens);
    EXPECT_EQ(a.empty, b.empty);
    EXPECT_EQ(a.too_long, b.too_long);
    EXPECT_EQ(a.too_wide, b.too_wide);
}

TEST(BatchStream, OfASmallTextIsThePlanOfAllItsPairs) {
    const std::vector<TokenPair> pairs = some_pairs(40);
    BatchStream stream(pairs, limits, 3, 2, small);
    const BatchPlan whole = plan_batches(pairs, limits, 3, 2);
    EXPECT_EQ(stream.window().batches, whole.batches);
    EXPECT_EQ(all_batches(stream, 2), whole.batches);
    expect_equal(stream.counts(), whole);
}

TEST(BatchStream, HoldsEveryUsablePairOnceInFullBatches) {
    std::vector<TokenPair> pairs = some_pairs(531);  // the last block and the last window are shorter
    pairs[17].source.clear();
    BatchStream stream(pairs, limits, 3, 2, small);
    const BatchPlan whole = plan_batches(pairs, limits, 3, 2);
    expect_equal(stream.counts(), whole);
    EXPECT_GT(stream.counts().too_long, 0);

    std::multiset<std::int64_t> seen, wanted;
    for (const auto& batch : whole.batches) wanted.insert(batch.begin(), batch.end());
    for (const auto& batch : all_batches(stream, 2)) {
        ASSERT_FALSE(batch.empty());
        seen.insert(batch.begin(), batch.end());
        std::int64_t widest = 0;
        for (const std::int64_t i : batch) widest = std::max(widest, pairs[static_cast<std::size_t>(i)].width());
        EXPECT_LE(widest * static_cast<std::int64_t>(batch.size()), 60);
    }
    EXPECT_EQ(seen, wanted);
    // A window's batches are as full as those of a text with only its pairs.
    std::int64_t windows = 0;
    for (std::int64_t first = 0; first < stream.batches(); first += static_cast<std::int64_t>(stream.window().batches.size())) {
        stream.seek(2, first);
        const PairBatch batch = stream.next();  // now its window is held
        EXPECT_EQ(batch.indices, stream.window().batches.front());
        ++windows;
        std::vector<TokenPair> of_window;
        for (const auto& batch : stream.window().batches)
            for (const std::int64_t i : batch) of_window.push_back(pairs[static_cast<std::size_t>(i)]);
        EXPECT_EQ(stream.window().batches.size(), plan_batches(of_window, limits, 1, 1).batches.size());
    }
    EXPECT_EQ(windows, 14);
}

TEST(BatchStream, IsTheSameFromAnyBatchOn) {
    const std::vector<TokenPair> pairs = some_pairs(531);
    BatchStream stream(pairs, limits, 3, 2, small);
    const Batches batches = all_batches(stream, 2);
    for (std::int64_t first = stream.batches() - 1; first >= 0; first -= 7) {
        BatchStream resumed(pairs, limits, 3, 1, small);
        resumed.seek(2, first);
        EXPECT_EQ(resumed.next().indices, batches[static_cast<std::size_t>(first)]);
        resumed.seek(1);
        resumed.seek(2, first);
        EXPECT_EQ(resumed.next().indices, batches[static_cast<std::size_t>(first)]);
    }
    const int before = threads();
    set_threads(3);
    BatchStream on_three(pairs, limits, 3, 2, small);
    set_threads(before);
    EXPECT_EQ(all_batches(on_three, 2), batches);
    for (const std::int64_t none : {stream.batches(), std::int64_t{-1}}) {
        stream.seek(2, none);
        EXPECT_THROW(stream.next(), Error);
    }
}

// Some have other lengths than when they were counted, as files can that somebody writes to.
TEST(BatchStream, NoticesPairsThatChange) {
    class Growing : public PairStore {
      public:
        std::int64_t size() const override { return 100; }
        PairLengths lengths(std::int64_t) const override { return {.source = length, .target = length, .words = 1}; }
        void append(std::int64_t, std::vector<std::int32_t>&, std::vector<std::int32_t>&) const override {}
        std::int64_t length = 3;
    } pairs;
    for (const std::int64_t other : {1, 9}) {
        pairs.length = 3;
        BatchStream stream(pairs, limits, 1, 1, small);
        pairs.length = other;
        stream.seek(1, stream.batches() - 1);
        expect_error([&] { stream.next(); }, "the lengths of its pairs changed");
    }
}

// The thread reads the plan of a window, which is replaced by the next one.
TEST(BatchStream, PacksWindowAfterWindow) {
    const std::vector<TokenPair> pairs = some_pairs(531);
    BatchStream stream(pairs, limits, 3, 2, small);
    const Batches batches = all_batches(stream, 2);
    for (const std::int64_t ahead : {0, 1, 3})
        for (const std::size_t first : {std::size_t{0}, batches.size() / 2, batches.size() - 1}) {
            stream.pack_ahead(ahead);
            stream.seek(2, static_cast<std::int64_t>(first));
            for (std::size_t i = first; i < batches.size(); ++i) EXPECT_EQ(stream.next().indices, batches[i]) << i;
            EXPECT_THROW(stream.next(), Error);
        }
}

// With a thread that has packed some batches, too.
TEST(BatchStream, MayBeMoved) {
    const std::vector<TokenPair> pairs = some_pairs(531);
    BatchStream stream(pairs, limits, 3, 2, small);
    const Batches batches = all_batches(stream, 2);
    stream.pack_ahead(3);
    stream.seek(2);
    EXPECT_EQ(stream.next().indices, batches[0]);
    BatchStream moved = std::move(stream);
    for (std::size_t i = 1; i < batches.size(); ++i) EXPECT_EQ(moved.next().indices, batches[i]) << i;
}

TEST(BatchStream, BringsOtherPairsTogetherInEachEpochAndWithEachSeed) {
    const std::vector<TokenPair> pairs = some_pairs(531);
    const auto of = [&](std::uint64_t seed, std::uint64_t epoch) {
        BatchStream stream(pairs, limits, seed, epoch, small);
        return all_batches(stream, epoch);
    };
    EXPECT_EQ(of(3, 2), of(3, 2));
    EXPECT_NE(of(3, 2), of(3, 3));
    EXPECT_NE(of(3, 2), of(4, 2));
    // The first window of an epoch is no run of the file.
    BatchStream stream(pairs, limits, 3, 2, small);
    std::set<std::int64_t> blocks;
    for (const auto& batch : stream.window().batches)
        for (const std::int64_t i : batch) blocks.insert(i / small.block);
    EXPECT_EQ(blocks.size(), 5u);
    EXPECT_GT(*blocks.rbegin() - *blocks.begin(), 5);
}

TEST(BatchStream, PassesOverWindowsWithoutUsablePairs) {
    std::vector<TokenPair> pairs = some_pairs(200);
    for (std::size_t i = 0; i < pairs.size(); ++i)
        if (i < 160) pairs[i].target.clear();
    for (std::uint64_t epoch = 1; epoch < 9; ++epoch) {
        BatchStream stream(pairs, {.batch_tokens = 60}, 1, epoch, {.whole = 10, .block = 40, .blocks = 1});
        std::int64_t sentences = 0;
        for (const auto& batch : all_batches(stream, epoch)) sentences += static_cast<std::int64_t>(batch.size());
        EXPECT_EQ(sentences, 40);
        EXPECT_EQ(stream.counts().empty, 160);
    }
    for (TokenPair& pair : pairs) pair.target.clear();
    expect_error([&] { BatchStream(pairs, limits, 1, 1, small); }, "none of the 200 pairs can be used: 200 with an empty side");
    expect_error([&] { BatchStream(some_pairs(50), {.batch_tokens = 0}, 1, 1, small); }, "wanted one of them above 0");
}

}  // namespace
}  // namespace heddle::app
