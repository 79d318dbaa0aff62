// Models that compute in bf16, on the CUDA device, emulated or real.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <set>

#include "autograd/observe.h"
#include "autograd/tape.h"
#include "core/device.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

class Bf16Model : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

// A model in f32 with random weights, or the same model in bf16 on the device.
std::unique_ptr<Transformer> model_in(DType dtype, const TransformerOptions& options = tiny_options()) {
    auto model = std::make_unique<Transformer>(options, 3);
    disturb(*model);
    model->eval();
    if (dtype == DType::bf16) model->to(Device::cuda);
    model->to(dtype);
    return model;
}

TEST_F(Bf16Model, HasTheRoundedWeights) {
    const auto f32 = model_in(DType::f32), bf16 = model_in(DType::bf16);
    EXPECT_EQ(bf16->dtype(), DType::bf16);
    const NamedTensors from = f32->named_tensors(), to = bf16->named_tensors();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        EXPECT_EQ(to[i].first, from[i].first);
        EXPECT_EQ(to[i].second.device(), Device::cuda);
        EXPECT_TRUE(same_bits(to[i].second.to(Device::cpu), from[i].second.to(DType::bf16))) << from[i].first;
    }
    for (const Module* child : bf16->children()) EXPECT_EQ(child->dtype(), DType::bf16) << child->name();
    for (const Parameter& parameter : bf16->parameters()) EXPECT_FALSE(parameter.variable.grad().defined());
}

// About 30 tensors are written on the way through 2 + 2 layers, each rounded by at most 2^-8 of its value.
TEST_F(Bf16Model, GivesTheF64LogitsWithinRoundingAndAsF32) {
    const NoGrad no_grad;
    const Sentences source = packed({random_tokens(5, 11, 1), random_tokens(40, 11, 2), random_tokens(1, 11, 3)});
    const Sentences target = packed({random_tokens(3, 13, 4), random_tokens(37, 13, 5), random_tokens(6, 13, 6)});
    Tensor logits[2];
    const auto exact = model_in(DType::f32), half = model_in(DType::bf16);
    exact->to(DType::bf16);  // so that rounding the weights is not counted as an error
    exact->to(DType::f64);
    for (const Transformer* model : {exact.get(), half.get()}) {
        const Variable memory = model->encode(source.tokens, source.spans);
        EXPECT_EQ(memory.dtype(), model->dtype());
        // Both sides are longer than the table of positions, which grows in the model's dtype.
        const Variable hidden = model->decode(target.tokens, target.spans, memory, source.spans);
        logits[model == half.get()] = model->logits(hidden.value()).to(Device::cpu);
    }
    EXPECT_EQ(logits[1].dtype(), DType::f32);
    const std::vector<double> want = logits[0].to_vector(), got = logits[1].to_vector();
    double error = 0, size = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        error += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    EXPECT_LE(std::sqrt(error / size), 30 * std::exp2(-8));
    EXPECT_FALSE(same_bits(logits[1].to(DType::bf16).to(DType::f32), logits[1])) << "nothing was rounded to bf16 on the way out";
}

// Decodes two sentences step by step, with the logits of decode() for the whole. `launches`: of each step, if it is known.
void expect_steps_as_whole(const TransformerOptions& options, std::optional<std::int64_t> launches = {}) {
    const NoGrad no_grad;
    const auto model = model_in(DType::bf16, options);
    const Sentences source = packed({random_tokens(4, 11, 1), random_tokens(9, 11, 2)});
    const Tokens first = random_tokens(6, 13, 3), second = random_tokens(6, 13, 4);
    const Variable memory = model->encode(source.tokens, source.spans);
    const Sentences target = packed({first, second});
    const Tensor whole = model->logits(model->decode(target.tokens, target.spans, memory, source.spans).value()).to(Device::cpu);
    DecoderCache cache = model->start_decoding(memory.value(), source.spans, 2, 6);
    for (std::size_t i = 0; i < first.size(); ++i) {
        const std::int64_t before = device::statistics().launches;
        const Tensor step = model->step(tokens_of({first[i], second[i]}), cache).to(Device::cpu);
        if (launches) {
            EXPECT_EQ(device::statistics().launches - before, *launches);
        }
        ASSERT_EQ(step.dtype(), DType::f32);
        const auto at = static_cast<std::int64_t>(i);
        EXPECT_LE(relative_error(step.slice(0, 1), whole.slice(at, at + 1)), 30 * std::exp2(-8)) << i;
        EXPECT_LE(relative_error(step.slice(1, 2), whole.slice(6 + at, 7 + at)), 30 * std::exp2(-8)) << i;
    }
}

// In widths that the fused products of few rows take, and where one of them is no multiple of 32.
TEST_F(Bf16Model, DecodesWithACacheAsWithout) {
    struct Widths {
        std::int64_t d_model, head_dim, d_ff;
    };
    for (const Widths& at : {Widths{8, 4, 16}, Widths{64, 32, 48}, Widths{64, 24, 96}}) {
        SCOPED_TRACE(at.d_ff);
        TransformerOptions options = tiny_options();
        options.d_model = at.d_model;
        options.head_dim = at.head_dim;
        options.d_ff = at.d_ff;
        expect_steps_as_whole(options);
    }
}

// Few rows go through products fused with norms, activations and residual sums: the expected number of launches, and the same
// logits as the separate ops.
TEST_F(Bf16Model, DecodesFewRowsInFewLaunches) {
    for (const NormPlace norm : {NormPlace::pre, NormPlace::post})
        for (const bool final_norm : {false, true})
            for (const ops::Activation activation : {ops::Activation::relu, ops::Activation::gelu, ops::Activation::silu}) {
                TransformerOptions options = tiny_options();
                options.d_model = 64;
                options.d_ff = 96;
                options.norm = norm;
                options.final_norm = final_norm;
                options.key_heads = activation == ops::Activation::gelu ? 1 : 2;
                options.activation = activation;
                // Two consecutive norms are not fused. Otherwise 8 launches per layer, the embedding, the cache's table, the
                // logits.
                const bool fused = norm == NormPlace::pre || !final_norm;
                expect_steps_as_whole(options, fused ? std::optional<std::int64_t>(2 * 8 + 3) : std::nullopt);
            }
}

// Hooks see the ops of every module, and dropout acts: the fused products would do neither.
TEST_F(Bf16Model, DecodesModuleByModuleWhileItIsObservedOrTrains) {
    TransformerOptions options = tiny_options();
    options.d_model = 64;
    options.d_ff = 96;
    const NoGrad no_grad;
    const auto model = model_in(DType::bf16, options);
    const Sentences source = packed({random_tokens(4, 11, 1)});
    DecoderCache cache = model->start_decoding(model->encode(source.tokens, source.spans).value(), source.spans, 1, 6);
    const auto launches = [&] {
        const std::int64_t before = device::statistics().launches;
        model->step(tokens_of({5}), cache);
        return device::statistics().launches - before;
    };
    const std::int64_t fused = launches();
    std::set<std::string> modules;
    {
        const ObserveOps hook([&](const ObservedOp& each) { modules.emplace(each.module); });
        EXPECT_NE(launches(), fused);
    }
    EXPECT_TRUE(modules.contains("decoder.layers.1.feed_forward")) << fmt::format("{}", fmt::join(modules, ", "));
    EXPECT_EQ(launches(), fused);
    model->train();
    EXPECT_NE(launches(), fused);
}

// Number of kernels that a feed-forward network of up to 128 columns launches.
std::int64_t launches(ops::Activation activation, bool training, double dropout) {
    Module root(1);
    FeedForward network(root, "net", 64, 128, activation, true, dropout);
    root.to(Device::cuda);
    root.to(DType::bf16);
    root.train(training);
    const Variable x(normal({40, 64}, DType::f32, 1).to(DType::bf16).to(Device::cuda));
    generator().start(0, 0);
    const std::int64_t before = device::statistics().launches;
    if (training) {
        network.forward(x);
    } else {
        const NoGrad no_grad;
        network.forward(x);
    }
    return device::statistics().launches - before;
}

TEST_F(Bf16Model, FeedsForwardWithOneKernelInNarrowModels) {
    for (const ops::Activation activation :
         {ops::Activation::relu, ops::Activation::gelu, ops::Activation::gelu_tanh, ops::Activation::silu}) {
        EXPECT_EQ(launches(activation, true, 0), 1);
        EXPECT_EQ(launches(activation, true, 0.1), 1) << "dropout goes with the activation";
        EXPECT_EQ(launches(activation, false, 0.1), 1);
    }
}

}  // namespace
}  // namespace heddle::nn
