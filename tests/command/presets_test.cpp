// The presets' files, and the sizes of their models' parts. Whole models are in presets_slow_test.cpp.
#include "apps/presets/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/terminal/option_error.h"
#include "autograd/tape.h"
#include "nn/layers.h"
#include "tests/nn/nn_support.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;

/// The settings of `heddle train --preset NAME WORDS...`, resolved.
TrainSettings preset_settings(const std::string& name, std::vector<const char*> words = {}, const std::string& config = "") {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    EXPECT_TRUE(parse_command_line(table, words));
    std::istringstream stream(config);
    table.read_config(stream, "test.toml");
    apply_preset(table, name);
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    return settings;
}

nn::TransformerOptions model_of(const std::string& name, std::int64_t source, std::int64_t target,
                                std::vector<const char*> words = {}) {
    return preset_settings(name, std::move(words)).model.with_vocabularies(source, target).complete();
}

std::int64_t encoder_layer(const nn::TransformerOptions& options) {
    nn::Module root(1);
    return nn::EncoderLayer(root, "layer", options).parameter_count();
}

std::int64_t decoder_layer(const nn::TransformerOptions& options) {
    nn::Module root(1);
    return nn::DecoderLayer(root, "layer", options).parameter_count();
}

/// Number of parameters of the whole model: builds it with one layer per side, and adds the other layers, which are alike.
std::int64_t whole_model(const std::string& name, std::int64_t words, std::int64_t layers) {
    const nn::TransformerOptions one = model_of(name, words, words, {"--layers", "1"});
    return nn::Transformer(one).parameter_count() + (layers - 1) * (encoder_layer(one) + decoder_layer(one));
}

// ---- the files

// apply_preset() ignores options that a command lacks, but one that heddle train lacks is a mistake.
TEST(Presets, HoldOptionsOfTrainOnly) {
    for (const Preset& preset : presets()) {
        TrainSettings settings;
        OptionTable table = train_table(settings);
        std::istringstream text{std::string(preset.text)};
        EXPECT_NO_THROW(table.read_config(text, std::string(preset.name))) << preset.name;
        EXPECT_NO_THROW(resolve(settings.model, settings.vocabulary)) << preset.name;
        EXPECT_NO_THROW(resolve(settings.training)) << preset.name;
        EXPECT_TRUE(preset.text.starts_with("# ")) << preset.name << " does not say what it is";
    }
}

TEST(Presets, AreThere) {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.emplace_back(preset.name);
    for (const char* name : {"annotated", "annotated-copy", "explained", "notebook", "paper", "translator"})
        EXPECT_THAT(names, testing::Contains(name));
}

TEST(Presets, GiveWayToTheCommandLineAndToAConfigurationFile) {
    const TrainSettings plain = preset_settings("paper");
    EXPECT_EQ(plain.model.d_model, 512);
    EXPECT_EQ(plain.training.adam_betas, std::pair(0.9, 0.98));
    EXPECT_EQ(plain.training.schedule, optim::ScheduleKind::noam);
    const TrainSettings both = preset_settings("paper", {"--d-model", "64", "--heads", "4"}, "d-model = 32\nd-ff = 96\n");
    EXPECT_EQ(both.model.d_model, 64);
    EXPECT_EQ(both.model.head_dim, 16);
    EXPECT_EQ(both.model.d_ff, 96);
    EXPECT_EQ(both.model.encoder_layers, 6);
}

TEST(Presets, GiveWayToOptionsThatTakeThePlaceOfTheirs) {
    EXPECT_EQ(preset_settings("annotated-copy").training.epochs, 2);
    EXPECT_EQ(preset_settings("annotated-copy", {"--updates", "9000"}).training.epochs, std::nullopt);
    EXPECT_EQ(preset_settings("annotated-copy").data.task, "digits");
    EXPECT_EQ(preset_settings("annotated-copy", {"--train", "corpus"}).data.task, "");
    EXPECT_EQ(preset_settings("annotated", {"--vocab-type", "bpe"}).vocabulary.min_count, 1);
    EXPECT_EQ(preset_settings("annotated", {"--lr", "2"}).vocabulary.min_count, 2);
    EXPECT_EQ(preset_settings("paper", {"--optimizer", "sgd"}).training.optimizer, optim::Method::sgd)
        << "no word of Adam's betas";
    EXPECT_EQ(preset_settings("notebook", {"--d-model", "64"}).model.head_dim, 8);
    EXPECT_EQ(preset_settings("annotated", {}, "vocab-type = \"unigram\"\n").vocabulary.min_count, 1);
    EXPECT_EQ(preset_settings("translator").training.adam_eps, 1e-8);
    EXPECT_EQ(preset_settings("translator", {"--optimizer", "sgd"}).training.adam_eps, 1e-9);
    // With noam the rate is the factor of a formula; with other schedules it would be huge, and their rates tiny as a factor.
    const double rate = default_rate(optim::ScheduleKind::inverse_sqrt);
    EXPECT_EQ(preset_settings("paper").training.lr, 1);
    EXPECT_EQ(preset_settings("paper", {"--schedule", "noam"}).training.lr, 1);
    EXPECT_EQ(preset_settings("paper", {"--schedule", "inverse-sqrt"}).training.lr, rate);
    EXPECT_EQ(preset_settings("paper", {"--schedule", "inverse-sqrt", "--lr", "0.1"}).training.lr, 0.1);
    EXPECT_EQ(preset_settings("translator", {"--schedule", "cosine"}).training.lr, 1e-4);
    EXPECT_EQ(preset_settings("translator", {"--schedule", "noam"}).training.lr, 1);
    // The vocabulary of a task's preset is only for that task.
    EXPECT_EQ(preset_settings("annotated-copy").vocabulary.size, 14);
    EXPECT_EQ(preset_settings("annotated-copy", {"--task", "dates"}).vocabulary.size, std::nullopt);
    EXPECT_EQ(preset_settings("annotated-copy", {"--train", "corpus"}).vocabulary.size, std::nullopt);
    EXPECT_EQ(preset_settings("notebook", {"--train", "corpus"}).vocabulary.size, 1000);
}

TEST(Presets, HaveHeadsAsWideAsTheModelAllows) {
    for (const Preset& preset : presets()) {
        const std::string name(preset.name);
        const std::int64_t heads = preset_settings(name).model.heads;
        EXPECT_EQ(preset_settings(name, {"--d-model", "128"}).model.head_dim, 128 / heads) << name;
        EXPECT_EQ(preset_settings(name, {"--heads", "4"}).model.head_dim, *preset_settings(name).model.head_dim * heads / 4)
            << name;
    }
}

// An error names the preset if it is about an option that only the preset set.
TEST(Presets, AreNamedInErrorsAboutTheirOptions) {
    const auto message = [](const std::string& name, std::vector<const char*> words,
                            std::vector<std::string> options) -> std::string {
        TrainSettings settings;
        OptionTable table = train_table(settings);
        EXPECT_TRUE(parse_command_line(table, words));
        try {
            with_preset(table, name, [&]() -> int { throw OptionError(options, "wrong"); });
        } catch (const UsageError& caught) {
            return caught.what();
        }
        return "no error";
    };
    const std::string note = "; --preset paper has --tie embeddings: give another value, or leave out the preset";
    EXPECT_EQ(message("paper", {}, {"tie"}), "wrong" + note);
    EXPECT_EQ(message("paper", {}, {"threads", "tie"}), "wrong" + note);
    EXPECT_EQ(message("paper", {"--tie", "none"}, {"tie"}), "wrong") << "given by a person";
    EXPECT_EQ(message("paper", {}, {"threads"}), "wrong") << "another option";
    EXPECT_EQ(message("paper", {}, {}), "wrong") << "no option";
    EXPECT_EQ(message("", {}, {"tie"}), "wrong") << "no preset";
    EXPECT_THAT(message("translator", {}, {"adam-betas"}), HasSubstr(" has --adam-betas 0.9 0.99: "));
    EXPECT_THAT(message("paper", {"--heads", "7"}, {"heads", "d-model"}), HasSubstr(" has --d-model 512: "));
}

TEST(Presets, AnUnknownNameIsAnErrorThatListsThem) {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    try {
        parse_command_line(table, std::vector<const char*>{"--preset", "list"});
        FAIL() << "wanted an error";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(),
                    HasSubstr("--preset is 'list', wanted one of annotated, annotated-copy, explained, notebook, paper"));
    }
}

// ---- notebook

TEST(Notebook, HasTheWriteUpsLayers) {
    const nn::TransformerOptions options = model_of("notebook", 1000, 1000);
    EXPECT_EQ(encoder_layer(options), 3150336);
    EXPECT_EQ(decoder_layer(options), 4199936);
    EXPECT_EQ(options.encoder_layers, 6);
    EXPECT_EQ(options.decoder_layers, 6);
    EXPECT_EQ(whole_model("notebook", 1000, 6), 45637632);
    nn::Module root(1);
    const nn::FeedForward feed_forward(root, "feed_forward", 512, 2048, options.activation, options.bias, 0);
    const nn::LayerNorm norm(root, "norm", 512);
    EXPECT_EQ(feed_forward.children()[0]->parameter_count(), 1050624);
    EXPECT_EQ(feed_forward.children()[1]->parameter_count(), 1049088);
    EXPECT_EQ(norm.parameter_count(), 1024);
    EXPECT_EQ(root.parameter_count(), 2100736);
}

TEST(Notebook, ReadsSentencesLongerThanThePrintedTable) {
    const nn::TransformerOptions options = model_of("notebook", 50, 50, {"--layers", "1"});
    EXPECT_EQ(options.position_table, 100);
    EXPECT_EQ(options.longest_sentence(), std::nullopt);
    const nn::Transformer model(options);
    const NoGrad no_grad;
    const nn::Sentences source = nn::packed({nn::random_tokens(130, 50, 1)});
    EXPECT_EQ(model.encode(source.tokens, source.spans).shape(), Shape({130, 512}));
}

// All three kinds of maps, of every layer; their rows are distributions over the visible positions.
TEST(Notebook, HandsOutAllAttentionMaps) {
    const nn::TransformerOptions options = model_of("notebook", 50, 50, {"--layers", "2", "--d-model", "64", "--head-dim", "8"});
    nn::Transformer model(options);
    model.eval();
    const NoGrad no_grad;
    const nn::Sentences source = nn::packed({nn::random_tokens(7, 50, 1)}), target = nn::packed({nn::random_tokens(5, 50, 2)});
    nn::AttentionMaps maps;
    const Variable memory = model.encode(source.tokens, source.spans, &maps);
    model.decode(target.tokens, target.spans, memory, source.spans, &maps);
    ASSERT_TRUE(maps.encoder.size() == 2 && maps.decoder.size() == 2 && maps.cross.size() == 2);
    for (std::size_t layer = 0; layer < 2; ++layer) {
        EXPECT_EQ(maps.encoder[layer].shape(), Shape({1, 8, 7, 7}));
        EXPECT_EQ(maps.decoder[layer].shape(), Shape({1, 8, 5, 5}));
        EXPECT_EQ(maps.cross[layer].shape(), Shape({1, 8, 5, 7}));
        const std::vector<double> causal = maps.decoder[layer].to_vector();
        for (std::size_t i = 0; i < causal.size(); ++i) {
            const bool future = i % 5 > i / 5 % 5;
            EXPECT_EQ(causal[i] > 0, !future) << i;
        }
        for (const Tensor& map : {maps.encoder[layer], maps.decoder[layer], maps.cross[layer]}) {
            const std::vector<double> weights = map.to_vector();
            const auto keys = static_cast<std::size_t>(map.shape()[-1]);
            for (std::size_t row = 0; row < weights.size() / keys; ++row) {
                double sum = 0;
                for (std::size_t i = 0; i < keys; ++i) sum += weights[row * keys + i];
                EXPECT_NEAR(sum, 1, 1e-5);
            }
        }
    }
}

// ---- paper

TEST(Paper, HasTheWriteUpsLayersAndOneEmbedding) {
    const nn::TransformerOptions options = model_of("paper", 1024, 1024);
    EXPECT_EQ(encoder_layer(options), 3152384);
    EXPECT_EQ(decoder_layer(options), 4204032);
    EXPECT_EQ(options.encoder_layers, 6);
    EXPECT_EQ(options.decoder_layers, 6);
    EXPECT_EQ(whole_model("paper", 1024, 6), 45188096);
    EXPECT_TRUE(options.scale_embeddings);
    EXPECT_EQ(options.tie, nn::Tie::embeddings);
}

TEST(Paper, BlocksKeepShapesAndCrossAttentionReads32KeysFor16Queries) {
    const nn::TransformerOptions options = model_of("paper", 64, 64, {"--layers", "1", "--memory", "layer"});
    EXPECT_EQ(options.memory, nn::MemoryFrom::layer);
    nn::Transformer model(options);
    model.eval();
    const NoGrad no_grad;
    const nn::Sentences source = nn::packed({nn::random_tokens(32, 64, 1)}), target = nn::packed({nn::random_tokens(16, 64, 2)});
    nn::AttentionMaps maps;
    const Variable memory = model.encode(source.tokens, source.spans);
    EXPECT_EQ(memory.shape(), Shape({32, 512}));
    const Variable hidden = model.decode(target.tokens, target.spans, memory, source.spans, &maps);
    EXPECT_EQ(hidden.shape(), Shape({16, 512}));
    EXPECT_EQ(maps.cross[0].shape(), Shape({1, 8, 16, 32}));
    EXPECT_EQ(model.generator(hidden).shape(), Shape({16, 64}));
}

// ---- annotated

TEST(Annotated, HasTheWriteUpsLayers) {
    const nn::TransformerOptions options = model_of("annotated", 10, 10);
    EXPECT_EQ(options.encoder_layers, 6);
    EXPECT_EQ(whole_model("annotated", 10, 2), 14730250);
    EXPECT_EQ(whole_model("annotated", 10, 6), 44155914);
    EXPECT_EQ(whole_model("annotated", 1000, 6), 45677544);
    EXPECT_EQ(options.norm_eps, 1e-6);
    EXPECT_EQ(options.norm, nn::NormPlace::pre);
    EXPECT_EQ(options.final_norm, true);
    EXPECT_EQ(options.position_table, 5000);
    EXPECT_EQ(options.embedding_init, nn::EmbeddingInit::xavier);
}

TEST(Annotated, TiesItsWeightsWhenAsked) {
    const nn::TransformerOptions options =
        model_of("annotated", 10, 10, {"--shared-vocab", "true", "--tie", "all", "--layers", "1"});
    EXPECT_EQ(options.tie, nn::Tie::all);
}

// ---- explained

/// Query, key and value of heads of this width.
std::int64_t projections(std::int64_t heads, std::int64_t width) {
    nn::Module root(1);
    const nn::SelfAttention attention(root, "attention", {.d_model = 512, .heads = heads, .head_dim = width});
    return attention.children()[0]->parameter_count();
}

TEST(Explained, CountsAHeadAsItIsAndAsTheWriteUpDoes) {
    EXPECT_EQ(projections(1, 64), 98496);
    EXPECT_EQ(projections(1, 42), 64638);
    // The write-up counts three layers from a head's own columns to all 512: the bias has 512 elements.
    nn::Module root(1);
    const nn::Linear narrow(root, "narrow", 64, 512), narrower(root, "narrower", 42, 512);
    EXPECT_EQ(3 * narrow.parameter_count(), 99840);
    EXPECT_EQ(3 * narrower.parameter_count(), 66048);
}

// Every input column reaches every head: its gradient is not zero.
TEST(Explained, HeadsSeeAllColumnsAndTwelveOf42ProjectBack) {
    nn::Module root(1, DType::f64);
    const nn::SelfAttention attention(root, "attention", {.d_model = 512, .heads = 12, .head_dim = 42});
    EXPECT_EQ(attention.children()[1]->own_parameters()[0].variable.shape(), Shape({512, 504}));
    const Spans spans = Spans::packed(std::vector<std::int64_t>{3});
    const Variable x(normal({3, 512}, DType::f64, 1), true);
    const Variable y = attention.forward(x, spans, {.causal = true});
    EXPECT_EQ(y.shape(), Shape({3, 512}));
    backward(y, normal({3, 512}, DType::f64, 2));
    const std::vector<double> gradient = x.grad().to_vector();
    for (std::size_t i = 0; i < gradient.size(); ++i) ASSERT_NE(gradient[i], 0) << i;
}

// Scores of composed ops, divided by the square root of the head's own width.
TEST(Explained, OneHeadIsScaledByItsOwnWidthAndEqualsTheSingleHead) {
    for (const std::int64_t width : {64, 42}) {
        nn::Module root(1, DType::f64);
        const nn::SelfAttention attention(root, "attention", {.d_model = 512, .heads = 1, .head_dim = width});
        const Variable x(normal({5, 512}, DType::f64, 1));
        const Variable qkv = ops::linear(x, attention.children()[0]->own_parameters()[0].variable,
                                         attention.children()[0]->own_parameters()[1].variable);
        const Variable query = ops::slice(qkv, 1, 0, width), key = ops::slice(qkv, 1, width, 2 * width),
                       value = ops::slice(qkv, 1, 2 * width, 3 * width);
        const Variable scores = ops::scale(ops::matmul(query, key, false, true), 1 / std::sqrt(static_cast<double>(width)));
        const Variable head = ops::matmul(ops::softmax(scores), value);
        const Variable single = ops::linear(head, attention.children()[1]->own_parameters()[0].variable,
                                            attention.children()[1]->own_parameters()[1].variable);
        const Variable multi = attention.forward(x, Spans::packed(std::vector<std::int64_t>{5}));
        EXPECT_LE(relative_error(multi.value(), single.value()), 1e-12) << width;
    }
}

TEST(Explained, ReadsAnyLengthUpToItsTable) {
    const nn::TransformerOptions options = model_of("explained", 20, 20, {"--layers", "1", "--heads", "1", "--head-dim", "8"});
    EXPECT_EQ(options.position_table, 5000);
    nn::Module root(1);
    const nn::PositionalEncoding positions(root, "positions", options.positions, options.position_table, options.d_model);
    EXPECT_EQ(positions.table(5000).shape(), Shape({5000, 512}));
    // A causal attention has no mask of a fixed size.
    const nn::SelfAttention attention(root, "attention", {.d_model = 512, .heads = 12, .head_dim = 42});
    const NoGrad no_grad;
    for (const std::int64_t length : {1, 42, 43, 200}) {
        const Variable x(normal({length, 512}, DType::f32, 1));
        EXPECT_EQ(attention.forward(x, Spans::packed(std::vector{length}), {.causal = true}).rows(), length);
    }
}

// ---- the position code

// Equation of section 3.5: a step of k rotates each pair of columns by k times its frequency.
TEST(PositionCode, OfPosPlusKIsARotationOfThatOfPos) {
    nn::Module root(1, DType::f64);
    const nn::PositionalEncoding positions(root, "positions", nn::Positions::sinusoidal, 600, 512);
    const Tensor table = positions.table(600).value();
    const auto at = [&](std::int64_t row, std::int64_t column) { return table.data<double>()[row * 512 + column]; };
    double worst = 0;
    for (const std::int64_t step : {1, 5, 100}) {
        for (std::int64_t pair = 0; pair < 256; ++pair) {
            const double angle = static_cast<double>(step) * std::pow(10000.0, -2.0 * static_cast<double>(pair) / 512);
            for (std::int64_t pos = 0; pos + step < 600; ++pos) {
                const double s = at(pos, 2 * pair), c = at(pos, 2 * pair + 1);
                worst = std::max(worst, std::abs(at(pos + step, 2 * pair) - (s * std::cos(angle) + c * std::sin(angle))));
                worst = std::max(worst, std::abs(at(pos + step, 2 * pair + 1) - (c * std::cos(angle) - s * std::sin(angle))));
            }
        }
    }
    EXPECT_LE(worst, 1e-12);
}

}  // namespace
}  // namespace heddle::app
