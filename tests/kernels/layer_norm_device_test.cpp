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

TEST(LayerNormDevice, ForwardIsTheFormula) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : kCases) {
            const Inputs given(one, numbers), exact = given.as(kExact), plain = given.as(kPlain);
            const LayerNormResult got = layer_norm_forward(given.x, given.gamma, given.beta, kEps);
            const LayerNormResult want = layer_norm_forward(exact.x, exact.gamma, exact.beta, kEps);
            const LayerNormResult usual = layer_norm_forward(plain.x, plain.gamma, plain.beta, kEps);
            expect_close(got.y, want.y, numbers, "y of " + text(one), allowed(one), usual.y);
            expect_close(got.mean, want.mean, numbers, "mean of " + text(one), allowed(one));
            expect_close(got.rstd, want.rstd, numbers, "rstd of " + text(one), allowed(one));
        }
}

TEST(LayerNormDevice, BackwardIsTheFormula) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : kCases) {
            if (one.cols == 1) continue;  // dx is 0 but for rounding, which has no scale to be compared with
            const Inputs given(one, numbers);
            const auto gradients = [&](const Inputs& of, DType sums) {
                const LayerNormResult forward = layer_norm_forward(of.x, of.gamma, of.beta, kEps);
                Tensor dgamma = Tensor::full({one.cols}, 0.5, sums, of.x.device()),
                       dbeta = Tensor::full({one.cols}, -2, sums, of.x.device());
                const Tensor dx = layer_norm_backward(of.dy, of.x, of.gamma, forward.mean, forward.rstd, true, dgamma, dbeta);
                return std::vector<Tensor>{dx, dgamma, dbeta};
            };
            const std::vector<Tensor> want = gradients(given.as(kExact), DType::f64),
                                      usual = gradients(given.as(kPlain), DType::f32);
            std::vector<DType> kinds = {numbers.dtype};
            if (numbers.dtype == DType::bf16) kinds.push_back(DType::f32);
            for (const DType sums : kinds) {
                const std::vector<Tensor> got = gradients(given, sums);
                for (std::size_t i = 0; i < 3; ++i)
                    expect_close(got[i], want[i], numbers, "gradient " + std::to_string(i) + " of " + text(one), allowed(one),
                                 usual[i]);
                expect_same_bits_again([&] { return gradients(given, sums); }, text(one));
            }
        }
}

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

TEST(LayerNormDevice, ResidualBackwardIsTheFormula) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : kCases)
            for (const bool with_sum : {false, true}) {
                if (one.cols == 1) continue;  // as above
                const Dropout dropout(with_sum ? 0.3 : 0.0, 99);
                const Inputs given(one, numbers);
                const auto gradients = [&](const Inputs& of) {
                    const LayerNormResult forward = layer_norm_forward(of.x, of.gamma, of.beta, kEps);
                    Tensor dgamma = Tensor::zeros({one.cols}, of.x.dtype(), of.x.device());
                    Tensor dbeta = Tensor::zeros({one.cols}, of.x.dtype(), of.x.device());
                    const auto [dx, d_sublayer] =
                        residual_layer_norm_backward(with_sum ? of.d_sum : Tensor(), of.dy, of.x, of.gamma, forward.mean,
                                                     forward.rstd, dropout, true, dgamma, dbeta);
                    return std::vector<Tensor>{dx, d_sublayer, dgamma, dbeta};
                };
                const std::vector<Tensor> got = gradients(given), want = gradients(given.as(kExact)),
                                          usual = gradients(given.as(kPlain));
                for (std::size_t i = 0; i < 4; ++i)
                    expect_close(got[i], want[i], numbers, "gradient " + std::to_string(i) + " of " + text(one), allowed(one),
                                 usual[i]);
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
                wide.data<double>()[cols + at] = std::nan("");
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

TEST(LayerNormDevice, TakesRowsThatAreNotAligned) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {24, 264, 1040}) {
            const Case one{3, cols, false};
            Inputs given(one, numbers);
            const Inputs exact = given.as(kExact);
            given.x = offset_by_one(given.x);
            given.dy = offset_by_one(given.dy);
            const LayerNormResult got = layer_norm_forward(given.x, given.gamma, given.beta, kEps);
            const LayerNormResult want = layer_norm_forward(exact.x, exact.gamma, exact.beta, kEps);
            expect_close(got.y, want.y, numbers, text(one), allowed(one));
            expect_close(layer_norm_backward(given.dy, given.x, given.gamma, got.mean, got.rstd, true, {}, {}),
                         layer_norm_backward(exact.dy, exact.x, exact.gamma, want.mean, want.rstd, true, {}, {}), numbers,
                         text(one), allowed(one),
                         through_bf16(layer_norm_backward(exact.dy, exact.x, exact.gamma, want.mean, want.rstd, true, {}, {})));
        }
}

TEST(LayerNormDevice, GivesBetaForAConstantRowAndKeepsANan) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {48, 1040}) {
            const Tensor gamma = in(numbers, normal({cols}, DType::f64, 3)), beta = in(numbers, normal({cols}, DType::f64, 4));
            // The f64 reference takes no correction: a number whose sums are exact.
            Tensor x = Tensor::full({2, cols}, numbers.dtype == DType::f64 ? 1234.5 : 1234.56, DType::f64);
            x.data<double>()[cols + 3] = std::nan("");
            const Tensor y = layer_norm_forward(in(numbers, x), gamma, beta, kEps).y.to(Device::cpu);
            EXPECT_TRUE(same_bits(y.slice(0, 1), beta.to(Device::cpu).reshape({1, cols}))) << to_string(numbers);
            for (const double value : y.slice(1, 2).to_vector()) EXPECT_TRUE(std::isnan(value));
        }
}

// Runs of several chunks in the sums over chunks, and chunks of more rows than a block has warps.
TEST(LayerNormDevice, LargeNumbersOfRowsAreSummedInRuns) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : {Case{1100, 8, false}, Case{1030, 257, false}, Case{40000, 3, false}}) {
            if (one.cols == 257 && numbers.dtype != DType::f32) continue;
            const Inputs given(one, numbers), exact = given.as(kExact), plain = given.as(kPlain);
            const LayerNormResult forward = layer_norm_forward(exact.x, exact.gamma, exact.beta, kEps);
            const auto sums = [&](const Inputs& of, DType dtype) {
                const Device where = of.x.device();
                Tensor dgamma = Tensor::zeros({one.cols}, dtype, where), dbeta = dgamma.clone();
                layer_norm_backward(of.dy, of.x, of.gamma, forward.mean.to(dtype).to(where), forward.rstd.to(dtype).to(where),
                                    false, dgamma, dbeta);
                return std::vector<Tensor>{dgamma, dbeta};
            };
            const DType dtype = numbers.dtype == DType::f64 ? DType::f64 : DType::f32;
            const std::vector<Tensor> got = sums(given, dtype), want = sums(exact, DType::f64), usual = sums(plain, DType::f32);
            for (std::size_t i = 0; i < 2; ++i)
                expect_close(got[i], want[i], {numbers.device, dtype}, "sum " + std::to_string(i) + " of " + text(one),
                             {1e-11, 2e-5}, usual[i]);
        }
}

TEST(LayerNormDevice, LargeRowsAreReadAgain) {
    for (const Numbers& numbers : all_numbers()) {
        const std::int64_t cols = 24592;
        const Case one{1, cols, false};
        const Inputs given(one, numbers), exact = given.as(kExact), plain = given.as(kPlain);
        const auto both = [&](const Inputs& of) {
            const LayerNormResult forward =
                residual_layer_norm_forward(of.x, of.sublayer, of.gamma, of.beta, kEps, Dropout(0.1, 5));
            Tensor dgamma = Tensor::zeros({cols}, of.x.dtype(), of.x.device()), dbeta = dgamma.clone();
            const Tensor dx = layer_norm_backward(of.dy, of.x, of.gamma, forward.mean, forward.rstd, true, dgamma, dbeta);
            return std::vector<Tensor>{forward.y, dx, dgamma, dbeta};
        };
        const std::vector<Tensor> got = both(given), want = both(exact), usual = both(plain);
        for (std::size_t i = 0; i < 4; ++i)
            expect_close(got[i], want[i], numbers, "result " + std::to_string(i) + " of " + text(one), {1e-12, 1e-5}, usual[i]);
    }
}

}  // namespace
}  // namespace heddle::kernels
