// Data sets in batches.
#include "heddle/batches.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support.h"

namespace heddle {
namespace {

using Values = std::vector<double>;

Tensor inputs() { return Tensor::arange(14, DType::f32).reshape({7, 2}); }
Tensor targets() { return Tensor::arange(7); }

// {.shuffle = true} would be the same order in every epoch.
template <class Seed>
concept Shuffles = requires(Seed seed) {
    BatchOptions{.shuffle = seed};
};
static_assert(Shuffles<int> && Shuffles<std::uint64_t> && !Shuffles<bool>);

TEST(Batches, GoThroughAllExamplesInOrder) {
    std::vector<std::int64_t> sizes;
    Values seen;
    for (const auto& [x, y] : batches(inputs(), targets(), 3)) {
        sizes.push_back(x.dim(0));
        ASSERT_EQ(y.dim(0), x.dim(0));
        for (std::int64_t i = 0; i < x.dim(0); ++i)
            EXPECT_EQ(x.to_vector()[static_cast<std::size_t>(2 * i)], 2 * y.to_vector()[static_cast<std::size_t>(i)]);
        for (const double value : y.to_vector()) seen.push_back(value);
    }
    EXPECT_EQ(sizes, (std::vector<std::int64_t>{3, 3, 1}));
    EXPECT_EQ(seen, targets().to_vector());
}

// The pair is gone when the loop begins.
TEST(Batches, KeepTheTensorsOfATemporary) {
    const auto examples = [] { return std::pair(inputs(), targets()); };
    std::int64_t count = 0;
    for (const auto& [x, y] : batches(examples(), 7)) count += x.dim(0) + y.dim(0);
    EXPECT_EQ(count, 14);
}

TEST(Batches, ShuffleByASeed) {
    const auto order = [](std::uint64_t seed) {
        Values seen;
        for (const auto& [x, y] : batches(inputs(), targets(), 2, {.shuffle = seed})) {
            for (std::int64_t i = 0; i < x.dim(0); ++i)
                EXPECT_EQ(x.to_vector()[static_cast<std::size_t>(2 * i)], 2 * y.to_vector()[static_cast<std::size_t>(i)]);
            for (const double value : y.to_vector()) seen.push_back(value);
        }
        return seen;
    };
    EXPECT_EQ(order(1), order(1));
    EXPECT_NE(order(1), order(2));
    Values sorted = order(1);
    EXPECT_NE(sorted, targets().to_vector());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, targets().to_vector());
}

TEST(Batches, MayLeaveOutAShortLastOne) {
    EXPECT_EQ(batches(inputs(), targets(), 3).size(), 3);
    EXPECT_EQ(batches(inputs(), targets(), 3, {.drop_last = true}).size(), 2);
    EXPECT_EQ(batches(inputs(), targets(), 7, {.drop_last = true}).size(), 1);
    EXPECT_EQ(batches(inputs(), targets(), 100).size(), 1);
    EXPECT_EQ(batches(Tensor::zeros({0, 2}), Tensor::zeros({0}), 4).size(), 0);
}

TEST(Batches, LaySingleExamplesUnderEachOther) {
    std::vector<std::pair<Tensor, Tensor>> examples;
    for (std::int32_t i = 0; i < 5; ++i) examples.emplace_back(Tensor::full({3}, i), Tensor::full({}, i, DType::i32));
    std::vector<Shape> shapes;
    Values seen;
    for (const auto& [x, y] : batches(examples, 2)) {
        shapes.push_back(x.shape());
        EXPECT_EQ(y.dtype(), DType::i32);
        for (const double value : x.to_vector()) seen.push_back(value);
    }
    EXPECT_EQ(shapes, (std::vector<Shape>{{2, 3}, {2, 3}, {1, 3}}));
    EXPECT_EQ(seen, (Values{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}));
}

TEST(Batches, SayWhatIsWrong) {
    expect_error([] { batches(inputs(), Tensor::arange(6), 2); }, "x is [7, 2] and y is [6]; wanted one first extent");
    expect_error([] { batches(inputs(), targets(), 0); }, "the batch size is 0");
    expect_error([] { batches(Tensor(), targets(), 2); }, "batches: x");
    expect_error([] { batches(std::vector<std::pair<Tensor, Tensor>>(), 2); }, "there is no example");
    expect_error(
        [] {
            batches({{Tensor::zeros({2}), Tensor::zeros({})}, {Tensor::zeros({3}), Tensor::zeros({})}}, 2);
        },
        "example 1 is [3] f32 on cpu, but the first one is [2] f32 on cpu");
    expect_error([] { static_cast<void>(batches(inputs(), targets(), 3).batch(3)); }, "there is no batch 3, only 3");
}

}  // namespace
}  // namespace heddle
