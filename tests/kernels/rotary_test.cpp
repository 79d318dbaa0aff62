#include "kernels/rotary/rotary.h"

#include <cmath>

#include "autograd/ops.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

double dot_of_rows(const Tensor& x, std::int64_t a, std::int64_t b) {
    const std::vector<double> values = x.to_vector();
    double sum = 0;
    for (std::int64_t c = 0; c < x.cols(); ++c)
        sum += values[static_cast<std::size_t>(a * x.cols() + c)] * values[static_cast<std::size_t>(b * x.cols() + c)];
    return sum;
}

TEST(Rotary, TheProductOfTwoRowsDependsOnTheirDistanceAlone) {
    const Tensor pair = normal({2, 32}, DType::f64, 1);
    std::vector<double> products;
    for (const std::int32_t first : {0, 1, 1000, 100'000'000}) {
        const Tensor positions = Tensor::from(std::vector{first, first + 7}, {2});
        products.push_back(dot_of_rows(rotary(pair, {}, positions, {.head_dim = 32, .columns = 32}), 0, 1));
    }
    // 2^-65 of a turn a position are 2e-11 radians here.
    for (const double each : products) EXPECT_NEAR(each, products[0], 1e-9);
    EXPECT_GT(std::abs(products[0] - dot_of_rows(pair, 0, 1)), 0.1);
}

TEST(Rotary, PositionZeroChangesNothingAndTheInverseTurnsBack) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = normal({9, 50}, DType::f32, 2).to(dtype);
        const Spans spans = Spans::packed({1, 8});
        const Tensor y = rotary(x, spans, {}, {.head_dim = 16, .columns = 48, .first_position = 0});
        EXPECT_TRUE(same_bits(y.slice(0, 1), x.slice(0, 1)));
        EXPECT_FALSE(same_bits(y.slice(2, 3), x.slice(2, 3)));
        const Tensor back = rotary(y, spans, {}, {.head_dim = 16, .columns = 48, .inverse = true});
        EXPECT_LT(relative_error(back, x.to(DType::f64)), dtype == DType::f32 ? 3e-7 : 1e-15);
    }
}

// A decoder gives each row its position; a sentence's rows have theirs from the spans.
TEST(Rotary, PositionsOfRowsGiveTheBitsOfSpans) {
    for (const std::int64_t head_dim : {2, 8, 16, 24, 32, 64}) {
        const Tensor x = normal({7, 3 * head_dim}, DType::f32, 3);
        const Spans spans = Spans::packed({4, 3});
        const Tensor whole = rotary(x, spans, {}, {.head_dim = head_dim, .columns = 2 * head_dim, .first_position = 5});
        const Tensor positions = Tensor::from(std::vector<std::int32_t>{5, 6, 7, 8, 5, 6, 7}, {7});
        EXPECT_TRUE(same_bits(rotary(x, {}, positions, {.head_dim = head_dim, .columns = 2 * head_dim}), whole)) << head_dim;
        for (std::int64_t row = 0; row < 7; ++row)
            EXPECT_TRUE(same_bits(rotary(x.slice(row, row + 1).clone(), {}, positions.slice(row, row + 1).clone(),
                                         {.head_dim = head_dim, .columns = 2 * head_dim}),
                                  whole.slice(row, row + 1)))
                << head_dim << ", row " << row;
    }
}

TEST(Rotary, ANaNStaysInItsPair) {
    Tensor x = Tensor::full({1, 36}, 1, DType::f32);
    x.mutable_data<float>()[3] = NAN;
    const std::vector<double> y =
        rotary(x, Spans::equal(1, 1), {}, {.head_dim = 16, .columns = 32, .first_position = 9}).to_vector();
    for (std::size_t c = 0; c < y.size(); ++c) EXPECT_EQ(std::isnan(y[c]), c == 3 || c == 11) << c;
}

TEST(Rotary, FrequenciesFallFromOneRadianToNearlyOneOverTheBase) {
    const auto radians = [](std::uint64_t turns) { return std::ldexp(static_cast<double>(turns), -64) * 2 * std::acos(-1.0); };
    const auto frequencies = rotary_frequencies(8, 10000);
    ASSERT_EQ(frequencies.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(radians(frequencies[i]) / std::pow(10.0, -static_cast<double>(i)), 1, 1e-14);
    EXPECT_NEAR(radians(rotary_frequencies(4, 100)[1]), 0.1, 1e-15);  // another head: not what is remembered
    EXPECT_NEAR(radians(rotary_frequencies(4, 400)[1]), 0.05, 1e-15);
}

TEST(Rotary, NamesWhatDoesNotFit) {
    const Tensor x = Tensor::zeros({3, 12}, DType::f32);
    const Spans spans = Spans::equal(1, 3);
    const auto expect = [&](const RotaryPlan& plan, const std::string& message) {
        expect_error([&] { rotary(x, spans, {}, plan); }, message);
    };
    expect({.head_dim = 3, .columns = 12}, "rotary: heads of 3 columns, wanted an even number");
    expect({.head_dim = 8, .columns = 12}, "rotary: 12 columns of x [3, 12], wanted a multiple of the head's 8");
    expect({.head_dim = 8, .columns = 16}, "at most 12");
    expect({.head_dim = 4, .columns = 12, .base = 1}, "base is 1, wanted a finite number above 1");
    expect({.head_dim = 4, .columns = 12, .first_position = -1}, "first_position is -1");
    expect({.head_dim = 4, .columns = 12, .first_position = 2'147'483'646}, "a sentence reaches position 2147483648");
    expect_error([&] { rotary(x, Spans::equal(1, 4), {}, {.head_dim = 4, .columns = 4}); },
                 "x has shape [3, 12], wanted [4, 12]");
    const Tensor positions = Tensor::from(std::vector<std::int32_t>{0, -2, 1}, {3});
    expect_error([&] { rotary(x, {}, positions, {.head_dim = 4, .columns = 4}); }, "positions[1] is -2");
    expect_error([&] { rotary(x, {}, positions, {.head_dim = 4, .columns = 4, .first_position = 1}); },
                 "first_position is 1 beside positions for each row");
    expect_error([&] { rotary(x, {}, positions.slice(0, 2), {.head_dim = 4, .columns = 4}); },
                 "positions has shape [2], wanted [3]");
    expect_error([&] { rotary(Tensor::zeros({3, 12}, DType::i32), spans, {}, {.head_dim = 4, .columns = 4}); }, "i32");
}

}  // namespace
}  // namespace heddle::kernels
