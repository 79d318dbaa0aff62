// core/spans.h: the positions of a batch's sentences.
#include "core/spans.h"

#include <limits>

#include "tests/support.h"

namespace heddle {
namespace {

using Lengths = std::vector<std::int64_t>;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Spans, PackedSentencesLieOneAfterTheOther) {
    const Spans spans = Spans::packed(Lengths{3, 0, 5, 1});
    ASSERT_EQ(spans.size(), 4);
    EXPECT_EQ(spans[0], (Span{0, 3}));
    EXPECT_EQ(spans[1], (Span{3, 0}));
    EXPECT_EQ(spans[2], (Span{3, 5}));
    EXPECT_EQ(spans[3], (Span{8, 1}));
    EXPECT_EQ(spans.rows(), 9);
    EXPECT_EQ(spans.tokens(), 9);
    EXPECT_EQ(spans.longest(), 5);
    EXPECT_FALSE(spans.has_gaps());
}

TEST(Spans, PaddedSentencesStartAtMultiplesOfTheTime) {
    const Spans spans = Spans::padded(Lengths{2, 4, 0}, 4);
    EXPECT_EQ(spans[0], (Span{0, 2}));
    EXPECT_EQ(spans[1], (Span{4, 4}));
    EXPECT_EQ(spans[2], (Span{8, 0}));
    EXPECT_EQ(spans.rows(), 12);
    EXPECT_EQ(spans.tokens(), 6);
    EXPECT_TRUE(spans.has_gaps());
    EXPECT_FALSE(Spans::padded(Lengths{4, 4}, 4).has_gaps());
}

TEST(Spans, EqualOnesArePacked) {
    EXPECT_EQ(Spans::equal(3, 4), Spans::packed(Lengths{4, 4, 4}));
    EXPECT_EQ(Spans::equal(0, 4), Spans());
}

TEST(Spans, AFullPaddedBatchIsAPackedOne) { EXPECT_EQ(Spans::padded(Lengths{3, 3}, 3), Spans::packed(Lengths{3, 3})); }

TEST(Spans, NoSentencesAreABatchToo) {
    for (const Spans& spans : {Spans(), Spans::packed(Lengths{}), Spans::padded(Lengths{}, 7)}) {
        EXPECT_EQ(spans.size(), 0);
        EXPECT_EQ(spans.rows(), 0);
        EXPECT_EQ(spans.longest(), 0);
        EXPECT_EQ(spans.begin(), spans.end());
    }
    EXPECT_TRUE(Spans({}, 5).has_gaps());
}

TEST(Spans, LeaveGapsAndATailWhereTheyAreTold) {
    const Spans spans({{1, 2}, {5, 1}}, 10);
    EXPECT_EQ(spans.tokens(), 3);
    EXPECT_EQ(spans.rows(), 10);
    EXPECT_TRUE(spans.has_gaps());
    std::int64_t sum = 0;
    for (const Span& span : spans) sum += span.start;
    EXPECT_EQ(sum, 6);
}

TEST(Spans, RefuseOverlapDisorderAndRowsThatAreNotThere) {
    const auto make = [](std::vector<Span> spans, std::int64_t rows) { return [=] { Spans made(spans, rows); }; };
    expect_error(make({{0, 3}, {2, 2}}, 9), "spans: 2 rows from row 2 overlap the sentence before or leave the 9 rows");
    expect_error(make({{4, 2}, {0, 2}}, 9), "2 rows from row 0");
    expect_error(make({{8, 2}}, 9), "leave the 9 rows");
    expect_error(make({{10, 0}}, 9), "leave the 9 rows");
    expect_error(make({{-1, 2}}, 9), "2 rows from row -1");
    expect_error(make({{0, -1}}, 9), "-1 rows from row 0");
    expect_error(make({}, -1), "a tensor of -1 rows");
    expect_error(make({{kMost, kMost}}, 9), "leave the 9 rows");
    expect_error(make({{1, kMost}}, kMost), "leave the");
}

TEST(Spans, RefuseLengthsThatDoNotFit) {
    expect_error([] { Spans::padded(Lengths{3, 5}, 4); }, "a sentence of 5 tokens in a padded batch of 4 time steps");
    expect_error([] { Spans::padded(Lengths{-1}, 4); }, "-1 rows");
    expect_error([] { Spans::packed(Lengths{4, -1, 4}); }, "-1 rows");
}

}  // namespace
}  // namespace heddle
