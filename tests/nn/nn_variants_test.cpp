// Options of the Transformer: what the decoder attends to, shared matrices, biases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/tape.h"
#include "core/device.h"
#include "kernels/log_softmax/log_softmax.h"
#include "nn/flat.h"
#include "optim/optimizer.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

std::unique_ptr<Transformer> make(const TransformerOptions& options, DType dtype = DType::f32) {
    auto model = std::make_unique<Transformer>(options, 3, dtype);
    disturb(*model);
    model->eval();
    return model;
}

TransformerOptions by_layer(NormPlace norm, std::int64_t layers = 3) {
    TransformerOptions options = tiny_options();
    options.memory = MemoryFrom::layer;
    options.norm = norm;
    options.encoder_layers = options.decoder_layers = layers;
    return options;
}

const Sentences& source() {
    static const Sentences all = packed({random_tokens(4, 11, 1), random_tokens(9, 11, 2)});
    return all;
}

const Sentences& target() {
    static const Sentences all = packed({random_tokens(5, 13, 3), random_tokens(3, 13, 4)});
    return all;
}

Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t count) {
    const NoGrad no_grad;
    return ops::slice(Variable(x), 1, begin, begin + count).value();
}

bool has(const Module& module, const std::string& name) {
    const std::vector<std::string> names = names_of(module);
    return std::find(names.begin(), names.end(), name) != names.end();
}

// ---- what the decoder attends to

// A deeper model begins with the same first layers, so a model of only these gives the wanted values.
TEST(MemoryFromLayer, HoldsWhatAnEncoderOfSoManyLayersGives) {
    for (const NormPlace norm : {NormPlace::pre, NormPlace::post}) {
        for (const bool final_norm : {false, true}) {
            TransformerOptions options = by_layer(norm);
            options.final_norm = final_norm;
            const NoGrad no_grad;
            const Tensor memory = make(options)->encode(source().tokens, source().spans).value();
            ASSERT_EQ(memory.shape(), Shape({13, 24}));
            for (std::int64_t layers = 1; layers <= 3; ++layers) {
                options.memory = MemoryFrom::last;
                options.encoder_layers = layers;
                const Tensor alone = make(options)->encode(source().tokens, source().spans).value();
                EXPECT_TRUE(same_bits(columns(memory, 8 * (layers - 1), 8), alone)) << layers;
            }
        }
    }
}

TEST(MemoryFromLayer, IsReadByTheLayerOfThatNumberOnly) {
    const auto model = make(by_layer(NormPlace::post));
    const NoGrad no_grad;
    const Tensor memory = model->encode(source().tokens, source().spans).value();
    const auto maps_of = [&](const Tensor& read) {
        AttentionMaps maps;
        model->decode(target().tokens, target().spans, Variable(read), source().spans, &maps);
        return maps.cross;
    };
    const std::vector<Tensor> before = maps_of(memory);
    for (std::int64_t disturbed = 0; disturbed < 3; ++disturbed) {
        Tensor other = memory.clone();
        for (std::int64_t row = 0; row < other.rows(); ++row)
            for (std::int64_t i = 8 * disturbed; i < 8 * disturbed + 8; ++i)
                other.mutable_data<float>()[row * 24 + i] += static_cast<float>(i);
        const std::vector<Tensor> after = maps_of(other);
        for (std::size_t layer = 0; layer < 3; ++layer)
            EXPECT_EQ(same_bits(before[layer], after[layer]), static_cast<std::int64_t>(layer) < disturbed) << layer << disturbed;
    }
}

// A narrow feed-forward in f32 on CUDA takes a fused kernel while it is not recorded, but not in a checkpoint.
TEST(Checkpoint, OfLayersRunsOnEveryDevice) {
    for (const Device device : {Device::cpu, Device::cuda}) {
        if (device == Device::cuda && !device::available()) continue;
        std::vector<std::vector<double>> gradients;
        for (const bool checkpointed : {false, true}) {
            TransformerOptions options = tiny_options();
            options.d_model = 32;
            options.d_ff = 64;
            options.checkpoint_layers = checkpointed;
            Transformer model(options, 3);
            model.to(device);
            const FlatParameters flat = flatten(model);
            backward(model.loss(source(), packed({{2, 5, 7, 9}, {2, 4}}), tokens_of({5, 7, 9, 3, 4, 3})));
            gradients.push_back(flat.gradients.to(Device::cpu).to_vector());
        }
        if (device == Device::cpu) {
            EXPECT_EQ(gradients[0], gradients[1]);
            continue;
        }
        // There the memory's gradient is one product for all layers, and with checkpoints a sum of one for each: rounded
        // otherwise.
        double largest = 0;
        for (const double value : gradients[0]) largest = std::max(largest, std::abs(value));
        for (std::size_t i = 0; i < gradients[0].size(); ++i) EXPECT_NEAR(gradients[0][i], gradients[1][i], 1e-6 * largest) << i;
    }
}

TEST(MemoryFromLayer, NeedsAsManyLayersOnBothSides) {
    TransformerOptions options = by_layer(NormPlace::pre);
    options.decoder_layers = 2;
    expect_error([&] { const Transformer model(options); }, "3 encoder and 2 decoder layers");
}

// ---- matrices and biases

TEST(Tie, OfTheEmbeddingsLeavesTheOutputItsOwnMatrixAndBias) {
    TransformerOptions options = tiny_options();
    options.source_vocabulary = options.target_vocabulary = 13;
    options.tie = Tie::embeddings;
    const auto model = make(options);
    EXPECT_TRUE(has(*model, "embedding.weight") && has(*model, "output.weight") && has(*model, "output.bias"));
    EXPECT_FALSE(has(*model, "source_embedding.weight") || has(*model, "target_embedding.weight"));
    backward(model->loss(source(), target(), tokens_of(random_tokens(8, 13, 5))));
    const Tensor gradient = gradients_of(*model).at("embedding.weight");
    // A token that occurs only in the source, and one that occurs only in the target.
    const std::vector<double> read = source().tokens.to_vector(), asked = target().tokens.to_vector();
    int only_source = 0, only_target = 0;
    for (std::int32_t token = 0; token < 13; ++token) {
        const bool in_source = std::find(read.begin(), read.end(), token) != read.end();
        const bool in_target = std::find(asked.begin(), asked.end(), token) != asked.end();
        double sum = 0;
        for (std::int64_t i = 0; i < 8; ++i) sum += std::abs(gradient.data<float>()[token * 8 + i]);
        EXPECT_EQ(sum > 0, in_source || in_target) << token;
        only_source += in_source && !in_target;
        only_target += in_target && !in_source;
    }
    EXPECT_TRUE(only_source > 0 && only_target > 0) << "the example shows nothing";
    options.target_vocabulary = 12;
    expect_error([&] { const Transformer other(options); }, "cannot be tied");
}

TEST(Biases, OfAttentionAndOutputAreChosenApart) {
    TransformerOptions options = tiny_options();
    options.attention_bias = false;
    options.output_bias = false;
    const auto notebook = make(options);
    for (const std::string& name : names_of(*notebook)) {
        if (!name.ends_with(".bias")) continue;
        EXPECT_TRUE(name.find("norm") != name.npos || name.find("feed_forward") != name.npos) << name;
    }
    EXPECT_TRUE(has(*notebook, "encoder.layers.0.feed_forward.inner.bias"));
    options = tiny_options();
    options.bias = false;
    options.output_bias = true;
    for (const std::string& name : names_of(*make(options)))
        EXPECT_TRUE(!name.ends_with(".bias") || name.find("norm") != name.npos || name == "output.bias") << name;
    EXPECT_TRUE(has(*make(options), "output.bias"));
    options.tie = Tie::target;
    const auto tied = make(options);
    EXPECT_TRUE(has(*tied, "output.bias") && !has(*tied, "output.weight"));
    EXPECT_EQ(named_tensor(*tied, "output.bias").shape(), Shape({options.target_vocabulary}));
    options.output_bias.reset();
    options.bias = true;
    EXPECT_FALSE(has(*make(options), "output.bias")) << "a tied projection has a bias when it is asked for";
}

// ---- the begin mark as zeros

TransformerOptions zero_started(Tie tie) {
    TransformerOptions options = tiny_options();
    options.source_vocabulary = options.target_vocabulary;
    options.tie = tie;
    options.zero_start = true;
    return options;
}

const char* target_table(Tie tie) {
    return tie == Tie::all || tie == Tie::embeddings ? "embedding.weight" : "target_embedding.weight";
}

TEST(ZeroStart, BeginsWithARowOfZerosAndForbidsTheMarkWhereTheOutputIsTied) {
    for (const Tie tie : {Tie::all, Tie::embeddings, Tie::target, Tie::none}) {
        TransformerOptions options = zero_started(tie);
        const Transformer model(options, 3);
        options.zero_start = false;
        const Transformer usual(options, 3);
        const Tensor row = named_tensor(model, target_table(tie)).slice(begin_mark_id, begin_mark_id + 1);
        for (const double x : row.to_vector()) EXPECT_EQ(x, 0);
        for (const std::string& name : names_of(usual)) {  // all other initial values are the usual ones
            const std::vector<double> a = named_tensor(model, name).to_vector(), b = named_tensor(usual, name).to_vector();
            const bool has_row = name == target_table(tie);
            for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i] == b[i] || (has_row && i / 8 == begin_mark_id)) << name;
        }
        if (model.options().output_is_tied()) {
            const std::vector<double> bias = named_tensor(model, "output.bias").to_vector();
            for (std::size_t i = 0; i < bias.size(); ++i) EXPECT_EQ(bias[i], i == begin_mark_id ? forbidden_bias : 0);
        } else {
            for (const double b : named_tensor(model, "output.bias").to_vector()) EXPECT_EQ(b, 0);
        }
    }
    TransformerOptions contrary = zero_started(Tie::all);
    contrary.output_bias = false;
    expect_error([&] { const Transformer model(contrary); }, "zero_start keeps the begin mark's row");
}

// Label smoothing, weight decay and a begin mark in every sentence: the row and its bias stay what they are to the bit.
TEST(ZeroStart, TrainingLeavesTheMarksRowAtZero) {
    for (const Device device : {Device::cpu, Device::cuda})
        for (const Tie tie : {Tie::all, Tie::none, Tie::target})
            for (const DType dtype : {DType::f32, DType::bf16}) {
                if (device == Device::cuda ? !device::available() : dtype == DType::bf16) continue;
                TransformerOptions options = zero_started(tie);
                options.activation = ops::Activation::silu;
                options.positions = Positions::sines_first;
                options.checkpoint_layers = tie == Tie::target;
                Transformer model(options, 3);
                model.to(device);
                FlatParameters flat = flatten(model, dtype);
                const std::vector<double> before = flat.values.to(Device::cpu).to_vector();
                optim::Optimizer optimizer(flat.values, flat.gradients, {.method = optim::Method::adamw, .weight_decay = 0.1});
                if (dtype == DType::bf16) optimizer.round_to(flat.bf16_copy);
                const Sentences target_in = packed({{begin_mark_id, 5, 7, 9}, {begin_mark_id, 4}});
                const Tensor target_out = tokens_of({5, 7, 9, 3, 4, 3});
                for (int update = 0; update < 5; ++update) {
                    flat.zero_gradients();
                    const Variable loss = model.loss(source(), target_in, target_out, {.label_smoothing = 0.1});
                    EXPECT_LT(loss.value().to(Device::cpu).item(), 10) << "smoothing leaves the forbidden mark out";
                    backward(loss);
                    optimizer.step({.lr = 0.1});
                }
                std::map<std::string, Tensor> now;
                for (const auto& [name, tensor] : flat.named(flat.values)) now[name] = tensor.to(Device::cpu);
                const Tensor& table = now.at(target_table(tie));
                for (const double x : table.slice(begin_mark_id, begin_mark_id + 1).to_vector()) EXPECT_EQ(x, 0);
                for (const double x : table.slice(5, 6).to_vector()) EXPECT_NE(x, 0);
                if (tie != Tie::none) {
                    EXPECT_EQ(now.at("output.bias").to_vector()[begin_mark_id], forbidden_bias);
                }
                EXPECT_NE(flat.values.to(Device::cpu).to_vector(), before);
            }
}

TEST(ZeroStart, TheMarkReadsAsItsPositionAlone) {
    const TransformerOptions options = zero_started(Tie::all);
    Transformer model(options, 3);
    Module root(1);
    const PositionalEncoding positions(root, "positions", Positions::sinusoidal, 4, 8);
    const Embedding embedding(root, "embedding", 13, 8, EmbeddingInit::scaled, true, begin_mark_id);
    const std::vector<double> row =
        embedding.forward(tokens_of({begin_mark_id}), Spans::packed(std::vector<std::int64_t>{1}), positions).value().to_vector();
    EXPECT_EQ(row, positions.table(1).value().slice(0, 1).to_vector());
    backward(ops::sum(embedding.forward(tokens_of({begin_mark_id, 4}))));
    const Tensor gradient = embedding.weight().grad();
    for (const double g : gradient.slice(begin_mark_id, begin_mark_id + 1).to_vector()) EXPECT_EQ(g, 0);
    for (const double g : gradient.slice(4, 5).to_vector()) EXPECT_NE(g, 0);
    expect_error([&] { const Embedding other(root, "other", 2, 8, EmbeddingInit::scaled, true, 2); }, "row 2 should stay zero");
}

TEST(Embeddings, AreScaledAndInitialisedAsChosen) {
    Module root(1);
    const PositionalEncoding positions(root, "positions", Positions::sinusoidal, 4, 64);
    const auto first_row = [&](const Embedding& embedding) {
        return embedding.forward(tokens_of({0}), Spans::packed(std::vector<std::int64_t>{1}), positions).value().to_vector();
    };
    const auto deviation = [](const Embedding& embedding) {
        double square = 0;
        for (const double x : embedding.weight().value().to_vector()) square += x * x;
        return std::sqrt(square / static_cast<double>(embedding.weight().value().numel()));
    };
    const Embedding scaled(root, "scaled", 500, 64), unit(root, "unit", 500, 64, EmbeddingInit::unit, false),
        xavier(root, "xavier", 500, 64, EmbeddingInit::xavier);
    EXPECT_NEAR(deviation(scaled), 0.125, 0.005);
    EXPECT_NEAR(deviation(unit), 1, 0.04);
    EXPECT_NEAR(deviation(xavier), std::sqrt(2.0 / 564), 0.005);  // bound / sqrt(3) for a uniform distribution
    for (const auto& [embedding, factor] : {std::pair(&scaled, 8.0), std::pair(&unit, 1.0), std::pair(&xavier, 8.0)}) {
        const std::vector<double> row = first_row(*embedding);
        for (std::size_t i = 0; i < 64; ++i) {
            const double position = i % 2 == 0 ? 0 : 1;  // sin 0 and cos 0
            EXPECT_NEAR(row[i], factor * embedding->weight().value().to_vector()[i] + position, 1e-5);
        }
    }
}

TEST(Norm, AddsItsEpsToTheVariance) {
    TransformerOptions options = tiny_options();
    options.norm = NormPlace::post;
    options.norm_eps = 3;
    const Transformer model(options);
    const NoGrad no_grad;
    // A norm turns rows of variance v into rows of variance v / (v + eps), which is never 1.
    const Tensor result = model.encode(source().tokens, source().spans).value();
    for (std::int64_t row = 0; row < result.rows(); ++row) {
        double square = 0;
        for (std::int64_t i = 0; i < 8; ++i) square += std::pow(result.data<float>()[row * 8 + i], 2);
        EXPECT_LT(square / 8, 0.9) << row;
        EXPECT_GT(square / 8, 0.01) << row;
    }
}

// ---- the generator

TEST(Generator, GivesLogProbabilitiesWithAGradient) {
    for (const Tie tie : {Tie::target, Tie::none}) {
        TransformerOptions options = tiny_options();
        options.tie = tie;
        const auto model = make(options, DType::f64);
        const Variable memory = model->encode(source().tokens, source().spans);
        const Variable hidden = model->decode(target().tokens, target().spans, memory, source().spans);
        const Variable result = model->generator(hidden);
        ASSERT_EQ(result.shape(), Shape({8, 13}));
        for (std::int64_t row = 0; row < 8; ++row) {
            double sum = 0;
            for (std::int64_t i = 0; i < 13; ++i) sum += std::exp(result.value().data<double>()[row * 13 + i]);
            EXPECT_NEAR(sum, 1, 1e-12);
        }
        const Tensor logits = model->logits(hidden.value());
        EXPECT_LE(relative_error(result.value(), kernels::log_softmax_forward(logits)), 1e-12);
        // The loss is minus the mean log-probability of the targets.
        const Tensor targets = tokens_of(random_tokens(8, 13, 5));
        double mean = 0;
        for (std::int64_t row = 0; row < 8; ++row)
            mean -= result.value().data<double>()[row * 13 + targets.data<std::int32_t>()[row]] / 8;
        EXPECT_NEAR(model->loss(source(), target(), targets).value().item(), mean, 1e-12);
        backward(result, normal({8, 13}, DType::f64, 7));
        for (const auto& [name, gradient] : gradients_of(*model))
            EXPECT_FALSE(same_bits(gradient, Tensor::zeros(gradient.shape(), DType::f64))) << name;
    }
}

}  // namespace
}  // namespace heddle::nn
