// The Transformer's modules, one by one.
#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "kernels/attention/alibi.h"
#include "nn/layers.h"
#include "nn/multi_head_attention.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

Variable random_rows(std::int64_t rows, std::int64_t cols, std::uint64_t key = 1) {
    return Variable(normal({rows, cols}, DType::f64, key));
}

struct Root : Module {
    Root() : Module(1, DType::f64) {}
};

TEST(LinearModule, GivesTheSameBitsWhetherOrNotItIsRecorded) {
    Root root;
    const Linear linear(root, "linear", 37, 41);
    const Variable x = random_rows(5, 37);
    const Tensor recorded = linear.forward(x).value();
    const NoGrad no_grad;
    EXPECT_TRUE(same_bits(recorded, linear.forward(x).value()));
}

TEST(LinearModule, SeesAChangedWeightWhileNothingIsRecorded) {
    Root root;
    const Linear linear(root, "linear", 3, 2, false);
    const NoGrad no_grad;
    const Variable x = random_rows(4, 3);
    linear.forward(x);
    Tensor weight = linear.weight().value();
    weight.fill_(0);
    EXPECT_EQ(linear.forward(x).value().to_vector(), std::vector<double>(8, 0));
}

TEST(PositionalEncoding, SinusoidalRowZeroIsZeroOneZeroOneAndGrowsOnDemand) {
    Root root;
    const PositionalEncoding positions(root, "positions", Positions::sinusoidal, 4, 6);
    EXPECT_EQ(positions.table(1).value().slice(0, 1).to_vector(), (std::vector<double>{0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(positions.table(4).dim(0), 4);
    const Tensor before = positions.table(4).value();
    EXPECT_GE(positions.table(9).dim(0), 9);
    EXPECT_TRUE(same_bits(before, positions.table(9).value().slice(0, 4)));
    EXPECT_EQ(root.parameter_count(), 0);
}

TEST(PositionalEncoding, LearnedTableIsAParameterAndALimit) {
    Root root;
    const PositionalEncoding positions(root, "positions", Positions::learned, 4, 6);
    EXPECT_EQ(root.parameter_count(), 24);
    EXPECT_TRUE(positions.table(4).requires_grad());
    expect_error([&] { positions.table(5); }, "a sentence has 5 tokens, but positions were learned for 4");
}

TEST(Attention, WorksWithoutBiasAndWithAnyHeadSize) {
    for (const bool bias : {true, false}) {
        Root root;
        const SelfAttention self(root, "self", {.d_model = 6, .heads = 2, .head_dim = 5, .bias = bias});
        const CrossAttention cross(root, "cross", {.d_model = 6, .heads = 2, .head_dim = 5, .bias = bias});
        EXPECT_EQ(root.parameter_count(), 2 * (4 * 6 * 10 + (bias ? 3 * 10 + 6 : 0)));
        const Spans spans = Spans::packed(std::vector<std::int64_t>{3, 9});  // shorter and longer than a head's width
        const Variable x = random_rows(12, 6);
        for (const bool causal : {false, true}) EXPECT_EQ(self.forward(x, spans, {.causal = causal}).shape(), Shape({12, 6}));
        EXPECT_EQ(cross.forward(x, spans, random_rows(12, 6, 2), spans).shape(), Shape({12, 6}));
    }
}

TEST(Attention, TakesABooleanMask) {
    Root root;
    const SelfAttention self(root, "self", {.d_model = 6, .heads = 2});
    const std::vector<std::uint8_t> mask{1, 0, 1, 0, 1, 1, 0, 0, 0};
    Tensor weights;
    const Variable y = self.forward(random_rows(3, 6), Spans::packed(std::vector<std::int64_t>{3}),
                                    {.mask = Tensor::from(mask, {3, 3}), .weights = &weights});
    const std::vector<double> p = weights.to_vector();
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_EQ(p[i] > 0, mask[i % 9] != 0) << i;
    // There is nothing to attend to: only the output's bias remains.
    EXPECT_EQ(y.value().slice(2, 3).to_vector(), named_tensor(root, "self.output.bias").to_vector());
}

// The bias of ALiBi (Press et al. 2022): each head multiplies the distance by a slope of its own.
Tensor alibi(std::int64_t heads, std::int64_t time, DType dtype) {
    Tensor bias = Tensor::empty({heads, time, time}, DType::f64);
    for (std::int64_t i = 0; i < bias.numel(); ++i)
        bias.mutable_data<double>()[i] =
            -std::exp2(-8.0 * static_cast<double>(i / time / time + 1) / static_cast<double>(heads)) *
            std::abs(static_cast<double>(i / time % time - i % time));
    return bias.to(dtype);
}

TEST(Attention, WithOneHeadOfKeysIsTheFormulaOnNamedWeights) {
    Root root;
    const SelfAttention self(root, "self", {.d_model = 4, .heads = 2, .head_dim = 3, .key_heads = 1});
    disturb(root);
    EXPECT_EQ(named_tensor(root, "self.query.weight").shape(), Shape({6, 4}));
    EXPECT_EQ(named_tensor(root, "self.key.weight").shape(), Shape({3, 4}));
    EXPECT_EQ(named_tensor(root, "self.value.bias").shape(), Shape({3}));
    const Variable x = random_rows(5, 4);
    const auto apply = [&](const Variable& in, const char* part) {
        const std::string name = std::string("self.") + part;
        return ops::linear(in, Variable(named_tensor(root, name + ".weight").clone()),
                           Variable(named_tensor(root, name + ".bias").clone()));
    };
    const Variable query = apply(x, "query"), key = apply(x, "key"), value = apply(x, "value");
    const Tensor bias = alibi(2, 5, x.dtype());
    std::vector<Variable> heads;
    for (std::int64_t h = 0; h < 2; ++h) {
        const Variable scores = ops::matmul(ops::slice(query, 1, 3 * h, 3 * h + 3), key, false, true);
        const Variable weights =
            ops::softmax(scores, {}, {}, {.scale = 1 / std::sqrt(3.0), .bias = bias.slice(h, h + 1).reshape({5, 5})});
        heads.push_back(ops::matmul(weights, value));
    }
    const Variable wanted = apply(ops::concat(heads, 1), "output");
    const Variable y = self.forward(x, Spans::packed(std::vector<std::int64_t>{5}), {.bias = bias});
    EXPECT_LE(relative_error(y.value(), wanted.value()), 1e-13);
}

// A learned bias gets its gradient through the module, and self-attention with grouped keys equals cross attention to itself.
TEST(Attention, GroupedKeysAndABiasTrain) {
    Root root;
    const SelfAttention self(root, "self", {.d_model = 8, .heads = 4, .key_heads = 2});
    const CrossAttention cross(root, "cross", {.d_model = 8, .heads = 4, .key_heads = 2});
    disturb(root);
    for (auto [name, tensor] : self.named_tensors()) named_tensor(root, "cross" + name.substr(4)).copy_(tensor);
    const Spans spans = Spans::packed(std::vector<std::int64_t>{3, 4});
    const Variable x = random_rows(7, 8);
    Variable bias(alibi(4, 4, x.dtype()), true);
    const Variable y = self.forward(x, spans, {.causal = true, .bias = bias});
    EXPECT_LE(relative_error(y.value(), cross.forward(x, spans, x, spans, {.causal = true, .bias = bias}).value()), 1e-14);
    backward(y, random_rows(7, 8, 3).value());
    ASSERT_TRUE(bias.grad().defined());
    EXPECT_EQ(bias.grad().shape(), Shape({4, 4, 4}));
    double largest = 0;
    for (std::int64_t i = 0; i < 64; ++i) {
        const double g = bias.grad().to_vector()[static_cast<std::size_t>(i)];
        if (i % 4 > i / 4 % 4) {
            EXPECT_EQ(g, 0) << "what causal attention hides has no gradient, element " << i;
        }
        largest = std::max(largest, std::abs(g));
    }
    EXPECT_GT(largest, 0);
    expect_error([&] { SelfAttention(root, "odd", {.d_model = 8, .heads = 4, .key_heads = 3}); },
                 "4 heads cannot share 3 heads of keys evenly");
}

// [heads, time, time] of every layer would be most of a model's memory.
TEST(KeptBias, IsOneForAllLayersAndALongerOneTakesItsPlace) {
    const auto kept = KeptBias::shared(kernels::alibi_bias, 4);
    EXPECT_EQ(KeptBias::shared(kernels::alibi_bias, 4), kept);
    EXPECT_NE(KeptBias::shared(kernels::alibi_bias, 2), kept);
    EXPECT_NE(KeptBias::shared(kernels::alibi_cached_bias, 4), kept);
    const Tensor first = kept->of(10, DType::f32, Device::cpu);
    EXPECT_EQ(kept->of(32, DType::bf16, Device::cpu).data<float>(), first.data<float>()) << "of 32 tokens, as the first";
    const Tensor of_f64 = kept->of(10, DType::f64, Device::cpu);
    const Tensor longer = kept->of(100, DType::f32, Device::cpu);
    EXPECT_EQ(longer.shape(), Shape({4, 128, 128}));
    EXPECT_EQ(kept->of(10, DType::f32, Device::cpu).data<float>(), longer.data<float>());
    EXPECT_EQ(kept->of(10, DType::f64, Device::cpu).data<double>(), of_f64.data<double>());
}

TEST(FeedForwardModule, GivesTheSameBitsWhetherOrNotItIsRecorded) {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const auto activation :
             {ops::Activation::relu, ops::Activation::gelu, ops::Activation::gelu_tanh, ops::Activation::silu}) {
            struct Typed : Module {
                explicit Typed(DType type) : Module(1, type) {}
            } root(dtype);
            const FeedForward feed_forward(root, "ff", 37, 70, activation);
            disturb(root);
            const Variable x(normal({101, 37}, dtype, 3));
            const Tensor recorded = feed_forward.forward(x).value();
            const NoGrad no_grad;
            EXPECT_TRUE(same_bits(recorded, feed_forward.forward(x).value()));
        }
}

TEST(DropoutPlaces, EachProbabilityActsInTrainingAloneAndNeverInEvaluation) {
    const Sentences source = packed({random_tokens(9, 11, 1)});
    const Sentences target = packed({random_tokens(8, 13, 2)});
    for (const int place : {0, 1, 2, 3}) {
        TransformerOptions options = tiny_options();
        options.dropout = place == 0 ? 0.3 : 0;
        options.attention_dropout = place == 1 ? 0.3 : 0;
        options.ffn_dropout = place == 2 ? 0.3 : 0;
        Transformer model(options, 1, DType::f64);
        const NoGrad no_grad;
        const auto loss = [&](std::uint64_t update) {
            generator().start(update, 0);
            return model.loss(source, target, target.tokens).value().item();
        };
        const double first = loss(1);
        EXPECT_EQ(first, loss(1));
        EXPECT_EQ(first == loss(2), place == 3);
        model.eval();
        EXPECT_EQ(loss(1), loss(2));
        EXPECT_EQ(first == loss(1), place == 3);
    }
}

TEST(DropoutPlaces, TheFeedForwardOfEachStackDrops) {
    const Sentences source = packed({random_tokens(9, 11, 1)}), target = packed({random_tokens(8, 13, 2)});
    TransformerOptions options = tiny_options();
    options.dropout = 0;
    options.ffn_dropout = 0.3;
    const Transformer model(options, 1, DType::f64);
    const NoGrad no_grad;
    const Tensor memory = model.encode(source).value();  // one memory for both updates of the decoder
    const auto of_update = [&](std::uint64_t update) {
        generator().start(update, 0);
        return std::pair(model.encode(source).value().to_vector(),
                         model.decode(target, memory, source.spans).value().to_vector());
    };
    const auto first = of_update(1), second = of_update(2);
    EXPECT_NE(first.first, second.first) << "encoder";
    EXPECT_NE(first.second, second.second) << "decoder";
}

// The paper's three places at once: if nearly everything is dropped from both embedding sums and from each sublayer's output,
// nothing is left for the final norm, which then gives its bias. A place without dropout would show, since no bias is zero.
TEST(DropoutPlaces, BothEmbeddingsAndEverySublayerDrop) {
    TransformerOptions options = tiny_options();  // pre-norm
    options.dropout = 0.9999;
    options.attention_dropout = options.ffn_dropout = 0;
    Transformer model(options, 1, DType::f64);
    disturb(model);
    const NoGrad no_grad;
    generator().start(1, 0);
    const Sentences source = packed({random_tokens(5, 11, 1)}), target = packed({random_tokens(4, 13, 2)});
    const Variable memory = model.encode(source.tokens, source.spans);
    const Variable hidden = model.decode(target.tokens, target.spans, memory, source.spans);
    for (const auto& [value, stack] : {std::pair(memory.value(), "encoder"), std::pair(hidden.value(), "decoder")}) {
        const std::vector<double> bias = named_tensor(model, stack + std::string(".final_norm.bias")).to_vector();
        const std::vector<double> values = value.to_vector();
        for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], bias[i % bias.size()]) << stack << ", element " << i;
    }
}

TEST(DropoutPlaces, EveryModuleAndCallDrawsAKeyOfItsOwn) {
    Root root;
    const FeedForward a(root, "a", 2, 3, ops::Activation::relu);
    const FeedForward b(root, "b", 2, 3, ops::Activation::relu);
    generator().start(5, 0);
    const std::uint64_t first = a.dropout(0.5, "dropout").key;
    const std::uint64_t second = a.dropout(0.5, "dropout").key;
    const std::uint64_t other = b.dropout(0.5, "dropout").key;
    EXPECT_NE(first, second);
    EXPECT_NE(first, other);
    generator().start(5, 0);
    EXPECT_EQ(first, a.dropout(0.5, "dropout").key);
    root.eval();
    EXPECT_FALSE(a.dropout(0.5, "dropout").active());
}

}  // namespace
}  // namespace heddle::nn
