// nn::LanguageModel: a decoder without a source. Its cache, its loss and its texts against the whole prefix computed anew.
#include "nn/language_model.h"

#include <gtest/gtest.h>

#include <map>

#include "core/device.h"
#include "core/format.h"
#include "core/safetensors.h"
#include "nn/flat.h"
#include "nn/search/scoring.h"
#include "nn/search/search.h"
#include "nn/summary.h"
#include "optim/optimizer.h"
#include "tests/nn/decoding_support.h"

namespace heddle::nn {
namespace {

constexpr std::int64_t vocabulary = 11;

// The newer choices: RMS norm, rotary positions, a gate.
TransformerOptions newer() {
    TransformerOptions options{.layers = 2, .d_model = 24, .heads = 4, .key_heads = 1, .d_ff = 40, .bias = false, .dropout = 0.2};
    options.norm_kind = NormKind::rms;
    options.positions = Positions::rotary;
    options.activation = ops::Activation::silu;
    options.gated = true;
    return options;
}

TransformerOptions small(NormPlace norm = NormPlace::pre) {
    TransformerOptions options{.layers = 2, .d_model = 24, .heads = 4, .d_ff = 40, .dropout = 0.2};
    options.norm = norm;
    options.activation = ops::Activation::gelu;
    options.positions = norm == NormPlace::pre ? Positions::sinusoidal : Positions::learned;
    options.key_heads = norm == NormPlace::pre ? 2 : 4;
    options.tie = norm == NormPlace::pre ? Tie::all : Tie::none;
    options.position_table = 64;
    return options;
}

std::unique_ptr<LanguageModel> make(const TransformerOptions& options, DType dtype = DType::f32, double deviation = 0.2) {
    auto model = std::make_unique<LanguageModel>(vocabulary, options, 3, dtype);
    disturb(*model, 5, deviation);
    model->eval();
    return model;
}

// Logits [1, vocabulary] of the token after the prefix, begin mark included, without a cache.
Tensor after(const LanguageModel& model, const Tokens& prefix) {
    const NoGrad no_grad;
    const auto last = static_cast<std::int64_t>(prefix.size()) - 1;
    return model.logits(model.decode(packed({prefix}), {}, {}).value().slice(last, last + 1));
}

TransformerOptions with_alibi() {
    TransformerOptions options = small();
    options.positions = Positions::alibi;
    return options;
}

std::vector<TransformerOptions> kinds() { return {small(NormPlace::pre), small(NormPlace::post), newer(), with_alibi()}; }

std::vector<Tokens> texts() { return {random_tokens(5, vocabulary, 1), {}, random_tokens(9, vocabulary, 2)}; }

TEST(LanguageModel, HasTheParametersOfADecoderAlone) {
    const auto expect_names = [](TransformerOptions options, std::vector<std::string> wanted,
                                 const std::vector<std::string>& parts, const std::vector<std::string>& leaves) {
        options.layers = 1;
        for (const std::string& part : parts)
            for (const std::string& leaf : leaves) wanted.push_back(fmt::format("decoder.layers.0.{}.{}", part, leaf));
        std::vector<std::string> names = names_of(LanguageModel(vocabulary, options));
        std::ranges::sort(names);
        std::ranges::sort(wanted);
        EXPECT_EQ(names, wanted);
    };
    std::vector<std::string> parts = {"self_attention_norm", "feed_forward_norm",    "self_attention.query",
                                      "self_attention.key",  "self_attention.value", "self_attention.output",
                                      "feed_forward.inner",  "feed_forward.outer"};
    expect_names(small(NormPlace::post), {"embedding.weight", "positions.weight", "output.weight", "output.bias"}, parts,
                 {"weight", "bias"});
    parts.emplace_back("feed_forward.gate");
    expect_names(newer(), {"embedding.weight", "decoder.final_norm.weight"}, parts, {"weight"});
    EXPECT_EQ(names_of(LanguageModel(vocabulary, small())).front(), "embedding.weight") << "tied: the only matrix";
}

// Without positions, the last token of one layer would see the others as a set.
TEST(LanguageModel, PositionsInAttentionTellTheOrderOfTheTokens) {
    for (TransformerOptions options : {newer(), with_alibi()}) {
        options.layers = 1;
        const auto model = make(options, DType::f64);
        EXPECT_GT(relative_error(after(*model, {2, 5, 6, 7}), after(*model, {2, 6, 5, 7})), 1e-3);
    }
}

TEST(LanguageModel, StepWithCacheGivesTheBitsOfTheWholePrefix) {
    for (const TransformerOptions& options : kinds())
        for (const DType dtype : {DType::f32, DType::f64}) {
            const auto model = make(options, dtype);
            std::vector<Tokens> prefixes(3);
            DecoderCache cache = model->start(3, 40);
            for (std::uint64_t place = 0; place < 40; ++place) {
                const Tokens next = random_tokens(3, vocabulary, 100 + place);
                const Tensor logits = model->step(tokens_of(next), cache);
                for (std::size_t i = 0; i < 3; ++i) prefixes[i].push_back(next[i]);
                if (place % 5 != 0 && place < 35) continue;
                for (std::int64_t i = 0; i < 3; ++i)
                    EXPECT_TRUE(same_bits(logits.slice(i, i + 1), after(*model, prefixes[static_cast<std::size_t>(i)])))
                        << "text " << i << " place " << place;
            }
        }
}

TEST(LanguageModel, OneTextMayHaveSeveralContinuations) {
    const auto model = make(small());
    DecoderCache cache = model->start(1, 3, 2);
    model->step(tokens_of({5}), cache);
    const std::int32_t both[] = {0, 0};
    cache.reorder(both);
    const Tensor logits = model->step(tokens_of({2, 7}), cache);
    EXPECT_TRUE(same_bits(logits.slice(0, 1), after(*model, {5, 2})) && same_bits(logits.slice(1, 2), after(*model, {5, 7})));
}

TEST(LanguageModel, ReadsNothingBehindAPlace) {
    const auto model = make(small());
    const NoGrad no_grad;
    Tokens text = random_tokens(9, vocabulary, 4);
    const Tensor before = (*model)(packed({text})).value();
    text[6] = static_cast<std::int32_t>((text[6] + 1) % vocabulary);
    const Tensor changed = (*model)(packed({text})).value();
    EXPECT_TRUE(same_bits(before.slice(0, 6), changed.slice(0, 6)));
    EXPECT_FALSE(same_bits(before.slice(6, 7), changed.slice(6, 7)));
}

TEST(LanguageModel, LossIsTheMeanOfMinusLogP) {
    const auto model = make(small(), DType::f64);
    const std::vector<Tokens> all = texts(), none(all.size());
    const TextBatch batch = text_batch(all);
    EXPECT_EQ(batch.read.spans, Spans({{0, 6}, {6, 1}, {7, 10}}, 17));
    EXPECT_EQ(batch.read.tokens.values<std::int32_t>()[6], Marks{}.begin);
    EXPECT_EQ(batch.written.values<std::int32_t>()[6], Marks{}.end);
    double sum = 0;
    for (const PairScore& each : score(*model, none, all)) sum += each.log_probability;
    EXPECT_NEAR(model->loss(batch).value().item(), -sum / 17, 1e-12);
    const Variable logits = (*model)(batch.read);
    EXPECT_NEAR(ops::cross_entropy(logits, batch.written).value().item(), -sum / 17, 1e-12);
}

TEST(LanguageModel, LearnsATextAndWritesIt) {
    LanguageModel model(vocabulary, {.layers = 1, .d_model = 16, .heads = 2, .d_ff = 32, .dropout = 0});
    const std::vector<Tokens> all = {{5, 6, 7, 5, 8, 9, 5}};
    FlatParameters flat = flatten(model, DType::f32);
    optim::Optimizer adam(flat.values, flat.gradients, {});
    for (int update = 0; update < 100; ++update) {
        flat.zero_gradients();
        backward(model.loss(text_batch(all)));
        adam.step({.lr = 0.01});
    }
    model.eval();
    EXPECT_EQ(generate(model, {}, {.temperature = 0}), all[0]);
    EXPECT_EQ(generate(model, {5, 6}, {.temperature = 0, .max_length = 4}), Tokens({5, 6, 7, 5}));
}

// tests/golden/make_language_models.py: a LLaMA and a GPT-2 of transformers.
TEST(LanguageModel, EqualsTheModelsOfTransformers) {
    for (const std::string kind : {"llama", "gpt2"}) {
        const SafetensorsFile file(std::string(HEDDLE_SOURCE_DIR) + "/tests/golden/language_model_" + kind + ".safetensors");
        TransformerOptions options = newer();
        options.d_model = 16;
        options.d_ff = 24;
        options.dropout = 0;
        options.scale_embeddings = false;
        options.key_heads = 2;
        options.tie = Tie::none;
        if (kind == "gpt2") {
            options.norm_kind = NormKind::layer;
            options.positions = Positions::learned;
            options.position_table = 32;
            options.activation = ops::Activation::gelu_tanh;
            options.gated = false;
            options.bias = true;
            options.key_heads = 4;
            options.tie = Tie::all;
        } else {
            options.norm_eps = 1e-6;
        }
        LanguageModel model(vocabulary, options, 1, DType::f64);
        for (auto [name, tensor] : model.named_tensors()) tensor.copy_(file.load(name, DType::f64));
        std::vector<Tokens> whole, read, written;
        const Tensor tokens = file.load("tokens");
        const std::span<const std::int32_t> ids = tokens.values<std::int32_t>();
        for (std::size_t at = 0; const double length : file.load("lengths").to_vector()) {
            const std::size_t end = at + static_cast<std::size_t>(length);
            whole.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(at), ids.begin() + static_cast<std::ptrdiff_t>(end));
            read.emplace_back(whole.back().begin(), whole.back().end() - 1);
            written.emplace_back(whole.back().begin() + 1, whole.back().end());
            at = end;
        }
        EXPECT_LT(relative_error(model(packed(whole)).value(), file.load("logits")), 1e-12) << kind;
        const Variable loss = model.loss({packed(read), packed(written).tokens});
        EXPECT_NEAR(loss.value().item(), file.load("loss").item(), 1e-12) << kind;
        backward(loss);
        std::size_t compared = 0;
        for (const auto& [name, gradient] : gradients_of(model)) {
            ++compared;
            const std::vector<double> a = gradient.to_vector(), b = file.load("gradient." + name).to_vector();
            ASSERT_EQ(a.size(), b.size()) << name;
            for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-13) << kind << ' ' << name << ' ' << i;
        }
        EXPECT_EQ(compared, model.named_tensors().size()) << kind;
    }
}

// ---- generate

TEST(Generate, FollowsTheMostProbableTokensWithoutTemperature) {
    const auto model = make(small(), DType::f32, 0.5);
    const Tokens prompt = {4, 9};
    const Tokens text = generate(*model, prompt, {.temperature = 0, .max_length = 12});
    Tokens prefix = {Marks{}.begin};
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::vector<double> logits = after(*model, prefix).to_vector();
        const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
        EXPECT_EQ(text[i], i < prompt.size() ? prompt[i] : best);
        prefix.push_back(text[i]);
    }
    EXPECT_GT(text.size(), prompt.size());
}

TEST(Generate, DependsOnTheSeedAlone) {
    const auto model = make(small());
    const auto drawn = [&](std::uint64_t seed) { return generate(*model, {4}, {.top_k = 8, .seed = seed, .max_length = 20}); };
    EXPECT_EQ(drawn(1), drawn(1));
    EXPECT_NE(drawn(1), drawn(2));
}

// The fewest tokens with top_p of the probability, of those that top_k and the temperature leave.
TEST(Generate, DrawsFromTheTokensThatTopPLeaves) {
    const auto model = make(small(), DType::f32, 0.5);
    const std::vector<double> logits = after(*model, {Marks{}.begin}).to_vector();
    std::vector<double> shares;
    double every = 0;
    for (const double logit : logits) every += shares.emplace_back(std::exp(logit));
    std::sort(shares.rbegin(), shares.rend());
    const double just_three = (shares[0] + shares[1] + shares[2]) / every - 1e-4;
    for (const Sampling& sampling :
         {Sampling{.top_p = 0.5}, Sampling{.top_p = just_three}, Sampling{.top_p = 0.8, .temperature = 2},
          Sampling{.top_p = 1e-9}, Sampling{.top_k = 4, .top_p = 0.7, .temperature = 1.5}}) {
        std::vector<std::pair<double, std::int32_t>> falling;
        for (std::int32_t id = 0; id < vocabulary; ++id)
            falling.emplace_back(std::exp(logits[static_cast<std::size_t>(id)] / sampling.temperature), id);
        std::sort(falling.rbegin(), falling.rend());
        if (sampling.top_k > 0) falling.resize(static_cast<std::size_t>(sampling.top_k));
        double all = 0, sum = 0;
        for (const auto& [weight, id] : falling) all += weight;
        std::map<std::int32_t, double> wanted;
        for (const auto& [weight, id] : falling) {
            if (sum >= sampling.top_p * all) break;
            wanted[id] = weight;
            sum += weight;
        }
        constexpr int count = 2000;
        std::map<std::int32_t, double> found;
        for (const Hypothesis& each : translate(*model, Tokens(), {.n_best = count, .sampling = sampling, .max_length = 1}))
            found[each.tokens.empty() ? Marks{}.end : each.tokens[0]] += 1.0 / count;
        EXPECT_LT(wanted.size(), static_cast<std::size_t>(vocabulary));
        for (const auto& [id, share] : found) {
            ASSERT_TRUE(wanted.contains(id)) << id;
            EXPECT_NEAR(share, wanted[id] / sum, 5 * std::sqrt(0.25 / count)) << id;
        }
        EXPECT_EQ(found.size(), wanted.size());
    }
}

// Positions without a table have no end: a prompt of any length is continued by position_table tokens at most.
TEST(Generate, ContinuesAPromptAsLongAsItsPositionsReach) {
    for (const TransformerOptions& options : {small(NormPlace::pre), newer(), with_alibi()}) {
        const auto model = make(options);
        EXPECT_EQ(longest_translation(*model, 0), options.position_table);
        EXPECT_EQ(longest_translation(*model, 0, 600), 600 + options.position_table);
    }
    const auto rotary = make(newer());
    const Tokens prompt = random_tokens(600, vocabulary, 8);
    const Tokens text = generate(*rotary, prompt, {.forbidden = {0, 1}});
    ASSERT_GE(text.size(), prompt.size());
    EXPECT_TRUE(std::ranges::equal(std::span(text).first(prompt.size()), prompt));
    const auto learned = make(small(NormPlace::post));
    EXPECT_EQ(longest_translation(*learned, 0, 10), 64);
    expect_error([&] { generate(*learned, random_tokens(64, vocabulary, 8)); },
                 "a prefix of 64 tokens, but the model's position table ends after 64");
}

TEST(Generate, WrongUseIsAnError) {
    const auto model = make(small());
    expect_error([&] { generate(*model, {4}, {.temperature = -1}); }, "a temperature of -1");
    expect_error([&] { generate(*model, {4}, {.top_p = 0}); }, "top_p is 0, wanted more than 0 and at most 1");
    expect_error([&] { generate(*model, {99}); }, "prefix has the token 99");
    expect_error([&] { translate(*model, {4, 3}); }, "a language model reads none; generate() continues a text");
    const Model translator = random_model(9, 2);
    expect_error([&] { generate(*translator, {4}); }, "the model translates; wanted a language model");
    expect_error(
        [&] {
            Ensemble({model.get(), std::make_unique<Transformer>(
                                       TransformerOptions{.source_vocabulary = vocabulary, .target_vocabulary = vocabulary})
                                       .get()});
        },
        "a model that translates and a language model");
    TransformerOptions options = small();
    options.memory = MemoryFrom::layer;
    expect_error([&] { LanguageModel(vocabulary, options); }, "no encoder to attend to");
}

// ---- everywhere else

TEST(LanguageModel, SummaryCountsNoSource) {
    LanguageModel model(vocabulary, small());
    const ModelSummary table = summarize(model, {.sentences = 2, .source = 7, .target = 5});
    EXPECT_EQ(table.total.parameters, model.parameter_count());
    for (const SummaryRow& row : table.rows) EXPECT_EQ(row.module.find("encoder."), std::string::npos) << row.module;
}

TEST(LanguageModel, ComputesTheSameOnADevice) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for (const TransformerOptions& options : kinds()) {
        const auto model = make(options), other = make(options);
        other->to(Device::cuda);
        const TextBatch batch = text_batch(texts());
        const Variable here = model->loss(batch), there = other->loss(batch);
        EXPECT_NEAR(here.value().item(), there.value().to(Device::cpu).item(), 1e-5);
        backward(here);
        backward(there);
        const auto wanted = gradients_of(*model), found = gradients_of(*other);
        for (const auto& [name, gradient] : wanted) {  // that of a key's bias is 0 and rounding
            const std::vector<double> a = found.at(name).to(Device::cpu).to_vector(), b = gradient.to_vector();
            for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << name << ' ' << i;
        }
        EXPECT_EQ(generate(*model, {4}, {.temperature = 0, .max_length = 12}),
                  generate(*other, {4}, {.temperature = 0, .max_length = 12}));
    }
}

}  // namespace
}  // namespace heddle::nn
