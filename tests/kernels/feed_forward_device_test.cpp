// The feed-forward network on every device, and the fully fused kernel.
#include <gtest/gtest.h>

#include <iostream>
#include <optional>

#include "kernels/activation/activation.h"
#include "kernels/device/inspect.h"
#include "kernels/dropout/dropout.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/linear/linear.h"
#include "kernels/matmul/batch_invariant.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::Activation;
using kernels::FeedForwardWeights;

constexpr Allowed kAllowed{.f64 = 1e-13, .f32 = 5e-6};
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

struct Results {
    Tensor y, hidden, dx;
    FeedForwardWeights gradients;
};

FeedForwardWeights zero_gradients(const Network& net, DType dtype) {
    const FeedForwardWeights& w = net.weights;
    const auto zeros = [&](const Shape& shape) { return Tensor::zeros(shape, dtype, w.w1.device()); };
    return {zeros(w.w1.shape()), zeros({w.w1.dim(0)}), zeros(w.w2.shape()), zeros({w.w2.dim(0)})};
}

// `sums`: the dtype of the parameters' gradients, unless it is that of the parameters.
Results run(const Network& net, Activation activation, const DropoutMask& dropout, std::optional<DType> sums = {}) {
    const auto [y, hidden] = kernels::feed_forward_forward(net.x, net.weights, activation, dropout, true);
    Results results{y, hidden, {}, zero_gradients(net, sums.value_or(net.x.dtype()))};
    results.dx = kernels::feed_forward_backward(net.dy, net.x, hidden, net.weights, activation, dropout, {}, results.gradients);
    return results;
}

// The plain bf16 computation: in f32 with every written tensor rounded.
Results plain(const Network& net, Activation activation, const DropoutMask& dropout) {
    const bool relu = activation == Activation::relu;
    const FeedForwardWeights& w = net.weights;
    const Tensor u = through_bf16(kernels::linear_forward(net.x, w.w1, w.b1));
    const Tensor h = through_bf16(kernels::dropout_forward(kernels::activation_forward(u, activation), dropout));
    Results results{through_bf16(kernels::linear_forward(h, w.w2, w.b2)), relu ? h : u, {}, zero_gradients(net, DType::f32)};
    const Tensor dh = kernels::dropout_forward(through_bf16(kernels::linear_backward_x(net.dy, w.w2)), dropout);
    const Tensor du = through_bf16(kernels::activation_backward(dh, relu ? h : u, activation));
    results.dx = through_bf16(kernels::linear_backward_x(du, w.w1));
    kernels::linear_backward_weight(du, net.x, results.gradients.w1);
    kernels::linear_backward_bias(du, results.gradients.b1);
    kernels::linear_backward_weight(net.dy, h, results.gradients.w2);
    kernels::linear_backward_bias(net.dy, results.gradients.b2);
    return results;
}

TEST(FeedForwardDevice, ReluKeepsANaN) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t d_model : {8, 136, 520}) {
            Network net = network({3, d_model, 16, 8});
            net.weights.w1.mutable_data<double>()[0] = std::numeric_limits<double>::quiet_NaN();
            const Results got =
                run(converted(net, [&](const Tensor& tensor) { return in(numbers, tensor); }), Activation::relu, {});
            for (const double value : got.y.to(Device::cpu).to_vector()) EXPECT_TRUE(std::isnan(value)) << to_string(numbers);
            EXPECT_NE(got.gradients.b1.to(Device::cpu).to_vector()[0], 0) << "the gradient goes through, as in relu";
        }
}

// ---- the fully fused kernel

// Both widths of the kernels, with copies of 16 bytes and of single elements, and enough tiles of 64 units for all memory to be
// used again.
constexpr NetworkCase kFusedCases[] = {{1, 8, 8, 8},        {70, 32, 200, 48}, {65, 120, 136, 128, false},
                                       {33, 31, 193, 17},   {5, 100, 33, 65},  {17, 64, 70, 20, false},
                                       {150, 128, 136, 64}, {0, 8, 8, 8},      {3, 8, 0, 8},
                                       {3, 0, 8, 4}};

// A network in bf16 or f32 on the device, the same rounded to these numbers in f64, and that in f32.
struct FusedCase {
    Numbers numbers;
    NetworkCase at;
    Activation activation;
    DropoutMask dropout;
    Network given, wide, narrow;
    std::string what;
};

template <class Body>
void for_each_fused(DType dtype, std::uint64_t key, const Body& body) {
    const Numbers numbers{Device::cuda, dtype};
    for (const NetworkCase& at : kFusedCases)
        for (const Activation activation : kActivations)
            for (const double p : {0.0, 0.3}) {
                const Network net = network(at);
                const Network wide = converted(net, [&](const Tensor& tensor) { return rounded(numbers, tensor); });
                body({numbers, at, activation, DropoutMask(p, key),
                      converted(net, [&](const Tensor& tensor) { return in(numbers, tensor); }), wide,
                      converted(wide, [](const Tensor& tensor) { return tensor.defined() ? tensor.to(DType::f32) : tensor; }),
                      text(at, activation, p)});
            }
}

TEST(FeedForwardFused, IsTheNetworkOfTheTwoProducts) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for_each_fused(DType::bf16, 78, [](const FusedCase& on) {
        const Results stepwise = plain(on.narrow, on.activation, on.dropout);
        const auto wanted = kernels::feed_forward_forward(on.wide.x, on.wide.weights, on.activation, on.dropout, true);
        const auto kept = kernels::feed_forward_fused_cuda(on.given.x, on.given.weights, on.activation, on.dropout, true);
        expect_close(kept.y, wanted.y, on.numbers, on.what, kAllowed, stepwise.y);
        expect_close(kept.hidden, wanted.hidden, on.numbers, on.what + ", hidden", kAllowed, stepwise.hidden);
        const auto alone = kernels::feed_forward_fused_cuda(on.given.x, on.given.weights, on.activation, on.dropout, false);
        EXPECT_FALSE(alone.hidden.defined());
        const auto wide = kernels::feed_forward_fused_cuda(on.given.x, on.given.weights, on.activation, on.dropout, true, 2);
        EXPECT_TRUE(same_bits(wide.y.to(Device::cpu), kept.y.to(Device::cpu))) << on.what << ", two tiles a warp";
        EXPECT_TRUE(same_bits(wide.hidden.to(Device::cpu), kept.hidden.to(Device::cpu))) << on.what << ", two tiles a warp";
        EXPECT_TRUE(same_bits(alone.y.to(Device::cpu), kept.y.to(Device::cpu))) << on.what;
    });
}

TEST(FeedForwardFused, IsTheNetworkInF32) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for_each_fused(DType::f32, 78, [](const FusedCase& on) {
        expect_close(kernels::feed_forward_fused_f32_cuda(on.given.x, on.given.weights, on.activation, on.dropout),
                     kernels::feed_forward_forward(on.wide.x, on.wide.weights, on.activation, on.dropout, false).y, on.numbers,
                     on.what, kAllowed);
    });
}

TEST(FeedForwardFused, IsTheBackwardPassOfTheTwoProducts) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for_each_fused(DType::bf16, 79, [](const FusedCase& on) {
        const Tensor hidden = kernels::feed_forward_forward(on.given.x, on.given.weights, on.activation, on.dropout, true).hidden;
        Tensor h, dx;
        const Tensor du =
            kernels::feed_forward_fused_backward_cuda(on.given.dy, hidden, on.given.weights, on.activation, on.dropout, &h, dx);
        const bool relu = on.activation == Activation::relu;
        const Tensor of_hidden = hidden.to(Device::cpu).to(DType::f64);
        const Tensor act = relu ? of_hidden : kernels::activation_forward(of_hidden, on.activation);
        expect_close(h, relu ? act : kernels::dropout_forward(act, on.dropout), on.numbers, on.what + ", h", kAllowed);
        const Tensor dh = kernels::linear_backward_x(on.wide.dy, on.wide.weights.w2);
        const Tensor dropped = kernels::dropout_forward(dh, on.dropout);
        const Tensor wanted = kernels::activation_backward(dropped, of_hidden, on.activation);
        expect_close(du, wanted, on.numbers, on.what + ", du", kAllowed);
        expect_close(dx, kernels::linear_backward_x(wanted, on.wide.weights.w1), on.numbers, on.what + ", dx", kAllowed,
                     kernels::linear_backward_x(through_bf16(wanted.to(DType::f32)), on.narrow.weights.w1));
        const Tensor unasked = kernels::feed_forward_fused_backward_cuda(on.given.dy, hidden, on.given.weights, on.activation,
                                                                         on.dropout, nullptr, dx);
        EXPECT_TRUE(same_bits(unasked.to(Device::cpu), du.to(Device::cpu))) << on.what;
        Tensor wide_h, wide_dx;
        const Tensor wide = kernels::feed_forward_fused_backward_cuda(on.given.dy, hidden, on.given.weights, on.activation,
                                                                      on.dropout, &wide_h, wide_dx, 2);
        EXPECT_TRUE(same_bits(wide.to(Device::cpu), du.to(Device::cpu))) << on.what << ", two tiles a warp";
        EXPECT_TRUE(same_bits(wide_dx.to(Device::cpu), dx.to(Device::cpu))) << on.what << ", two tiles a warp";
        EXPECT_TRUE(same_bits(wide_h.to(Device::cpu), h.to(Device::cpu))) << on.what << ", two tiles a warp";
    });
}

// ---- products with an epilogue of their own

// Blocks of 128 rows and units, tiles of 64 terms in two stages; copies of 16 bytes and of single elements; nothing to sum.
TEST(FeedForwardProduct, DoesWhatStandsBehindIt) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Numbers numbers{Device::cuda, DType::bf16};
    for (const NetworkCase& at :
         {NetworkCase{1, 8, 8, 8}, NetworkCase{130, 40, 136, 16}, NetworkCase{20, 264, 40, 328, false},
          NetworkCase{33, 131, 129, 67}, NetworkCase{3, 0, 8, 4}, NetworkCase{3, 8, 8, 0}, NetworkCase{0, 8, 8, 8}})
        for (const Activation activation : kActivations)
            for (const double p : {0.0, 0.3}) {
                const DropoutMask dropout(p, 80);
                const std::string what = text(at, activation, p);
                const bool relu = activation == Activation::relu;
                const Network net = network(at);
                const Network given = converted(net, [&](const Tensor& tensor) { return in(numbers, tensor); });
                const Network wide = converted(net, [&](const Tensor& tensor) { return rounded(numbers, tensor); });
                const auto empty = [&] { return Tensor::empty({at.rows, at.d_ff}, DType::bf16, Device::cuda); };
                const auto act = [&](const Tensor& x) { return kernels::activation_forward(x, activation); };

                Tensor u = empty(), h = empty(), h_alone = empty();
                kernels::feed_forward_product_cuda(given.x, given.weights.w1, given.weights.b1, activation, dropout, &u, h);
                kernels::feed_forward_product_cuda(given.x, given.weights.w1, given.weights.b1, activation, dropout, nullptr,
                                                   h_alone);
                const Tensor of_u = kernels::linear_forward(wide.x, wide.weights.w1, wide.weights.b1);
                expect_close(u, of_u, numbers, what + ", u", kAllowed);
                expect_close(h, kernels::dropout_forward(act(of_u), dropout), numbers, what + ", h", kAllowed);
                EXPECT_TRUE(same_bits(h.to(Device::cpu), h_alone.to(Device::cpu))) << what;

                Tensor du = empty(), again = empty(), du_alone = empty();
                const Tensor& hidden = relu ? h : u;
                kernels::feed_forward_product_gradient_cuda(given.dy, given.weights.w2, hidden, activation, dropout, du, &again);
                kernels::feed_forward_product_gradient_cuda(given.dy, given.weights.w2, hidden, activation, dropout, du_alone,
                                                            nullptr);
                const Tensor kept = hidden.to(Device::cpu).to(DType::f64);
                const Tensor dh = kernels::dropout_forward(kernels::linear_backward_x(wide.dy, wide.weights.w2), dropout);
                expect_close(du, kernels::activation_backward(dh, kept, activation), numbers, what + ", du", kAllowed);
                EXPECT_TRUE(same_bits(du.to(Device::cpu), du_alone.to(Device::cpu))) << what;
                if (!relu) expect_close(again, kernels::dropout_forward(act(kept), dropout), numbers, what + ", h", kAllowed);
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
