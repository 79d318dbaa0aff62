// Whole models of the presets, hundreds of megabytes each: only the numbers that need them.
#include <gtest/gtest.h>

#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/presets/presets.h"
#include "autograd/tape.h"
#include "nn/summary.h"
#include "tests/nn/nn_support.h"

namespace heddle::app {
namespace {

nn::TransformerOptions model_of(const std::string& name, std::int64_t words, std::optional<std::int64_t> layers = {}) {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    apply_preset(table, name);
    if (layers) settings.model.layers = *layers;
    resolve(settings.model, settings.vocabulary);
    return settings.model.with_vocabularies(words, words);
}

nn::Sentences sentences(std::int64_t count, std::int64_t length, std::int64_t words) {
    std::vector<nn::Tokens> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(nn::random_tokens(length, words, static_cast<std::uint64_t>(i + 1)));
    return nn::packed(all);
}

Tensor generated(nn::Transformer& model, const nn::Sentences& source, const nn::Sentences& target) {
    model.eval();
    const NoGrad no_grad;
    const Variable memory = model.encode(source.tokens, source.spans);
    return model.generator(model.decode(target.tokens, target.spans, memory, source.spans)).value();
}

TEST(WholePreset, NotebookHas45637632ParametersAnd100TokensGive100Rows) {
    nn::Transformer model(model_of("notebook", 1000));
    EXPECT_EQ(model.parameter_count(), 45637632);
    EXPECT_EQ(generated(model, sentences(1, 100, 1000), sentences(1, 100, 1000)).shape(), Shape({100, 1000}));
    const nn::SummaryBatch batch{.sentences = 32, .source = 50, .target = 50};
    const nn::ModelSummary summary = nn::summarize(model, batch);
    EXPECT_EQ(summary.rows.front().forward.output, Shape({1600, 1000}));
    // torchinfo's table: 1.46 G, and .03, 1087.59, 182.55, 1270.17 MB.
    const nn::ListedSummary listed = nn::listed(summary.total.forward, summary.total.parameters, 32);
    EXPECT_EQ(listed.multiply_adds, 32 * 45637632LL);
    EXPECT_EQ(listed.input_bytes, 25600);
    EXPECT_EQ(listed.activation_bytes, 1087590400);
    EXPECT_EQ(listed.parameter_bytes, 182550528);
    EXPECT_EQ(listed.total_bytes(), 1270166528);
    // Products per row: 4 and 8 projections per layer, its two inner products, attention, and the output.
    const std::int64_t square = 512 * 512, rows = 1600, pairs = 32 * 50 * 50, causal = 32 * 50 * 51 / 2;
    EXPECT_EQ(summary.total.forward.multiply_adds,
              6 * rows * (4 + 8 + 2 * 8) * square + 6 * (2 * pairs + causal) * 2 * 512 + rows * 512 * 1000);
}

TEST(WholePreset, PaperHas45188096ParametersAnd32TokensGive32Rows) {
    nn::Transformer model(model_of("paper", 1024));
    EXPECT_EQ(model.parameter_count(), 45188096);
    EXPECT_EQ(generated(model, sentences(1, 32, 1024), sentences(1, 32, 1024)).shape(), Shape({32, 1024}));
}

TEST(WholePreset, AnnotatedHasTheWriteUpsParameters) {
    EXPECT_EQ(nn::Transformer(model_of("annotated", 10, 2)).parameter_count(), 14730250);
    EXPECT_EQ(nn::Transformer(model_of("annotated", 10)).parameter_count(), 44155914);
    EXPECT_EQ(nn::Transformer(model_of("annotated", 1000)).parameter_count(), 45677544);
}

}  // namespace
}  // namespace heddle::app
