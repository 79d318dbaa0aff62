#include "kernels/top_k/top_k.h"

#include <algorithm>
#include <numeric>

#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

using RowFunction = bool (*)(const float*, std::int64_t, std::int64_t, float*, std::int32_t*);

std::vector<RowFunction> all_rows() {
    std::vector<RowFunction> all = HEDDLE_ALL_LEVELS(top_k_row);
    all.push_back(&reference::top_k_row<float>);
    return all;
}

std::vector<std::int32_t> best_columns(std::span<const float> x, std::int64_t k) {
    std::vector<std::int32_t> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [x](std::int32_t a, std::int32_t b) {
        return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)];
    });
    order.resize(static_cast<std::size_t>(k));
    return order;
}

std::vector<std::int32_t> run(RowFunction row, std::span<const float> x, std::int64_t k) {
    std::vector<float> values(static_cast<std::size_t>(k));
    std::vector<std::int32_t> ids(static_cast<std::size_t>(k));
    EXPECT_TRUE(row(x.data(), static_cast<std::int64_t>(x.size()), k, values.data(), ids.data()));
    return ids;
}

TEST(TopK, BreaksTiesTowardsTheSmallerColumn) {
    Sequence random(5);
    for (const std::int64_t vocabulary : {20, 128, 300, 1500}) {
        std::vector<float> x(static_cast<std::size_t>(vocabulary));
        for (float& value : x) value = static_cast<float>(random.below(4));
        for (const RowFunction row : all_rows()) EXPECT_EQ(run(row, x, 12), best_columns(x, 12)) << vocabulary;
        std::fill(x.begin(), x.end(), -3.0f);
        for (const RowFunction row : all_rows()) EXPECT_EQ(run(row, x, 12), best_columns(x, 12)) << vocabulary;
    }
}

TEST(TopK, PutsMinusInfinityLastAndIsSafeForHugeLogits) {
    std::vector<float> x(200, -kInfinity);
    x[150] = 1e4f;
    x[30] = -1e4f;
    for (const RowFunction row : all_rows()) {
        float values[4];
        std::int32_t ids[4];
        EXPECT_TRUE(row(x.data(), 200, 4, values, ids));
        EXPECT_EQ(std::vector<std::int32_t>(ids, ids + 4), (std::vector<std::int32_t>{150, 30, 0, 1}));
        EXPECT_EQ(std::vector<float>(values, values + 4), (std::vector<float>{0, -2e4f, -kInfinity, -kInfinity}));
    }
}

TEST(TopK, ReportsARowWithoutADistribution) {
    for (const float bad : {std::nanf(""), kInfinity})
        for (const std::int64_t place : {0, 77, 149}) {
            Tensor x = normal({3, 150}, DType::f32, 1);
            x.mutable_data<float>()[150 + place] = bad;
            expect_error([&] { top_k_log_softmax(x, 3); }, "top_k: row 1 of logits [3, 150] holds NaN");
            for (const RowFunction row : all_rows()) {
                float values[3];
                std::int32_t ids[3];
                EXPECT_FALSE(row(x.data<float>() + 150, 150, 3, values, ids));
            }
        }
    expect_error([] { top_k_log_softmax(Tensor::full({1, 9}, -kInfinity, DType::f32), 3); }, "nothing but -infinity");
}

TEST(TopK, AcceptsNoRowsAndNamesWhatDoesNotFit) {
    EXPECT_EQ(top_k_log_softmax(Tensor::zeros({0, 9}, DType::f32), 3).ids.shape(), Shape({0, 3}));
    const Tensor x = Tensor::zeros({2, 9}, DType::f32);
    expect_error([&] { top_k_log_softmax(x, 10); }, "top_k: k is 10, wanted 1 to the 9 columns of logits [2, 9]");
    expect_error([&] { top_k_log_softmax(x, 0); }, "top_k: k is 0");
    expect_error([&] { top_k_log_softmax(x.reshape({18}), 1); }, "top_k: logits has shape [18], wanted 2 axes");
}

}  // namespace
}  // namespace heddle::kernels
