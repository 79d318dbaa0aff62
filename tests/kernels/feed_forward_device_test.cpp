// The feed-forward network on every device: NaN and infinities, and what the kernels are chosen by and cost. That all of them
// give the network is shown by the cases of feed_forward (tests/kernels/every_op_device_test.cpp).
#include <gtest/gtest.h>

#include <iostream>

#include "kernels/device/inspect.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/matmul/batch_invariant.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::Activation;
using kernels::FeedForwardWeights;

constexpr Activation kActivations[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu};

struct NetworkCase {
    std::int64_t rows, d_model, d_ff, out;
    bool biases = true;
};
std::string text(const NetworkCase& at, Activation activation, double p) {
    return std::to_string(at.rows) + " rows, " + std::to_string(at.d_model) + " to " + std::to_string(at.d_ff) + " to " +
           std::to_string(at.out) + ", activation " + std::to_string(static_cast<int>(activation)) + ", dropout " +
           std::to_string(p);
}

struct Network {
    Tensor x, dy;
    FeedForwardWeights weights;
};

Network network(const NetworkCase& at) {
    return {normal({at.rows, at.d_model}, DType::f64, 1),
            normal({at.rows, at.out}, DType::f64, 2),
            {normal({at.d_ff, at.d_model}, DType::f64, 3, 0, 0.5), at.biases ? normal({at.d_ff}, DType::f64, 4) : Tensor(),
             normal({at.out, at.d_ff}, DType::f64, 5, 0, 0.5), at.biases ? normal({at.out}, DType::f64, 6) : Tensor()}};
}

template <class Convert>
Network converted(const Network& net, const Convert& convert) {
    const FeedForwardWeights& w = net.weights;
    return {convert(net.x), convert(net.dy), {convert(w.w1), convert(w.b1), convert(w.w2), convert(w.b2)}};
}

// A NaN that ReLU turned into 0 would be trained on, and nobody would see it.
TEST(FeedForwardDevice, ReluKeepsANaN) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t d_model : {8, 136, 520}) {
            Network net = network({3, d_model, 16, 8});
            net.weights.w1.mutable_data<double>()[0] = std::numeric_limits<double>::quiet_NaN();
            const auto [x, dy, weights] = converted(net, [&](const Tensor& tensor) { return in(numbers, tensor); });
            const auto zeros = [](const Tensor& like) { return Tensor::zeros(like.shape(), like.dtype(), like.device()); };
            FeedForwardWeights sums{zeros(weights.w1), zeros(weights.b1), zeros(weights.w2), zeros(weights.b2)};
            const auto [y, hidden] = kernels::feed_forward_forward(x, weights, Activation::relu, {}, true);
            const Tensor dx = kernels::feed_forward_backward(dy, x, hidden, weights, Activation::relu, {}, {}, sums);
            for (const double value : y.to(Device::cpu).to_vector()) EXPECT_TRUE(std::isnan(value)) << to_string(numbers);
            EXPECT_TRUE(std::isnan(dx.to(Device::cpu).to_vector()[0])) << "dx = du W1";
            EXPECT_TRUE(std::isnan(sums.w2.to(Device::cpu).to_vector()[0])) << "dW2 = dy^T h";
            EXPECT_NE(sums.b1.to(Device::cpu).to_vector()[0], 0) << "the gradient goes through, as in relu";
        }
}

// ---- the fully fused kernel

// Both widths of the kernels, with copies of 16 bytes and of single elements, and enough tiles of 64 units for all memory to be
// used again.
constexpr NetworkCase kFusedCases[] = {{1, 8, 8, 8},        {70, 32, 200, 48}, {65, 120, 136, 128, false},
                                       {33, 31, 193, 17},   {5, 100, 33, 65},  {17, 64, 70, 20, false},
                                       {150, 128, 136, 64}, {0, 8, 8, 8},      {3, 8, 0, 8},
                                       {3, 0, 8, 4}};

TEST(FeedForwardFused, TwoTilesAWarpAndWhatNobodyAskedForChangeNoBit) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const auto same = [](const Tensor& a, const Tensor& b) { return same_bits(a.to(Device::cpu), b.to(Device::cpu)); };
    for (const NetworkCase& at : kFusedCases)
        for (const Activation activation : kActivations)
            for (const double p : {0.0, 0.3}) {
                const auto given = converted(network(at), [](const Tensor& tensor) {
                    return in({Device::cuda, DType::bf16}, tensor);
                });
                const DropoutMask dropout(p, 78);
                const auto forward = [&](bool keep, int tiles) {
                    return kernels::feed_forward_fused_cuda(given.x, given.weights, activation, dropout, keep, tiles);
                };
                const auto kept = forward(true, 1), wide = forward(true, 2), alone = forward(false, 1);
                EXPECT_TRUE(same(wide.y, kept.y) && same(wide.hidden, kept.hidden) && same(alone.y, kept.y))
                    << text(at, activation, p);
                EXPECT_FALSE(alone.hidden.defined());
                Tensor h, dx, wide_h, wide_dx, other_dx;
                const auto backward = [&](Tensor* again, Tensor& d, int tiles) {
                    return kernels::feed_forward_fused_backward_cuda(given.dy, kept.hidden, given.weights, activation, dropout,
                                                                     again, d, tiles);
                };
                const Tensor du = backward(&h, dx, 1), wide_du = backward(&wide_h, wide_dx, 2);
                EXPECT_TRUE(same(wide_du, du) && same(wide_dx, dx) && same(wide_h, h)) << text(at, activation, p);
                EXPECT_TRUE(same(backward(nullptr, other_dx, 1), du)) << text(at, activation, p);
            }
}

// ---- what they cost

// Where all tiles lie within the matrices, at least 60 % of the shared-memory cycles go to the tensor cores' operands and each
// element of h, u, du and hidden is moved once, in whole sectors.
TEST(FeedForwardCosts, FewSharedCyclesForAProductAndWholeSectors) {
    if (!device::available() || !device::emulated()) GTEST_SKIP() << "a GPU counts neither cycles nor sectors";
    const auto half = [](const Shape& shape, std::uint64_t seed) {
        return in({Device::cuda, DType::bf16}, normal(shape, DType::f64, seed));
    };
    constexpr std::int64_t kSector = 32, kMma = 16 * 8 * 16;
    constexpr double kPerMma = 1.6;
    const auto expect_cheap = [&](const char* what, std::int64_t multiply_adds, const auto& run) {
        const device::Traffic traffic = device::traffic_of(run);
        const double each = static_cast<double>(traffic.shared_cycles) / (static_cast<double>(multiply_adds) / kMma);
        std::cout << what << ": " << each << " shared-memory cycles for each mma, " << traffic.sectors << " sectors\n";
        EXPECT_LE(each, kPerMma) << what;
        return traffic.sectors * kSector;
    };
    const std::int64_t rows = 256, d_ff = 512;
    for (const std::int64_t width : {64, 128}) {
        const FeedForwardWeights weights{half({d_ff, width}, 3), {}, half({width, d_ff}, 5), {}};
        const Tensor x = half({rows, width}, 1);
        Tensor hidden, h, dx;
        expect_cheap("fused", 2 * rows * width * d_ff,
                     [&] { hidden = kernels::feed_forward_fused_cuda(x, weights, Activation::relu, {}, true, 2).hidden; });
        expect_cheap("fused, backward", 2 * rows * width * d_ff,
                     [&] { kernels::feed_forward_fused_backward_cuda(x, hidden, weights, Activation::relu, {}, &h, dx, 2); });
    }
    const std::int64_t terms = 512;
    const Tensor x = half({rows, terms}, 1), w1 = half({d_ff, terms}, 2), w2 = half({terms, d_ff}, 3);
    Tensor u = half({rows, d_ff}, 4), h = half({rows, d_ff}, 5), du = half({rows, d_ff}, 6);
    const std::int64_t tensor = 2 * rows * d_ff;  // bytes of one with d_ff columns
    const std::int64_t factors = 2 * (rows * terms * (d_ff / 128) + d_ff * terms * (rows / 128));
    EXPECT_EQ(expect_cheap("product", rows * terms * d_ff,
                           [&] { kernels::feed_forward_product_cuda(x, w1, {}, Activation::gelu, {}, &u, h); }),
              factors + 2 * tensor);
    EXPECT_EQ(expect_cheap("product, gradient", rows * terms * d_ff,
                           [&] { kernels::feed_forward_product_gradient_cuda(x, w2, u, Activation::gelu, {}, du, &h); }),
              factors + 3 * tensor);
}

// ---- what all of them must not do

// Units beyond d_ff pad the last tile. With an infinite x they would compute 0 times infinity; the result must not contain it.
TEST(FeedForwardFused, InfiniteRowsMeetNoUnitsThatDoNotExist) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for (const DType dtype : {DType::bf16, DType::f32}) {
        Network net = network({2, 8, 9, 8, false});
        for (Tensor* tensor : {&net.x, &net.weights.w1, &net.weights.w2})
            for (double& value : tensor->mutable_values<double>()) value = 1;
        net.x.mutable_values<double>()[3] = std::numeric_limits<double>::infinity();
        const Network given = converted(net, [&](const Tensor& tensor) { return in({Device::cuda, dtype}, tensor); });
        const Tensor y = kernels::feed_forward_forward(given.x, given.weights, Activation::relu, {}, false).y;
        const std::vector<double> values = y.to(Device::cpu).to_vector();
        for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_EQ(values[i], i < 8 ? std::numeric_limits<double>::infinity() : 72) << name(dtype) << " " << i;
    }
}

// The rule must not look at the number of rows where a row's bits must not depend on it.
TEST(FeedForwardFused, IsChosenByTheRule) {
    using kernels::feed_forward_runs_fused;
    EXPECT_TRUE(feed_forward_runs_fused(DType::bf16, 1, 128, 512, 128, true));
    EXPECT_TRUE(feed_forward_runs_fused(DType::bf16, 100000, 64, 256, 64, false));
    EXPECT_FALSE(feed_forward_runs_fused(DType::bf16, 100000, 136, 512, 128, false)) << "x is too wide";
    EXPECT_FALSE(feed_forward_runs_fused(DType::bf16, 100000, 128, 512, 136, false)) << "y is too wide";
    EXPECT_FALSE(feed_forward_runs_fused(DType::bf16, 100, 128, 2048, 128, false)) << "few rows, a long walk";
    EXPECT_TRUE(feed_forward_runs_fused(DType::bf16, 8192, 128, 2048, 128, false));
    EXPECT_TRUE(feed_forward_runs_fused(DType::f32, 320, 128, 512, 128, false));
    EXPECT_FALSE(feed_forward_runs_fused(DType::f32, 320, 128, 512, 128, true)) << "nothing is kept in f32";
    EXPECT_FALSE(feed_forward_runs_fused(DType::f32, 4096, 128, 512, 128, false)) << "the arithmetic takes longer";
    EXPECT_FALSE(feed_forward_runs_fused(DType::f64, 1, 8, 8, 8, false));
    EXPECT_TRUE(kernels::feed_forward_has_epilogue(DType::bf16, 512));
    EXPECT_FALSE(kernels::feed_forward_has_epilogue(DType::bf16, 520)) << "cuBLASLt makes up for the pass";
    EXPECT_FALSE(kernels::feed_forward_has_epilogue(DType::f32, 64));
    kernels::set_batch_invariant(true);
    for (const DType dtype : {DType::bf16, DType::f32})
        for (const std::int64_t d_ff : {512, 2048})
            EXPECT_EQ(feed_forward_runs_fused(dtype, 1, 128, d_ff, 128, false),
                      feed_forward_runs_fused(dtype, 100000, 128, d_ff, 128, false));
    kernels::set_batch_invariant(false);
}

TEST(FeedForwardFused, RefusesRowsThatDoNotFitIntoRegisters) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const auto given = [](DType dtype) {
        return converted(network({2, 129, 8, 8}), [=](const Tensor& tensor) { return in({Device::cuda, dtype}, tensor); });
    };
    const Network narrow = given(DType::bf16), wide = given(DType::f32);
    expect_error([&] { kernels::feed_forward_fused_cuda(narrow.x, narrow.weights, Activation::relu, {}, false); },
                 "rows of 129 and 8 numbers");
    expect_error([&] { kernels::feed_forward_fused_f32_cuda(wide.x, wide.weights, Activation::relu, {}); },
                 "rows of 129 and 8 numbers");
    Tensor dx;
    expect_error(
        [&] {
            kernels::feed_forward_fused_backward_cuda(narrow.dy, in({Device::cuda, DType::bf16}, normal({2, 8}, DType::f64, 1)),
                                                      narrow.weights, Activation::relu, {}, nullptr, dx);
        },
        "rows of 129 and 8 numbers");
}

}  // namespace
}  // namespace heddle
