// Layer normalisation on every device against the f64 reference.
#include "kernels/layer_norm/layer_norm.h"
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

TEST(LayerNormDevice, ResidualFormIsTheTwoOps) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : kCases)
            for (const double probability : {0.0, 0.3}) {
                const Dropout dropout(probability, 99);
                const Inputs given(one, numbers), exact = given.as(kExact), plain = given.as(kPlain);
                const auto forward = [&](const Inputs& of) {
                    return residual_layer_norm_forward(of.x, of.sublayer, of.gamma, of.beta, kEps, dropout);
                };
                const LayerNormResult got = forward(given), want = forward(exact);
                LayerNormResult usual = forward(plain);
                const std::string what = text(one) + ", dropout " + std::to_string(probability);
                expect_close(got.sum, want.sum, numbers, "sum of " + what, allowed(one), usual.sum);
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
