// The fused feed-forward against the ops it is made of.
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops.h"
#include "core/random.h"
#include "kernels/feed_forward/gated_feed_forward.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::Activation;

Tensor normal(const Shape& shape, std::uint64_t key, DType dtype) {
    Tensor tensor = Tensor::empty(shape, DType::f64);
    fill_normal(tensor, 0, 0.5, key);
    return tensor.to(dtype);
}

struct Network {
    Variable x, w1, b1, w2, b2;

    Network(std::int64_t rows, std::int64_t d_model, std::int64_t d_ff, DType dtype)
        : x(normal({rows, d_model}, 1, dtype), true),
          w1(normal({d_ff, d_model}, 2, dtype), true),
          b1(normal({d_ff}, 3, dtype), true),
          w2(normal({d_model, d_ff}, 4, dtype), true),
          b2(normal({d_model}, 5, dtype), true) {}

    Variable fused(Activation activation, const Dropout& dropout) const {
        return ops::feed_forward(x, w1, b1, w2, b2, activation, dropout);
    }
    // The same, op by op.
    Variable composed(Activation activation, const Dropout& dropout) const {
        const Variable u = ops::linear(x, w1, b1);
        const Variable a = activation == Activation::relu   ? ops::relu(u)
                           : activation == Activation::silu ? ops::silu(u)
                                                            : ops::gelu(u, activation == Activation::gelu_tanh);
        return ops::linear(ops::dropout(a, dropout), w2, b2);
    }
    std::vector<Tensor> gradients() {
        std::vector<Tensor> result;
        for (Variable* each : {&x, &w1, &b1, &w2, &b2}) {
            result.push_back(each->grad().clone());
            each->zero_grad();
        }
        return result;
    }
};

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance) {
    const std::vector<double> a = got.to_vector(), b = wanted.to_vector();
    ASSERT_EQ(a.size(), b.size());
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::abs(b[i]));
        error = std::isnan(a[i]) ? INFINITY : std::max(error, std::abs(a[i] - b[i]));
    }
    EXPECT_TRUE(error <= tolerance * (largest + 1e-6)) << "error " << error << " of " << largest;
}

// The value and all gradients.
std::vector<Tensor> results_of(Network& net, const Variable& y) {
    backward(y, normal(y.shape(), 6, y.dtype()));
    std::vector<Tensor> results = net.gradients();
    results.push_back(y.value());
    return results;
}

TEST(FeedForward, IsTheComposedNetworkInValueAndEveryGradient) {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
            for (const double p : {0.0, 0.3})
                for (const std::int64_t rows : {1, 33, 200}) {
                    Network net(rows, 24, 50, dtype);
                    const Dropout dropout(p, 99);
                    const double tolerance = dtype == DType::f32 ? 2e-5 : 1e-13;
                    const std::vector<Tensor> got = results_of(net, net.fused(activation, dropout)),
                                              wanted = results_of(net, net.composed(activation, dropout));
                    for (std::size_t i = 0; i < got.size(); ++i) expect_near(got[i], wanted[i], tolerance);
                }
}

// Working in blocks of rows changes where values are stored, not the values. Rows around the blocks of 96 and 128, and arguments
// beyond 9, where the tanh form's slope ends.
TEST(FeedForward, ASmoothActivationInF32HasTheBitsOfTheOpsOneAfterAnother) {
    for (const Activation activation : {Activation::gelu, Activation::gelu_tanh, Activation::silu})
        for (const double p : {0.0, 0.3})
            for (const std::int64_t rows : {1, 33, 96, 97, 128, 129, 300}) {
                Network net(rows, 24, 50, DType::f32);
                Tensor wide = net.b1.value();
                for (float& value : wide.mutable_values<float>()) value *= 10;
                const Dropout dropout(p, 99);
                const std::vector<Tensor> got = results_of(net, net.fused(activation, dropout)),
                                          wanted = results_of(net, net.composed(activation, dropout));
                for (std::size_t i = 0; i < got.size(); ++i)
                    EXPECT_EQ(got[i].to_vector(), wanted[i].to_vector()) << rows << " rows, result " << i;
            }
}

TEST(FeedForward, KeepsOneHiddenTensorAndNothingWithoutAGradient) {
    const Network net(7, 8, 16, DType::f32);
    {
        const Variable y = net.fused(Activation::relu, {});
        const auto memory = saved_memory();
        ASSERT_EQ(memory.size(), 1u);
        EXPECT_EQ(memory[0].bytes, 4 * (7 * 8 + 7 * 16 + 2 * 8 * 16));  // x, h, w1, w2
    }
    const NoGrad no_grad;
    const kernels::FeedForwardWeights weights{net.w1.value(), {}, net.w2.value(), {}};
    EXPECT_FALSE(kernels::feed_forward_forward(net.x.value(), weights, Activation::gelu, {}, false).hidden.defined());
}

TEST(FeedForward, NamesTheWeightThatDoesNotFit) {
    const Network net(2, 8, 16, DType::f32);
    const Variable wrong(Tensor::zeros({8, 15}, DType::f32));
    expect_error([&] { ops::feed_forward(net.x, net.w1, net.b1, wrong, net.b2, Activation::relu); },
                 "feed_forward: w2 has shape [8, 15], wanted [8, 16]");
}

// A NaN that ReLU turned into 0 would be trained on, and nobody would see it.
TEST(FeedForward, ReluKeepsANaN) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        Network net(3, 8, 16, dtype);
        Tensor poisoned = net.w1.value();
        if (dtype == DType::f32)
            poisoned.mutable_data<float>()[0] = NAN;
        else
            poisoned.mutable_data<double>()[0] = NAN;
        const Variable y = net.fused(Activation::relu, {});
        for (const double value : y.value().to_vector()) EXPECT_TRUE(std::isnan(value));
        backward(y, normal({3, 8}, 6, dtype));
        EXPECT_TRUE(std::isnan(net.x.grad().to_vector()[0])) << "dx = du W1";
        EXPECT_TRUE(std::isnan(net.w2.grad().to_vector()[0])) << "dW2 = dy^T h";
        EXPECT_NE(net.b1.grad().to_vector()[0], 0) << "the gradient goes through, as in relu";
    }
}

TEST(FeedForward, NamesTheGradientThatDoesNotFit) {
    const Network net(2, 8, 16, DType::f32);
    const kernels::FeedForwardWeights weights{net.w1.value(), net.b1.value(), net.w2.value(), net.b2.value()};
    const kernels::FeedForwardResult forward = kernels::feed_forward_forward(net.x.value(), weights, Activation::relu, {}, true);
    kernels::FeedForwardWeights gradients{Tensor::zeros({16, 8}, DType::f32), Tensor::zeros({1}, DType::f32),
                                          Tensor::zeros({8, 16}, DType::f32), Tensor::zeros({8}, DType::f32)};
    expect_error(
        [&] {
            kernels::feed_forward_backward(forward.y, net.x.value(), forward.hidden, weights, Activation::relu, {}, {},
                                           gradients);
        },
        "the gradient of b1 has shape [1], wanted [16]");
}

// ---- gated

struct GatedNetwork {
    Variable x, w1, b1, w2, b2;

    GatedNetwork(std::int64_t rows, std::int64_t d_model, std::int64_t d_ff, DType dtype)
        : x(normal({rows, d_model}, 1, dtype), true),
          w1(normal({2 * d_ff, d_model}, 2, dtype), true),
          b1(normal({2 * d_ff}, 3, dtype), true),
          w2(normal({d_model, d_ff}, 4, dtype), true),
          b2(normal({d_model}, 5, dtype), true) {}

    Variable composed(Activation gate, const Dropout& dropout) const {
        const std::int64_t d_ff = w2.cols();
        const Variable u = ops::linear(x, w1, b1), g = ops::slice(u, 1, 0, d_ff), v = ops::slice(u, 1, d_ff, 2 * d_ff);
        const Variable a = gate == Activation::relu   ? ops::relu(g)
                           : gate == Activation::silu ? ops::silu(g)
                                                      : ops::gelu(g, gate == Activation::gelu_tanh);
        return ops::linear(ops::dropout(ops::mul(a, v), dropout), w2, b2);
    }
    std::vector<Tensor> results_of(const Variable& y) {
        backward(y, normal(y.shape(), 6, y.dtype()));
        std::vector<Tensor> results = {y.value()};
        for (Variable* each : {&x, &w1, &b1, &w2, &b2}) {
            results.push_back(each->grad().clone());
            each->zero_grad();
        }
        return results;
    }
};

TEST(GatedFeedForward, HasTheBitsOfTheOpsOneAfterAnother) {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Activation gate : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
            for (const double p : {0.0, 0.3})
                for (const std::int64_t rows : {1, 33, 300}) {
                    GatedNetwork net(rows, 24, 50, dtype);
                    const Dropout dropout(p, 99);
                    const std::vector<Tensor> fused =
                        net.results_of(ops::gated_feed_forward(net.x, net.w1, net.b1, net.w2, net.b2, gate, dropout));
                    const std::vector<Tensor> composed = net.results_of(net.composed(gate, dropout));
                    for (std::size_t i = 0; i < fused.size(); ++i)
                        expect_near(fused[i], composed[i], dtype == DType::f32 ? 2e-5 : 1e-13);
                    EXPECT_TRUE(same_bits(fused[0], composed[0])) << static_cast<int>(gate) << ", " << rows << " rows";
                }
}

TEST(GatedFeedForward, WithoutARecordGivesTheSameBits) {
    const GatedNetwork net(200, 24, 50, DType::f32);
    const auto run = [&] { return ops::gated_feed_forward(net.x, net.w1, net.b1, net.w2, net.b2, Activation::silu).value(); };
    const Tensor recorded = run();
    const NoGrad no_grad;
    EXPECT_TRUE(same_bits(run(), recorded));
}

TEST(GatedFeedForward, NamesWhatDoesNotFit) {
    const auto zeros = [](const Shape& shape) { return Tensor::zeros(shape, DType::f32); };
    const auto expect = [&](const kernels::FeedForwardWeights& weights, const char* message) {
        expect_error([&] { kernels::gated_feed_forward_forward(zeros({5, 8}), weights, Activation::silu, {}, false); }, message);
    };
    expect({zeros({31, 8}), {}, zeros({8, 16}), {}},
           "w_gate_and_up has shape [31, 8], wanted as many rows for the gate as for up");
    expect({zeros({32, 9}), {}, zeros({8, 16}), {}}, "w_gate_and_up has shape [32, 9], wanted [32, 8]");
    expect({zeros({32, 8}), {}, zeros({8, 32}), {}}, "w2 has shape [8, 32], wanted [8, 16]");
    expect({zeros({32, 8}), zeros({16}), zeros({8, 16}), {}}, "b has shape [16], wanted [32]");
    expect({zeros({32, 8}), {}, zeros({8, 16}), zeros({16})}, "b2 has shape [16], wanted [8]");
}

}  // namespace
}  // namespace heddle
