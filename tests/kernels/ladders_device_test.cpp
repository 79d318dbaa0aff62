// The teaching ladders: each step of each computes what the library does.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention/attention.h"
#include "kernels/attention/ladder/attention_ladder.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/feed_forward/feed_forward_ladder.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/layer_norm/layer_norm_ladder.h"
#include "kernels/permute/permute.h"
#include "kernels/permute/permute_ladder.h"
#include "kernels/softmax/softmax.h"
#include "kernels/softmax/softmax_ladder.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr Numbers kNumbers{Device::cuda, DType::f32};
constexpr Allowed kAllowed{.f32 = 4e-6};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Rows {
    std::int64_t rows, cols;
};
constexpr Rows kSizes[] = {{1, 1}, {3, 33}, {130, 5}, {5, 128}, {2, 1024}, {3, 1025}, {2, 2500}};
constexpr std::int64_t kMostInRegisters = 1024;  // columns of a row that a warp keeps

Tensor on_device(const Tensor& tensor) { return in(kNumbers, tensor); }
Tensor as_f32(const Tensor& tensor) { return rounded(kNumbers, tensor); }

// Runs check(step, name) for the steps from 0 to `last`.
template <class Step, class Check>
void for_each_step(Step last, const Check& check) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for (int step = 0; step <= static_cast<int>(last); ++step) check(static_cast<Step>(step), "step " + std::to_string(step));
}

// ---- the transposed copy

TEST(TransposeLadder, EveryStepIsTheReference) {
    for_each_step(TransposeStep::swizzle, [](TransposeStep step, const std::string& name) {
        for (const auto& [rows, cols] : {Rows{1, 1}, {33, 31}, {64, 32}, {5, 70}, {0, 4}, {4, 0}}) {
            const Tensor x = normal({rows, cols}, DType::f32, 1), want = permute_forward(x, std::array{1, 0});
            for (const Tensor& there : {on_device(x), offset_by_one(on_device(x))})
                EXPECT_TRUE(same_bits(transpose_ladder(step, there).to(Device::cpu), want))
                    << name << ", " << rows << " x " << cols;
        }
    });
    if (!device::available()) return;
    expect_error([] { transpose_ladder(TransposeStep::naive, Tensor::zeros({2, 3})); }, "on the CUDA device");
}

// ---- softmax

TEST(SoftmaxLadder, EveryStepIsTheReference) {
    for_each_step(SoftmaxStep::vectors, [](SoftmaxStep step, const std::string& name) {
        for (const auto& [rows, cols] : kSizes) {
            if (step >= SoftmaxStep::registers && cols > kMostInRegisters) continue;
            const Tensor x = normal({rows, cols}, DType::f64, 1, 0, 3);
            const std::string what = name + ", " + std::to_string(rows) + " x " + std::to_string(cols);
            const Tensor want = softmax_forward(as_f32(x));
            expect_close(softmax_ladder(step, on_device(x)), want, kNumbers, what, kAllowed);
            expect_close(softmax_ladder(step, offset_by_one(on_device(x))), want, kNumbers, what + ", offset", kAllowed);
        }
        EXPECT_EQ(softmax_ladder(step, Tensor::zeros({0, 4}, DType::f32, Device::cuda)).numel(), 0);
    });
}

// Logits of 1e4, -inf, rows of -inf alone, NaN and +inf.
TEST(SoftmaxLadder, EveryStepKeepsTheRulesOfTheOp) {
    for_each_step(SoftmaxStep::vectors, [](SoftmaxStep step, const std::string& name) {
        Tensor x = normal({6, 40}, DType::f64, 2);
        double* const values = x.mutable_data<double>();
        for (int c = 0; c < 40; ++c) values[c] = -kInfinity;
        values[40] = values[42] = 1e4;
        values[2 * 40 + 39] = std::nan("");
        values[3 * 40 + 7] = kInfinity;
        values[4 * 40] = -kInfinity;
        expect_close(softmax_ladder(step, on_device(x)), softmax_forward(as_f32(x)), kNumbers, name, kAllowed);
    });
}

TEST(SoftmaxLadder, RefusesWhatItCannot) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    expect_error([] { softmax_ladder(SoftmaxStep::naive, Tensor::zeros({2, 3})); }, "on the CUDA device");
    const Tensor wide = Tensor::zeros({1, 1025}, DType::f32, Device::cuda);
    expect_error([&] { softmax_ladder(SoftmaxStep::registers, wide); }, "up to 1024 columns; x has 1025");
}

// ---- layer norm

TEST(LayerNormLadder, EveryStepIsTheReference) {
    for_each_step(LayerNormStep::vectors, [](LayerNormStep step, const std::string& name) {
        for (const auto& [rows, cols] : kSizes) {
            if (step >= LayerNormStep::registers && cols > kMostInRegisters) continue;
            const Tensor x = normal({rows, cols}, DType::f64, 1, 2, 3), gamma = normal({cols}, DType::f64, 2);
            const Tensor beta = normal({cols}, DType::f64, 3);
            const std::string what = name + ", " + std::to_string(rows) + " x " + std::to_string(cols);
            const Tensor want = layer_norm_forward(as_f32(x), as_f32(gamma), as_f32(beta), 1e-5).y;
            expect_close(layer_norm_ladder(step, on_device(x), on_device(gamma), on_device(beta), 1e-5), want, kNumbers, what,
                         kAllowed);
            expect_close(layer_norm_ladder(step, offset_by_one(on_device(x)), on_device(gamma), on_device(beta), 1e-5), want,
                         kNumbers, what + ", offset", kAllowed);
        }
    });
}

// mean(x^2) - mean(x)^2 in f32 would be wrong in the first digit of the variance. A sum near 200,000 is rounded to 1/64 with each
// number, which leaves some 10^-4 of the mean.
TEST(LayerNormLadder, EveryStepKeepsTheDigitsOfALargeMean) {
    for_each_step(LayerNormStep::vectors, [](LayerNormStep step, const std::string& name) {
        const Tensor x = normal({4, 200}, DType::f64, 1, 1000, 1), gamma = Tensor::full({200}, 1, DType::f64);
        const Tensor beta = Tensor::zeros({200}, DType::f64);
        expect_close(layer_norm_ladder(step, on_device(x), on_device(gamma), on_device(beta), 1e-5),
                     layer_norm_forward(as_f32(x), gamma, beta, 1e-5).y, kNumbers, name, {.f32 = 5e-4});
    });
}

TEST(LayerNormLadder, RefusesWhatItCannot) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const auto zeros = [](const Shape& shape) { return Tensor::zeros(shape, DType::f32, Device::cuda); };
    expect_error([&] { layer_norm_ladder(LayerNormStep::naive, zeros({2, 3}), zeros({2}), zeros({2}), 1e-5); }, "gamma [cols]");
    expect_error(
        [&] {
            layer_norm_ladder(LayerNormStep::vectors, zeros({1, 1025}), zeros({1025}), zeros({1025}), 1e-5);
        },
        "x has 1025");
}

// ---- attention

TEST(AttentionLadder, EveryStepIsTheReference) {
    struct Size {
        std::int64_t sentences, time, dim;
    };
    for_each_step(AttentionStep::rows, [](AttentionStep step, const std::string& name) {
        for (const auto& [sentences, time, dim] :
             {Size{1, 1, 1}, Size{3, 5, 8}, Size{2, 33, 32}, Size{1, 70, 64}, Size{2, 40, 33}, Size{1, 32, 128}}) {
            const Tensor query = normal({sentences * time, dim}, DType::f64, 1, 0, 2);
            const Tensor key = normal(query.shape(), DType::f64, 2), value = normal(query.shape(), DType::f64, 3);
            const Spans spans = Spans::equal(sentences, time);
            const Tensor want =
                attention_forward(as_f32(query), as_f32(key), as_f32(value), {.query_spans = spans, .key_spans = spans}, false)
                    .output;
            const std::string what =
                name + ", " + std::to_string(sentences) + " x " + std::to_string(time) + " x " + std::to_string(dim);
            expect_close(attention_ladder(step, on_device(query), on_device(key), on_device(value), time), want, kNumbers, what,
                         {.f32 = 1e-5});
        }
    });
}

// Scores of 1e4 overflow no exponential.
TEST(AttentionLadder, EveryStepSubtractsTheLargestScore) {
    for_each_step(AttentionStep::rows, [](AttentionStep step, const std::string& name) {
        const Tensor query = normal({36, 16}, DType::f64, 1, 0, 100), key = normal({36, 16}, DType::f64, 2, 0, 100);
        const Tensor value = normal({36, 16}, DType::f64, 3);
        const Spans spans = Spans::packed(std::vector<std::int64_t>{36});
        const Tensor want =
            attention_forward(as_f32(query), as_f32(key), as_f32(value), {.query_spans = spans, .key_spans = spans}, false)
                .output;
        // A score near 1e4 is known to 1e-3, and so is its exponential.
        expect_close(attention_ladder(step, on_device(query), on_device(key), on_device(value), 36), want, kNumbers, name,
                     {.f32 = 1e-2});
    });
}

TEST(AttentionLadder, RefusesWhatItCannot) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const auto refuse = [](AttentionStep step, const Shape& shape, std::int64_t time, const char* part) {
        const Tensor x = Tensor::zeros(shape, DType::f32, Device::cuda);
        expect_error([&] { attention_ladder(step, x, x, x, time); }, part);
    };
    refuse(AttentionStep::naive, {5, 2}, 2, "query has 5 rows; wanted a multiple of time, 2");
    refuse(AttentionStep::naive, {4, 129}, 2, "up to 128 columns, not 129");
    refuse(AttentionStep::fused, {3073, 1}, 3073, "up to 3072 scores, not 3073");
}

// ---- feed-forward

struct Network {
    Tensor x;
    FeedForwardWeights weights;
    explicit Network(std::int64_t rows, std::int64_t d_model, std::int64_t d_ff, std::int64_t out)
        : x(normal({rows, d_model}, DType::f64, 1)),
          weights{normal({d_ff, d_model}, DType::f64, 2), normal({d_ff}, DType::f64, 3), normal({out, d_ff}, DType::f64, 4),
                  normal({out}, DType::f64, 5)} {}
    Tensor want() const {
        const auto& [w1, b1, w2, b2] = weights;
        return feed_forward_forward(as_f32(x), {as_f32(w1), as_f32(b1), as_f32(w2), as_f32(b2)}, Activation::relu, {}, false).y;
    }
    FeedForwardWeights weights_on_device() const {
        const auto& [w1, b1, w2, b2] = weights;
        return {on_device(w1), on_device(b1), on_device(w2), on_device(b2)};
    }
};

TEST(FeedForwardLadder, EveryStepIsTheReference) {
    struct Size {
        std::int64_t rows, d_model, d_ff, out;
    };
    for_each_step(FeedForwardStep::copies_ahead, [](FeedForwardStep step, const std::string& name) {
        for (const auto& [rows, d_model, d_ff, out] :
             {Size{1, 1, 1, 1}, Size{17, 33, 65, 31}, Size{5, 32, 64, 32}, Size{33, 8, 100, 128}, Size{2, 128, 32, 7},
              Size{3, 129, 40, 5}, Size{18, 6, 33, 130}}) {
            if (step >= FeedForwardStep::fused && std::max(d_model, out) > 128) continue;
            const Network net(rows, d_model, d_ff, out);
            expect_close(feed_forward_ladder(step, on_device(net.x), net.weights_on_device()), net.want(), kNumbers,
                         name + ", " + std::to_string(rows) + " rows", {.f32 = 1e-5});
        }
    });
}

TEST(FeedForwardLadder, EveryStepKeepsANanInItsRow) {
    for_each_step(FeedForwardStep::copies_ahead, [](FeedForwardStep step, const std::string& name) {
        Network net(3, 4, 40, 5);
        net.x.mutable_data<double>()[6] = std::nan("");
        expect_close(feed_forward_ladder(step, on_device(net.x), net.weights_on_device()), net.want(), kNumbers, name,
                     {.f32 = 1e-5});
    });
}

TEST(FeedForwardLadder, RefusesWhatItCannot) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Network wide(2, 129, 4, 4), fits(2, 4, 4, 4);
    expect_error([&] { feed_forward_ladder(FeedForwardStep::fused, on_device(wide.x), wide.weights_on_device()); },
                 "these have 129 and 4");
    expect_error([&] { feed_forward_ladder(FeedForwardStep::naive, on_device(wide.x), fits.weights_on_device()); },
                 "wanted x [rows, d_model]");
    FeedForwardWeights without = fits.weights_on_device();
    without.b1 = {};
    expect_error([&] { feed_forward_ladder(FeedForwardStep::naive, on_device(fits.x), without); }, "wanted x, w1, b1, w2 and b2");
}

// The bits of a row depend on that row alone, and each run has the same.
TEST(Ladders, ARowHasTheSameBitsAlone) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor x = on_device(normal({40, 96}, DType::f64, 1)), gamma = on_device(normal({96}, DType::f64, 2));
    const Tensor row = x.slice(39, 40), beta = on_device(normal({96}, DType::f64, 3));
    const Network net(40, 96, 64, 20);
    const FeedForwardWeights weights = net.weights_on_device();
    const auto expect_same = [](const Tensor& all, const Tensor& alone, int step) {
        EXPECT_TRUE(same_bits(all.to(Device::cpu).slice(39, 40), alone.to(Device::cpu))) << "step " << step;
    };
    for (int i = 0; i <= static_cast<int>(SoftmaxStep::vectors); ++i) {
        const auto step = static_cast<SoftmaxStep>(i);
        expect_same(softmax_ladder(step, x), softmax_ladder(step, row), i);
    }
    for (int i = 0; i <= static_cast<int>(LayerNormStep::vectors); ++i) {
        const auto step = static_cast<LayerNormStep>(i);
        expect_same(layer_norm_ladder(step, x, gamma, beta, 1e-5), layer_norm_ladder(step, row, gamma, beta, 1e-5), i);
    }
    for (int i = 0; i <= static_cast<int>(FeedForwardStep::copies_ahead); ++i) {
        const auto step = static_cast<FeedForwardStep>(i);
        expect_same(feed_forward_ladder(step, x, weights), feed_forward_ladder(step, row, weights), i);
    }
}

}  // namespace
}  // namespace heddle::kernels
