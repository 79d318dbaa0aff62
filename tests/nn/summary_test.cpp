// A model's summary: counts, shapes and memory as measured in a pass, beside torchinfo's way of counting.
#include "nn/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/command/summary_report.h"
#include "nn/flat.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

using testing::HasSubstr;

const SummaryRow& row_of(const ModelSummary& summary, const std::string& module) {
    for (const SummaryRow& row : summary.rows)
        if (row.module == module) return row;
    fail("test: there is no module " + module);
}

// The write-up's block: d_model 512, 2048 inside, then a norm; a batch of three sentences of four tokens.
TEST(Summary, OfAFeedForwardBlockHasTorchinfosFiguresBesideTheTrueOnes) {
    TransformerOptions options = tiny_options();
    options.encoder_layers = options.decoder_layers = 1;
    options.d_model = 512;
    options.heads = 8;
    options.d_ff = 2048;
    options.norm = NormPlace::post;
    Transformer model(options);
    const ModelSummary summary = summarize(model, {.sentences = 3, .source = 4, .target = 4}, "encoder.layers.0.feed_forward*");
    EXPECT_EQ(row_of(summary, "encoder.layers.0.feed_forward.inner").parameters, 1050624);
    EXPECT_EQ(row_of(summary, "encoder.layers.0.feed_forward.outer").parameters, 1049088);
    EXPECT_EQ(row_of(summary, "encoder.layers.0.feed_forward_norm").parameters, 1024);
    EXPECT_EQ(summary.total.parameters, 2100736);
    EXPECT_EQ(summary.total.forward.multiply_adds, 12 * 2 * 512 * 2048);
    EXPECT_EQ(summary.total.forward.attention, 0);
    const ListedSummary listed = nn::listed(summary.total.forward, summary.total.parameters, 3);
    EXPECT_EQ(listed.multiply_adds, 6302208);    // 6.30 M
    EXPECT_EQ(listed.input_bytes, 24576);        // .02 MB
    EXPECT_EQ(listed.activation_bytes, 294912);  // .29 MB
    EXPECT_EQ(listed.parameter_bytes, 8402944);  // 8.40 MB
    EXPECT_EQ(listed.total_bytes(), 8722432);    // 8.72 MB
}

// Two sentences; 5 source and 3 target tokens; d_model 8 in 2 heads, 12 inside, 13 words.
TEST(Summary, CountsEachMatrixProductOnceForEveryRow) {
    Transformer model(tiny_options());
    const ModelSummary summary = summarize(model, {.sentences = 2, .source = 5, .target = 3});
    const std::int64_t projection = 8 * 8, inside = 2 * 8 * 12, both_products = 2 * 8;
    EXPECT_EQ(row_of(summary, "encoder.layers.1.self_attention").forward.multiply_adds,
              10 * 4 * projection + 2 * 5 * 5 * both_products);
    EXPECT_EQ(row_of(summary, "decoder.layers.0.self_attention").forward.multiply_adds,
              6 * 4 * projection + 2 * (1 + 2 + 3) * both_products)
        << "causal";
    EXPECT_EQ(row_of(summary, "decoder.layers.0.cross_attention").forward.multiply_adds,
              (10 * 2 + 6 * 2) * projection + 2 * 3 * 5 * both_products);
    EXPECT_EQ(row_of(summary, "decoder.layers.1.feed_forward").forward.multiply_adds, 6 * inside);
    EXPECT_EQ(row_of(summary, "output").forward.multiply_adds, 6 * 8 * 13);
    const std::int64_t encoder = 10 * 4 * projection + 50 * both_products + 10 * inside;
    const std::int64_t decoder =
        6 * 4 * projection + 12 * both_products + (10 * 2 + 6 * 2) * projection + 30 * both_products + 6 * inside;
    EXPECT_EQ(summary.total.forward.multiply_adds, 2 * encoder + 2 * decoder + 6 * 8 * 13);
    EXPECT_EQ(row_of(summary, "").forward.multiply_adds, summary.total.forward.multiply_adds);
    EXPECT_EQ(summary.total.forward.attention, 2 * (50 + 12 + 30) * both_products);
    EXPECT_EQ(summary.total.parameters, model.parameter_count());
}

TEST(Summary, SaysWhatGoesInAndOut) {
    for (const NormPlace norm : {NormPlace::pre, NormPlace::post}) {
        TransformerOptions options = tiny_options();
        options.norm = norm;
        Transformer model(options);
        const ModelSummary summary = summarize(model, {.sentences = 2, .source = 5, .target = 3});
        const auto in = [&](const char* module) { return row_of(summary, module).forward.inputs; };
        const auto out = [&](const char* module) { return row_of(summary, module).forward.output; };
        EXPECT_EQ(in("encoder"), std::vector<Shape>({{10, 8}}));
        EXPECT_EQ(out("encoder"), Shape({10, 8}));
        EXPECT_EQ(in("encoder.layers.1"), std::vector<Shape>({{10, 8}}));
        EXPECT_EQ(out("encoder.layers.1.self_attention.query_key_value"), Shape({10, 24}));
        EXPECT_EQ(out("encoder.layers.0.feed_forward.inner"), Shape({10, 12}));
        EXPECT_EQ(in("decoder.layers.0.cross_attention"), std::vector<Shape>({{10, 8}, {6, 8}}));
        EXPECT_EQ(out("decoder.layers.0.cross_attention"), Shape({6, 8}));
        EXPECT_EQ(out("output"), Shape({6, 13}));
        EXPECT_TRUE(in("source_embedding").empty());
        EXPECT_EQ(row_of(summary, "source_embedding").forward.tokens, 10);
        EXPECT_FALSE(out("source_positions")) << "a table has no ops";
    }
}

TEST(Summary, MeasuresWhatTrainingKeeps) {
    TransformerOptions options = tiny_options();
    options.dropout = 0.3;
    Transformer model(options);
    const ModelSummary few = summarize(model, {.sentences = 2, .source = 5, .target = 3});
    EXPECT_TRUE(model.training());
    EXPECT_TRUE(gradients_of(model).empty());
    // Encoder layers have 10 rows: attention keeps x, the projections, its own output and the sums of 2 heads.
    EXPECT_EQ(row_of(few, "encoder.layers.0.self_attention").training.kept, 4 * 10 * (24 + 8 + 2) + 4 * 10 * 8);
    std::int64_t parts = 0;
    for (const char* part : {"source_embedding", "target_embedding", "encoder", "decoder", "output"})
        parts += row_of(few, part).training.kept;
    EXPECT_LE(parts, few.total.training.kept);
    EXPECT_GE(few.held, few.total.training.kept);
    EXPECT_GT(few.peak, few.held);
    Transformer again(options);
    const ModelSummary many = summarize(again, {.sentences = 20, .source = 5, .target = 3});
    EXPECT_GT(many.held, 5 * few.held);
    EXPECT_GT(many.total.training.gradients, 9 * few.total.training.gradients);
}

// Called during training: an optimizer holds the flat arrays, gradients were accumulated, dropout was drawn.
TEST(Summary, LeavesTheModelAndTheGeneratorAsTheyWere) {
    TransformerOptions options = tiny_options();
    options.dropout = 0.3;
    Transformer model(options);
    model.freeze("encoder.layers.0");
    FlatParameters flat = flatten(model);
    flat.gradients.fill_(3);
    const std::vector<double> values = flat.values.to_vector();
    const RandomState random(Generator{.seed = 9, .update = 4, .micro_batch = 2, .calls = {{1, 1}}});
    for (const bool training : {true, false}) {
        model.train(training);
        summarize(model, {.sentences = 2, .source = 5, .target = 3});
        EXPECT_EQ(model.training(), training);
        EXPECT_EQ(model.children().front()->training(), training);
    }
    for (const Parameter& parameter : model.parameters()) {
        EXPECT_TRUE(parameter.variable.value().shares_storage(flat.values)) << parameter.name;
        EXPECT_TRUE(parameter.variable.grad().shares_storage(flat.gradients)) << parameter.name;
    }
    EXPECT_EQ(flat.values.to_vector(), values);
    EXPECT_EQ(flat.gradients.to_vector(), std::vector<double>(values.size(), 3));
    EXPECT_EQ(generator().seed, 9u);
    EXPECT_EQ(generator().update, 4u);
    EXPECT_EQ(generator().micro_batch, 2u);
    EXPECT_EQ(generator().calls.size(), 1u);
    EXPECT_EQ(generator().step_key_on_device, nullptr);
}

// Work of the encoder and the decoder themselves: concatenating the layers' results, and slicing out each layer's part.
TEST(Summary, CountsWhatMemoryOfEachLayerCosts) {
    for (const bool final_norm : {false, true}) {
        TransformerOptions options = tiny_options();
        options.norm = NormPlace::pre;
        options.final_norm = final_norm;
        const SummaryBatch batch{.sentences = 2, .source = 5, .target = 3};
        Transformer model(options);
        const ModelSummary last = summarize(model, batch);
        options.memory = MemoryFrom::layer;
        Transformer other(options);
        const ModelSummary each = summarize(other, batch);
        EXPECT_EQ(row_of(last, "encoder").forward.output, Shape({10, 8}));
        EXPECT_EQ(row_of(each, "encoder").forward.output, Shape({10, 16}));
        EXPECT_EQ(row_of(each, "decoder").forward.inputs, std::vector<Shape>({{6, 8}, {10, 16}}));
        const auto more = [&](const char* module) {
            return row_of(each, module).training.gradients - row_of(last, module).training.gradients;
        };
        const std::int64_t layer = 4 * 10 * 8;
        EXPECT_EQ(more("encoder"), (final_norm ? 3 : 2) * layer) << "the first layer's own final norm, and both layers joined";
        EXPECT_EQ(more("decoder"), 2 * layer);
        EXPECT_EQ(more(""), (final_norm ? 5 : 4) * layer);
    }
}

// An op that saves nothing still has a gradient of its output: here the residual sums.
TEST(Summary, CountsTheGradientsOfOpsThatKeepNothing) {
    TransformerOptions options = tiny_options();
    options.norm = NormPlace::pre;
    options.final_norm = false;
    Transformer model(options);
    const ModelSummary summary = summarize(model, {.sentences = 2, .source = 5, .target = 3});
    const SummaryRow& layer = row_of(summary, "encoder.layers.1");
    std::int64_t inside = 0;
    for (const char* part : {"self_attention", "self_attention_norm", "feed_forward", "feed_forward_norm"})
        inside += row_of(summary, "encoder.layers.1." + std::string(part)).training.gradients;
    EXPECT_EQ(layer.training.gradients, inside + 4 * 10 * 8) << "the last join has no norm behind it";
    model.freeze("");
    EXPECT_EQ(summarize(model, {.sentences = 2, .source = 5, .target = 3}).total.training.gradients, 0) << "nothing is recorded";
}

// If embedding and output share a matrix, the module reads token ids as well as rows.
TEST(SummaryReport, ShowsTheTokensOfATiedEmbedding) {
    TransformerOptions options = tiny_options();
    options.source_vocabulary = options.target_vocabulary;
    options.tie = Tie::all;
    Transformer model(options);
    const SummaryBatch batch{.sentences = 2, .source = 5, .target = 3};
    const ModelSummary summary = summarize(model, batch, "embedding");
    const auto json = nlohmann::json::parse(app::summary_json(summary, batch, {}));
    EXPECT_EQ(json.at("modules").at(0).at("input"), nlohmann::json::parse("[[2, 5], [2, 3], [2, 3, 8]]"));
    EXPECT_THAT(app::summary_table(summary, batch, {}), HasSubstr("[2, 5] [2, 3] [2, 3, 8]"));
}

TEST(Summary, TellsFrozenModulesAndMissingOnes) {
    Transformer model(tiny_options());
    model.freeze("encoder");
    model.freeze("source_embedding");
    const ModelSummary summary = summarize(model, {.sentences = 1, .source = 4, .target = 4});
    EXPECT_EQ(row_of(summary, "encoder").trained, 0);
    EXPECT_EQ(row_of(summary, "decoder").trained, row_of(summary, "decoder").parameters);
    EXPECT_EQ(row_of(summary, "encoder").training.kept, 0) << "nothing goes back through it";
    EXPECT_EQ(summary.total.trained, model.trainable_count());
    expect_error([&] { summarize(model, {}, "encode"); }, "no module 'encode'; its parts are source_embedding, target_embedding");
    EXPECT_EQ(summarize(model, {.sentences = 1, .source = 4, .target = 4}, "encode*").total.parameters,
              row_of(summary, "encoder").parameters);
    model.freeze("");
    EXPECT_NO_THROW(summarize(model, {.sentences = 1, .source = 4, .target = 4}));
}

// ---- the report

TEST(SummaryReport, IsATreeAndJson) {
    Transformer model(tiny_options());
    const SummaryBatch batch{.sentences = 2, .source = 5, .target = 3};
    const ModelSummary summary = summarize(model, batch);
    const std::string table = app::summary_table(summary, batch, {});
    EXPECT_THAT(table, HasSubstr("\n      self_attention "));
    EXPECT_THAT(table, HasSubstr("[2, 5, 8]"));
    EXPECT_THAT(table, HasSubstr("as torchinfo counts"));
    EXPECT_THAT(app::summary_table(summary, batch, 1), testing::Not(HasSubstr("layers.0")));
    const auto json = nlohmann::json::parse(app::summary_json(summary, batch, {}));
    EXPECT_EQ(json.at("modules").size(), summary.rows.size());
    EXPECT_EQ(json.at("total").at("parameters"), model.parameter_count());
    EXPECT_EQ(json.at("total").at("multiply_adds"), summary.total.forward.multiply_adds);
    EXPECT_EQ(json.at("torchinfo").at("multiply_adds"), 2 * model.parameter_count());
    for (const auto& module : json.at("modules")) {
        if (module.at("module") != "decoder.layers.0.cross_attention") continue;
        EXPECT_EQ(module.at("input"), nlohmann::json::parse("[[2, 5, 8], [2, 3, 8]]"));
        EXPECT_EQ(module.at("output"), nlohmann::json::parse("[2, 3, 8]"));
    }
}

}  // namespace
}  // namespace heddle::nn
