// Properties of the whole model: causality, independence of sentences, distinct layers and heads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "autograd/tape.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

/// A combination of options that change the data's path.
struct Variant {
    NormPlace norm;
    ops::Activation activation;
    Positions positions;
    Tie tie;
    DType dtype;
};

std::vector<Variant> variants() {
    return {{NormPlace::pre, ops::Activation::relu, Positions::sinusoidal, Tie::all, DType::f32},
            {NormPlace::pre, ops::Activation::gelu, Positions::learned, Tie::none, DType::f64},
            {NormPlace::post, ops::Activation::relu, Positions::learned, Tie::target, DType::f32},
            {NormPlace::post, ops::Activation::gelu_tanh, Positions::sinusoidal, Tie::none, DType::f64},
            {NormPlace::post, ops::Activation::silu, Positions::marian, Tie::target, DType::f32}};
}

std::unique_ptr<Transformer> make(const Variant& variant, std::int64_t d_model = 40, std::int64_t head_dim = 12) {
    TransformerOptions options = tiny_options();
    options.norm = variant.norm;
    options.activation = variant.activation;
    options.positions = variant.positions;
    options.tie = variant.tie;
    options.d_model = d_model;
    options.head_dim = head_dim;
    options.d_ff = 72;
    options.position_table = 80;
    if (variant.tie == Tie::all) options.source_vocabulary = options.target_vocabulary;
    auto model = std::make_unique<Transformer>(options, 3, variant.dtype);
    disturb(*model);
    model->eval();
    return model;
}

/// Logits of the target rows.
Tensor logits_of(const Transformer& model, const Sentences& source, const Sentences& target_in) {
    const NoGrad no_grad;
    const Variable memory = model.encode(source.tokens, source.spans);
    return model.logits(model.decode(target_in.tokens, target_in.spans, memory, source.spans).value());
}

TEST(Transformer, FutureTokensChangeEarlierOutputsByExactlyZero) {
    for (const Variant& variant : variants()) {
        const auto model = make(variant);
        const Sentences source = packed({random_tokens(9, 11, 1)});
        const Tokens target = random_tokens(70, 13, 2);
        const Tensor before = logits_of(*model, source, packed({target}));
        for (const std::size_t changed : {std::size_t{1}, std::size_t{33}, std::size_t{69}}) {
            Tokens other = target;
            other[changed] = (other[changed] + 1) % 13;
            const Tensor after = logits_of(*model, source, packed({other}));
            const auto row = static_cast<std::int64_t>(changed);
            EXPECT_TRUE(same_bits(before.slice(0, row), after.slice(0, row)));
            EXPECT_FALSE(same_bits(before.slice(row, row + 1), after.slice(row, row + 1)));
        }
    }
}

TEST(Transformer, SentenceHasTheSameBitsAloneAndInAnyBatch) {
    const std::vector<std::int64_t> lengths{7, 1, 33, 12, 64};
    std::vector<Tokens> sources;
    std::vector<Tokens> targets;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        sources.push_back(random_tokens(lengths[i], 11, 10 + i));
        targets.push_back(random_tokens(lengths[(i + 2) % lengths.size()], 13, 20 + i));
    }
    for (const Variant& variant : variants()) {
        const auto model = make(variant);
        for (const int count : {1, 2, 3}) {
            const WithThreads with(count);
            const Sentences packed_in = packed(targets);
            const Tensor together = logits_of(*model, packed(sources), packed_in);
            const Sentences padded_in = padded(targets, 65, 3);
            const Tensor with_padding = logits_of(*model, padded(sources, 67, 2), padded_in);
            for (std::size_t i = 0; i < sources.size(); ++i) {
                const Tensor alone = logits_of(*model, packed({sources[i]}), packed({targets[i]}));
                const Span in_packed = packed_in.spans[static_cast<std::int64_t>(i)];
                const Span in_padded = padded_in.spans[static_cast<std::int64_t>(i)];
                EXPECT_TRUE(same_bits(alone, together.slice(in_packed.start, in_packed.start + in_packed.length))) << i;
                EXPECT_TRUE(same_bits(alone, with_padding.slice(in_padded.start, in_padded.start + in_padded.length))) << i;
            }
        }
    }
}

TEST(Transformer, GradientsAreTheSameBitsForEveryNumberOfThreads) {
    for (const Variant& variant : variants()) {
        const auto model = make(variant);
        model->train();
        std::map<std::string, Tensor> first;
        for (const int count : {1, 2, 3}) {
            const WithThreads with(count);
            zero_gradients(*model);
            const Sentences target = packed({random_tokens(30, 13, 3), random_tokens(50, 13, 4)});
            const Variable loss =
                model->loss(packed({random_tokens(40, 11, 1), random_tokens(35, 11, 2)}), target, target.tokens);
            backward(loss);
            for (const auto& [name, gradient] : gradients_of(*model)) {
                if (count == 1)
                    first[name] = gradient.clone();
                else
                    EXPECT_TRUE(same_bits(first[name], gradient)) << name << " with " << count << " threads";
            }
        }
    }
}

TEST(Transformer, PaddedBatchHasThePackedBatchsLossAndGradients) {
    for (const Variant& variant : variants()) {
        if (variant.dtype != DType::f64) continue;
        const auto model = make(variant);
        const std::vector<Tokens> sources{random_tokens(5, 11, 1), random_tokens(9, 11, 2)};
        const std::vector<Tokens> targets{random_tokens(8, 13, 3), random_tokens(3, 13, 4)};
        const Variable loss = model->loss(packed(sources), packed(targets), packed(targets).tokens);
        backward(loss);
        std::map<std::string, Tensor> wanted;
        for (const auto& [name, gradient] : gradients_of(*model)) wanted[name] = gradient.clone();
        zero_gradients(*model);
        const Variable same = model->loss(padded(sources, 10, 1), padded(targets, 11, 1), padded(targets, 11, -1).tokens);
        backward(same);
        EXPECT_NEAR(same.value().item(), loss.value().item(), 1e-13);
        for (const auto& [name, gradient] : gradients_of(*model)) {
            if (name.ends_with("key.bias")) continue;  // true gradient zero: only rounding noise to compare
            EXPECT_LE(relative_error(gradient, wanted.at(name)), 1e-11) << name;
        }
    }
}

TEST(Transformer, AttentionRowsSumToOneAndMaskedPlacesAreExactlyZero) {
    const auto model = make(variants()[0]);
    const Sentences source = packed({random_tokens(5, 11, 1), random_tokens(9, 11, 2)});
    const Sentences target = packed({random_tokens(6, 13, 3), random_tokens(4, 13, 4)});
    const NoGrad no_grad;
    AttentionMaps maps;
    const Variable memory = model->encode(source.tokens, source.spans, &maps);
    model->decode(target.tokens, target.spans, memory, source.spans, &maps);
    ASSERT_EQ(maps.encoder.size(), 2u);
    ASSERT_EQ(maps.decoder.size(), 2u);
    ASSERT_EQ(maps.cross.size(), 2u);
    const auto expect_map = [](const Tensor& map, const Spans& queries, const Spans& keys, bool causal) {
        ASSERT_EQ(map.shape(), Shape({2, 2, queries.longest(), keys.longest()}));
        const std::vector<double> p = map.to_vector();
        std::size_t at = 0;
        for (std::int64_t s = 0; s < 2; ++s)
            for (int head = 0; head < 2; ++head)
                for (std::int64_t q = 0; q < queries.longest(); ++q) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < keys.longest(); ++k, ++at) {
                        const bool allowed = q < queries[s].length && k < keys[s].length && (!causal || k <= q);
                        EXPECT_TRUE(allowed ? p[at] > 0 : p[at] == 0);
                        sum += p[at];
                    }
                    EXPECT_NEAR(sum, q < queries[s].length ? 1 : 0, 1e-6);
                }
    };
    for (const Tensor& map : maps.encoder) expect_map(map, source.spans, source.spans, false);
    for (const Tensor& map : maps.decoder) expect_map(map, target.spans, target.spans, true);
    for (const Tensor& map : maps.cross) expect_map(map, target.spans, source.spans, false);
}

TEST(Transformer, ChangingOneHeadChangesThatHeadsMapOnly) {
    const auto model = make(variants()[1]);
    const Sentences source = packed({random_tokens(6, 11, 1)});
    const NoGrad no_grad;
    AttentionMaps before;
    const Tensor memory = model->encode(source.tokens, source.spans, &before).value();
    Tensor query = named_tensor(*model, "encoder.layers.0.self_attention.query.weight");
    query.slice(12, 24).fill_(0.05);  // the rows of head 1
    AttentionMaps after;
    const Tensor moved = model->encode(source.tokens, source.spans, &after).value();
    const auto head = [](const Tensor& map, std::int64_t h) { return map.reshape({2, 6, 6}).slice(h, h + 1); };
    EXPECT_TRUE(same_bits(head(before.encoder[0], 0), head(after.encoder[0], 0)));
    EXPECT_FALSE(same_bits(head(before.encoder[0], 1), head(after.encoder[0], 1)));
    EXPECT_FALSE(same_bits(before.encoder[1], after.encoder[1]));
    EXPECT_FALSE(same_bits(memory, moved));
}

TEST(Transformer, FrozenParametersGetNoGradientAndTheOthersTheirs) {
    const auto model = make(variants()[1]);
    const Sentences source = packed({random_tokens(9, 11, 2)});
    const Sentences target = packed({random_tokens(8, 13, 3)});
    backward(model->loss(source, target, target.tokens));
    std::map<std::string, Tensor> wanted;
    for (const auto& [name, gradient] : gradients_of(*model)) wanted[name] = gradient.clone();
    zero_gradients(*model);
    model->freeze("encoder.layers.0");
    model->freeze("decoder.layers.1.cross_attention.query");
    backward(model->loss(source, target, target.tokens));
    for (const Parameter& parameter : model->parameters())
        for (const auto& [name, gradient] : parameter.named(parameter.variable.grad())) {
            const std::vector<double> zeros(static_cast<std::size_t>(gradient.numel()), 0);
            EXPECT_EQ(gradient.to_vector(), parameter.variable.requires_grad() ? wanted[name].to_vector() : zeros) << name;
        }
}

TEST(Transformer, SizesEachSidesTablesByItsOwnVocabulary) {
    for (const auto& [source, target] : {std::pair{11, 13}, std::pair{13, 11}})
        for (const Tie tie : {Tie::none, Tie::target}) {
            TransformerOptions options = tiny_options();
            options.source_vocabulary = source;
            options.target_vocabulary = target;
            options.tie = tie;
            const Transformer model(options);
            EXPECT_EQ(named_tensor(model, "source_embedding.weight").shape(), Shape({source, 8}));
            EXPECT_EQ(named_tensor(model, "target_embedding.weight").shape(), Shape({target, 8}));
            const auto logits = [&](std::int32_t word, std::int32_t translation) {
                return logits_of(model, packed({{word}}), packed({{translation}}));
            };
            EXPECT_EQ(logits(source - 1, target - 1).shape(), Shape({1, target}));
            expect_error([&] { logits(source, 0); }, fmt::format("is {0}, but the table has {0} rows", source).c_str());
            expect_error([&] { logits(0, target); }, fmt::format("is {0}, but the table has {0} rows", target).c_str());
        }
}

TEST(Transformer, UndefinedOrForeignTiesAreErrors) {
    TransformerOptions options = tiny_options();
    options.tie = Tie::all;
    expect_error([&] { const Transformer model(options); }, "embeddings of 11 source and 13 target tokens cannot be tied");
    options = tiny_options();
    options.heads = 3;
    expect_error([&] { const Transformer model(options); }, "d_model 8 cannot be divided by 3 heads");
    options = tiny_options();
    for (const std::int64_t key_heads : {-1, 3, 4}) {
        options.key_heads = key_heads;
        expect_error([&] { const Transformer model(options); },
                     "2 heads cannot share " + std::to_string(key_heads) + " heads of keys");
    }
    options = tiny_options();
    options.ffn_dropout = 1.0;
    expect_error([&] { const Transformer model(options); }, "ffn_dropout is 1, wanted 0 <= ffn_dropout < 1");
    options = tiny_options();
    options.d_ff = 0;
    expect_error([&] { const Transformer model(options); }, "d_ff is 0");
}

TEST(Transformer, ExtentsBeyondEveryModelAreAnErrorBeforeAnythingIsMade) {
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    const std::pair<std::int64_t TransformerOptions::*, const char*> extents[] = {
        {&TransformerOptions::d_ff, "d_ff is"},
        {&TransformerOptions::d_model, "d_model is"},
        {&TransformerOptions::heads, "heads is"},
        {&TransformerOptions::position_table, "position"},
        {&TransformerOptions::source_vocabulary, "source_vocabulary is"}};
    for (const auto& [extent, message] : extents)
        for (const std::int64_t value : {huge, INT64_MAX, std::int64_t{200'000'000'000}}) {
            TransformerOptions options = tiny_options();
            options.*extent = value;
            expect_error([&] { const Transformer model(options); }, message);
            options = tiny_options();
            options.head_dim = value;
            expect_error([&] { const Transformer model(options); }, "2 heads of head_dim");
        }
    TransformerOptions table = tiny_options();
    table.d_model = 1 << 20;
    table.position_table = 1 << 8;
    expect_error([&] { (void)table.complete(); }, "position_table is 256, wanted at most 128");
}

TEST(Transformer, HasTheElementsThatItsOptionsCount) {
    for (const Tie tie : {Tie::none, Tie::target, Tie::embeddings, Tie::all})
        for (const Positions positions : {Positions::sinusoidal, Positions::learned}) {
            TransformerOptions options = tiny_options();
            options.target_vocabulary = options.source_vocabulary;
            options.head_dim = 5;
            if (tie == Tie::none) options.key_heads = 1;
            options.encoder_layers = 3;
            options.bias = false;
            options.norm = NormPlace::post;
            options.tie = tie;
            options.positions = positions;
            const Transformer model(options);
            std::int64_t vectors = 0;
            for (const auto& [name, tensor] : model.named_tensors())
                if (tensor.rank() == 1) vectors += tensor.numel();
            EXPECT_EQ(options.complete().matrix_elements(), static_cast<double>(model.parameter_count() - vectors));
        }
}

TEST(Transformer, SourceAndTargetOfDifferentNumbersAreAnError) {
    const auto model = make(variants()[0]);
    const Sentences source = packed({random_tokens(4, 11, 1)});
    const Sentences target = packed({random_tokens(4, 11, 1), random_tokens(2, 11, 1)});
    expect_error([&] { model->loss(source, target, target.tokens); }, "2 target sentences, but a memory of 1 sentences");
}

}  // namespace
}  // namespace heddle::nn
