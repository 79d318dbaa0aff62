// The feed-forward network on every device, and the fully fused kernel.
#include <gtest/gtest.h>

#include <optional>

#include "kernels/activation/activation.h"
#include "kernels/dropout/dropout.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/linear/linear.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::Activation;
using kernels::FeedForwardWeights;

constexpr Allowed kAllowed{.f64 = 1e-13, .f32 = 5e-6};
constexpr Activation kActivations[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh};

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
Results run(const Network& net, Activation activation, const Dropout& dropout, std::optional<DType> sums = {}) {
    const auto [y, hidden] = kernels::feed_forward_forward(net.x, net.weights, activation, dropout, true);
    Results results{y, hidden, {}, zero_gradients(net, sums.value_or(net.x.dtype()))};
    results.dx = kernels::feed_forward_backward(net.dy, net.x, hidden, net.weights, activation, dropout, {}, results.gradients);
    return results;
}

// The plain bf16 computation: in f32 with every written tensor rounded.
Results plain(const Network& net, Activation activation, const Dropout& dropout) {
    const bool relu = activation == Activation::relu, tanh = activation == Activation::gelu_tanh;
    const FeedForwardWeights& w = net.weights;
    const Tensor u = through_bf16(kernels::linear_forward(net.x, w.w1, w.b1));
    const Tensor act = relu ? kernels::relu_forward(u) : kernels::gelu_forward(u, tanh);
    const Tensor h = through_bf16(kernels::dropout_forward(act, dropout));
    Results results{through_bf16(kernels::linear_forward(h, w.w2, w.b2)), relu ? h : u, {}, zero_gradients(net, DType::f32)};
    const Tensor dh = kernels::dropout_forward(through_bf16(kernels::linear_backward_x(net.dy, w.w2)), dropout);
    const Tensor du = through_bf16(relu ? kernels::relu_backward(dh, h) : kernels::gelu_backward(dh, u, tanh));
    results.dx = through_bf16(kernels::linear_backward_x(du, w.w1));
    kernels::linear_backward_weight(du, net.x, results.gradients.w1);
    kernels::linear_backward_bias(du, results.gradients.b1);
    kernels::linear_backward_weight(net.dy, h, results.gradients.w2);
    kernels::linear_backward_bias(net.dy, results.gradients.b2);
    return results;
}

TEST(FeedForwardDevice, ReluKeepsANaN) {
    for (const Numbers& numbers : all_numbers()) {
        Network net = network({3, 8, 16, 8});
        net.weights.w1.data<double>()[0] = std::numeric_limits<double>::quiet_NaN();
        const Results got = run(converted(net, [&](const Tensor& tensor) { return in(numbers, tensor); }), Activation::relu, {});
        for (const double value : got.y.to(Device::cpu).to_vector()) EXPECT_TRUE(std::isnan(value)) << to_string(numbers);
        EXPECT_NE(got.gradients.b1.to(Device::cpu).to_vector()[0], 0) << "the gradient goes through, as in relu";
    }
}

// ---- the fully fused kernel

TEST(FeedForwardFused, IsTheNetworkOfTheTwoProducts) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Numbers numbers{Device::cuda, DType::bf16};
    // Both widths of the kernel, with copies of 16 bytes and of single elements, and enough tiles of 64 units for both stages to
    // be used again.
    for (const NetworkCase& at :
         {NetworkCase{1, 8, 8, 8}, NetworkCase{70, 32, 200, 48}, NetworkCase{65, 120, 136, 128, false},
          NetworkCase{33, 31, 193, 17}, NetworkCase{5, 100, 33, 65}, NetworkCase{0, 8, 8, 8}, NetworkCase{3, 8, 0, 8}})
        for (const Activation activation : kActivations)
            for (const double p : {0.0, 0.3}) {
                const Dropout dropout(p, 78);
                const Network net = network(at);
                const Network given = converted(net, [&](const Tensor& tensor) { return in(numbers, tensor); });
                const Network wide = converted(net, [&](const Tensor& tensor) { return rounded(numbers, tensor); });
                const Network narrow =
                    converted(wide, [](const Tensor& tensor) { return tensor.defined() ? tensor.to(DType::f32) : tensor; });
                expect_close(kernels::feed_forward_fused(given.x, given.weights, activation, dropout),
                             kernels::feed_forward_forward(wide.x, wide.weights, activation, dropout, false).y, numbers,
                             text(at, activation, p), kAllowed, plain(narrow, activation, dropout).y);
            }
}

TEST(FeedForwardFused, RefusesRowsThatDoNotFitIntoRegisters) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Network net = converted(network({2, 129, 8, 8}), [](const Tensor& tensor) {
        return in({Device::cuda, DType::bf16}, tensor);
    });
    expect_error([&] { kernels::feed_forward_fused(net.x, net.weights, Activation::relu, {}); }, "rows of 129 and 8 numbers");
}

}  // namespace
}  // namespace heddle
