// Layer normalisation on every device against the f64 reference.
#include "kernels/layer_norm/layer_norm.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/residual/residual.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

constexpr double kEps = 1e-5;

struct Case {
    std::int64_t rows, cols;
    bool shifted;  ///< a large mean
};
// Narrow and wide rows of every vector width, and both ways through shared memory.
const Case kCases[] = {{1, 1, false},  {3, 32, false}, {33, 33, false},  {70, 127, false}, {2, 512, true},   {5, 129, true},
                       {37, 24, true}, {0, 8, false},  {3, 1024, false}, {2, 1025, true},  {2, 1032, false}, {33, 520, false}};

struct Inputs {
    Tensor x, sublayer, gamma, beta, dy, d_sum;

    Inputs(const Case& one, const Numbers& numbers)
        : x(normal({one.rows, one.cols}, DType::f64, 1, one.shifted ? 300 : 0.3, 2)),
          sublayer(normal({one.rows, one.cols}, DType::f64, 2)),
          gamma(normal({one.cols}, DType::f64, 3, 1, 0.3)),
          beta(normal({one.cols}, DType::f64, 4)),
          dy(normal({one.rows, one.cols}, DType::f64, 5)),
          d_sum(normal({one.rows, one.cols}, DType::f64, 6)) {
        for (Tensor* each : {&x, &sublayer, &gamma, &beta, &dy, &d_sum}) *each = in(numbers, *each);
    }
    Inputs as(const Numbers& numbers) const {
        Inputs result = *this;
        for (Tensor* each : {&result.x, &result.sublayer, &result.gamma, &result.beta, &result.dy, &result.d_sum})
            *each = each->to(Device::cpu).to(numbers.dtype);
        return result;
    }
};

std::string text(const Case& one) {
    return std::to_string(one.rows) + " x " + std::to_string(one.cols) + (one.shifted ? ", shifted" : "");
}

// f32: the deviations of a row around 300 carry the rounding of x itself in mean and sum.
Allowed allowed(const Case& one) { return {.f64 = one.shifted ? 1e-11 : 1e-12, .f32 = one.shifted ? 6e-5 : 3e-6}; }

constexpr Numbers kExact{Device::cpu, DType::f64}, kPlain{Device::cpu, DType::f32};

TEST(LayerNormDevice, GivesOnlyWhatIsWanted) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {40, 1040}) {
            const Inputs given({35, cols, false}, numbers);
            const LayerNormResult forward = layer_norm_forward(given.x, given.gamma, given.beta, kEps);
            const auto zeros = [&] { return Tensor::zeros({cols}, numbers.dtype, numbers.device); };
            const auto backward = [&](bool dx, const Tensor& dgamma, const Tensor& dbeta) {
                return layer_norm_backward(given.dy, given.x, given.gamma, forward.mean, forward.rstd, dx, dgamma, dbeta);
            };
            const Tensor dgamma = zeros(), dbeta = zeros(), alone = zeros();
            const Tensor dx = backward(true, dgamma, dbeta);
            EXPECT_TRUE(same_bits(backward(true, {}, {}).to(Device::cpu), dx.to(Device::cpu)));
            EXPECT_FALSE(backward(false, {}, alone).defined());
            EXPECT_TRUE(same_bits(alone.to(Device::cpu), dbeta.to(Device::cpu)));
        }
}

TEST(LayerNormDevice, AddsToTheGradientSoFar) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {40, 1040}) {
            const Inputs given({35, cols, false}, numbers), exact = given.as(kExact);
            const LayerNormResult forward = layer_norm_forward(given.x, given.gamma, given.beta, kEps);
            const LayerNormResult rms = rms_norm_forward(given.x, given.gamma, kEps);
            const LayerNormResult want = layer_norm_forward(exact.x, exact.gamma, exact.beta, kEps);
            const LayerNormResult want_rms = rms_norm_forward(exact.x, exact.gamma, kEps);
            const Tensor sum = given.d_sum.clone(), rms_sum = given.d_sum.clone();
            EXPECT_TRUE(layer_norm_backward(given.dy, given.x, given.gamma, forward.mean, forward.rstd, true, {}, {}, sum)
                            .shares_storage(sum));
            rms_norm_backward(given.dy, given.x, given.gamma, rms.rstd, true, {}, rms_sum);
            const auto total = [&](const Tensor& dx) { return add(exact.d_sum, dx); };
            expect_close(sum, total(layer_norm_backward(exact.dy, exact.x, exact.gamma, want.mean, want.rstd, true, {}, {})),
                         numbers, "dx + sum", allowed({35, cols, false}));
            expect_close(rms_sum, total(rms_norm_backward(exact.dy, exact.x, exact.gamma, want_rms.rstd, true, {})), numbers,
                         "dx + sum of RMS", allowed({35, cols, false}));
        }
}

TEST(LayerNormDevice, ResidualFormIsTheTwoOps) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : kCases)
            for (const double probability : {0.0, 0.3}) {
                const Dropout dropout(probability, 99);
                const Inputs given(one, numbers), exact = given.as(kExact), plain = given.as(kPlain);
                const auto forward = [&](const Inputs& of) {
                    return residual_layer_norm_forward(of.x, of.sublayer, of.gamma, of.beta, kEps, dropout);
                };
                const LayerNormResult got = forward(given), usual = forward(plain);
                const std::string what = text(one) + ", dropout " + std::to_string(probability);
                expect_close(got.sum, cases::plain_residual(exact.x, exact.sublayer, dropout), numbers, "sum of " + what,
                             allowed(one), usual.sum);
                const Tensor rounded_sum = got.sum.to(Device::cpu).to(DType::f64);
                expect_close(got.y, layer_norm_forward(rounded_sum, exact.gamma, exact.beta, kEps).y, numbers, "y of " + what,
                             allowed(one));
                const std::vector<double> sums = got.sum.to(Device::cpu).to_vector(), from = given.x.to(Device::cpu).to_vector();
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    const auto at = static_cast<std::int64_t>(i);
                    if (dropout.keeps_row(at / one.cols, at % one.cols)) continue;
                    ASSERT_EQ(sums[i], from[i]) << what << ": element " << i << " is dropped";
                }
            }
}

// As with dropout and residual one after the other: 0 times NaN is NaN.
TEST(LayerNormDevice, KeepsANaNThatIsDropped) {
    const Dropout dropout(0.5, 99);
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {48, 1040}) {
            std::int64_t at = 0;
            while (dropout.keeps_row(1, at)) ++at;
            Inputs given({2, cols, false}, numbers);
            const auto with_nan = [&](const Tensor& tensor) {
                Tensor wide = tensor.to(Device::cpu).to(DType::f64).clone();
                wide.mutable_data<double>()[cols + at] = std::nan("");
                return in(numbers, wide);
            };
            given.sublayer = with_nan(given.sublayer);
            const LayerNormResult result =
                residual_layer_norm_forward(given.x, given.sublayer, given.gamma, given.beta, kEps, dropout);
            EXPECT_TRUE(
                same_bits(result.sum.to(Device::cpu), residual_forward(given.x, given.sublayer, dropout).to(Device::cpu)));
            EXPECT_TRUE(std::isnan(result.sum.to(Device::cpu).to_vector()[static_cast<std::size_t>(cols + at)]));
            for (const double value : result.y.to(Device::cpu).slice(1, 2).to_vector()) EXPECT_TRUE(std::isnan(value));

            const LayerNormResult whole = layer_norm_forward(given.x, given.gamma, given.beta, kEps);
            const auto [dx, d_sublayer] = residual_layer_norm_backward(with_nan(given.d_sum), given.dy, given.x, given.gamma,
                                                                       whole.mean, whole.rstd, dropout, true, {}, {});
            for (const Tensor& each : {dx, d_sublayer}) {
                const std::vector<double> values = each.to(Device::cpu).to_vector();
                for (std::size_t i = 0; i < values.size(); ++i)
                    EXPECT_EQ(std::isnan(values[i]), i == static_cast<std::size_t>(cols + at)) << to_string(numbers) << " " << i;
            }
        }
}

// A row times a power of two has the same normalised row, and its gradient over that power: eps matters to neither. From 2^64 on
// the squares overflow in f32, from 2^512 in f64, and near the largest number the sum of the row does, too.
TEST(LayerNormDevice, NormalisesRowsWhoseSquaresOverflow) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {3, 48, 1040, 13000})
            for (const int exponent : {60, 64, 66, 100, 122}) {
                const int e = numbers.dtype == DType::f64 ? 8 * exponent + 32 : exponent;
                const Inputs small({3, cols, false}, numbers), exact = small.as(kExact);
                const auto times_power = [&](const Tensor& x, int power) {
                    Tensor wide = x.to(Device::cpu).to(DType::f64).clone();
                    for (double& each : wide.mutable_values<double>()) each = std::ldexp(each, power);
                    return in(numbers, wide);
                };
                const Tensor x = times_power(small.x, e), sublayer = times_power(small.sublayer, e);
                const LayerNormResult given = layer_norm_forward(x, small.gamma, small.beta, kEps);
                const LayerNormResult want = layer_norm_forward(exact.x, exact.gamma, exact.beta, 1e-300);
                const std::string what = std::to_string(cols) + " columns times 2^" + std::to_string(e);
                const Allowed near{.f64 = 1e-11, .f32 = 2e-5};
                expect_close(given.y, want.y, numbers, "y of " + what, near);

                const auto sums = [&](const Numbers& of) { return Tensor::zeros({cols}, of.dtype, of.device); };
                const Tensor dgamma = sums(numbers), dbeta = sums(numbers), want_dgamma = sums(kExact), want_dbeta = sums(kExact);
                const Tensor dx = layer_norm_backward(small.dy, x, small.gamma, given.mean, given.rstd, true, dgamma, dbeta);
                const Tensor want_dx =
                    layer_norm_backward(exact.dy, exact.x, exact.gamma, want.mean, want.rstd, true, want_dgamma, want_dbeta);
                if (e < 120 || numbers.dtype == DType::f64)  // below, gradients are subnormal
                    expect_close(times_power(dx, e), want_dx, numbers, "dx of " + what, near);
                expect_close(dgamma, want_dgamma, numbers, "dgamma of " + what, near);

                const LayerNormResult residual =
                    residual_layer_norm_forward(x, sublayer, small.gamma, small.beta, kEps, Dropout(0.3, 5));
                const LayerNormResult alone = layer_norm_forward(residual.sum, small.gamma, small.beta, kEps);
                EXPECT_TRUE(same_bits(residual.y.to(Device::cpu), alone.y.to(Device::cpu))) << what;
                EXPECT_TRUE(same_bits(residual.rstd.to(Device::cpu), alone.rstd.to(Device::cpu))) << what;
            }
}

TEST(LayerNormDevice, GivesBetaForAConstantRowOfTheLargestNumber) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {48, 1040}) {
            const Tensor gamma = in(numbers, normal({cols}, DType::f64, 3)), beta = in(numbers, normal({cols}, DType::f64, 4));
            const Tensor x = in(numbers, Tensor::full({1, cols}, numbers.dtype == DType::f64 ? 0x1p1023 : 0x1p127, DType::f64));
            const LayerNormResult given = layer_norm_forward(x, gamma, beta, kEps);
            EXPECT_TRUE(same_bits(given.y.to(Device::cpu), beta.to(Device::cpu).reshape({1, cols}))) << to_string(numbers);
            EXPECT_NEAR(given.rstd.to(Device::cpu).to_vector()[0] * std::sqrt(kEps), 1, 1e-6) << to_string(numbers);
        }
}

// The mean of this row is so far from its last number that their difference overflows: no result, but a visible one.
TEST(LayerNormDevice, ShowsADifferenceFromTheMeanThatOverflows) {
    for (const Numbers& numbers : all_numbers()) {
        const double largest = numbers.dtype == DType::f64 ? 0x1.cp1023 : 0x1.cp127;
        Tensor x = Tensor::full({1, 40}, largest, DType::f64);
        x.mutable_data<double>()[7] = -largest;
        const Tensor ones = in(numbers, Tensor::full({40}, 1, DType::f64));
        const LayerNormResult given = layer_norm_forward(in(numbers, x), ones, ones, kEps);
        // The CPU's f32 reference has the range: it may be right instead.
        const double at = given.y.to(Device::cpu).to_vector()[7];
        EXPECT_TRUE(!std::isfinite(at) || std::abs(at - (1 - std::sqrt(39.0))) < 1e-5) << to_string(numbers) << ": " << at;
    }
}

TEST(LayerNormDevice, GivesNaNForARowWithAnInfinity) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {48, 1040}) {
            Tensor x = normal({1, cols}, DType::f64, 1);
            x.mutable_data<double>()[5] = std::numeric_limits<double>::infinity();
            const Tensor ones = in(numbers, Tensor::full({cols}, 1, DType::f64));
            for (const double y : layer_norm_forward(in(numbers, x), ones, ones, kEps).y.to(Device::cpu).to_vector())
                ASSERT_TRUE(std::isnan(y)) << to_string(numbers);
        }
}

TEST(LayerNormDevice, GivesBetaForAConstantRowAndKeepsANan) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {48, 1040}) {
            const Tensor gamma = in(numbers, normal({cols}, DType::f64, 3)), beta = in(numbers, normal({cols}, DType::f64, 4));
            // The f64 reference takes no correction: a number whose sums are exact.
            Tensor x = Tensor::full({2, cols}, numbers.dtype == DType::f64 ? 1234.5 : 1234.56, DType::f64);
            x.mutable_data<double>()[cols + 3] = std::nan("");
            const Tensor y = layer_norm_forward(in(numbers, x), gamma, beta, kEps).y.to(Device::cpu);
            EXPECT_TRUE(same_bits(y.slice(0, 1), beta.to(Device::cpu).reshape({1, cols}))) << to_string(numbers);
            for (const double value : y.slice(1, 2).to_vector()) EXPECT_TRUE(std::isnan(value));
        }
}

}  // namespace
}  // namespace heddle::kernels
