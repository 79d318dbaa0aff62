// The fused feed-forward against the ops it is made of.
#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "core/random.h"
#include "kernels/feed_forward/gated_feed_forward.h"
#include "nn/layers.h"
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
    bool gated;

    Network(std::int64_t rows, std::int64_t d_model, std::int64_t d_ff, DType dtype, bool has_gate = false)
        : x(normal({rows, d_model}, 1, dtype), true),
          w1(normal({has_gate ? 2 * d_ff : d_ff, d_model}, 2, dtype), true),
          b1(normal({has_gate ? 2 * d_ff : d_ff}, 3, dtype), true),
          w2(normal({d_model, d_ff}, 4, dtype), true),
          b2(normal({d_model}, 5, dtype), true),
          gated(has_gate) {}

    Variable fused(Activation activation, const DropoutMask& dropout) const {
        return (gated ? ops::gated_feed_forward : ops::feed_forward)(x, w1, b1, w2, b2, activation, dropout, Where::current());
    }
    // The same, op by op.
    Variable composed(Activation activation, const DropoutMask& dropout) const {
        const std::int64_t d_ff = w2.cols();
        const Variable all = ops::linear(x, w1, b1), u = gated ? ops::slice(all, 1, 0, d_ff) : all;
        Variable a = nn::activated(u, activation);
        if (gated) a = ops::mul(a, ops::slice(all, 1, d_ff, 2 * d_ff));
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

// The value and all gradients.
std::vector<Tensor> results_of(Network& net, const Variable& y) {
    backward(y, normal(y.shape(), 6, y.dtype()));
    std::vector<Tensor> results = net.gradients();
    results.push_back(y.value());
    return results;
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
                const DropoutMask dropout(p, 99);
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

// ---- gated

TEST(GatedFeedForward, HasTheBitsOfTheOpsOneAfterAnother) {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Activation gate : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
            for (const double p : {0.0, 0.3})
                for (const std::int64_t rows : {1, 33, 300}) {
                    const Network net(rows, 24, 50, dtype, true);
                    const DropoutMask dropout(p, 99);
                    EXPECT_TRUE(same_bits(net.fused(gate, dropout).value(), net.composed(gate, dropout).value()))
                        << static_cast<int>(gate) << ", " << rows << " rows";
                }
}

TEST(GatedFeedForward, WithoutARecordGivesTheSameBits) {
    const Network net(200, 24, 50, DType::f32, true);
    const auto run = [&] { return net.fused(Activation::silu, {}).value(); };
    const Tensor recorded = run();
    const NoGrad no_grad;
    EXPECT_TRUE(same_bits(run(), recorded));
}

}  // namespace
}  // namespace heddle
