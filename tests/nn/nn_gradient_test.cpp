// The gradient of a whole model, and of its checkpointed form.
#include <gtest/gtest.h>

#include "autograd/exact_check.h"
#include "nn/proofs.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

struct Example {
    Sentences source = packed({random_tokens(4, 11, 1), random_tokens(2, 11, 2)});
    Sentences target_in = packed({random_tokens(3, 13, 3), random_tokens(5, 13, 4)});
    Tensor target_out = tokens_of(random_tokens(8, 13, 5));

    /// Each call draws the dropout keys of the same update.
    Variable loss(const Transformer& model) const {
        generator().start(3, 0);
        return model.loss(source, target_in, target_out, {.label_smoothing = 0.1});
    }
};

void prove(const TransformerOptions& options) {
    const auto model = std::make_shared<Transformer>(options, 1, DType::f64);
    disturb(*model);
    const Example example;
    const GradientFunction function =
        function_of_parameters(model, [&](std::span<const Variable>) { return example.loss(*model); });
    const std::vector<Tensor> inputs = parameter_values(*model);
    const GradcheckReport report = gradcheck(function, inputs);
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_GE(report.compared, model->parameter_count());
    const ExactReport exact = exact_check(function, inputs);
    EXPECT_TRUE(exact.passed) << exact.message;
}

TransformerOptions smallest() {
    TransformerOptions options = tiny_options();
    options.encoder_layers = options.decoder_layers = 1;
    options.d_model = 6;
    options.d_ff = 7;
    options.activation = ops::Activation::gelu;
    return options;
}

TEST(ModuleCases, AreProvenByDifferencesAndExactly) {
    const std::vector<GradientCase> cases = module_cases();
    EXPECT_GE(cases.size(), 6u);
    for (const GradientCase& one : cases) {
        const GradcheckReport report = gradcheck(one);
        EXPECT_TRUE(report.passed) << report.message;
        EXPECT_GT(report.compared, 0) << one.op;
        const ExactReport exact = exact_check(one);
        EXPECT_TRUE(exact.passed) << exact.message;
    }
}

TEST(ModelGradient, EqualsDifferencesWhereEachDecoderLayerAttendsToItsEncoderLayerThroughCheckpoints) {
    TransformerOptions options = smallest();
    options.encoder_layers = options.decoder_layers = 2;
    options.d_model = 4;
    options.d_ff = 5;
    options.memory = MemoryFrom::layer;
    options.checkpoint_layers = true;
    options.source_vocabulary = options.target_vocabulary;
    options.tie = Tie::embeddings;
    options.attention_bias = false;
    options.scale_embeddings = false;
    options.norm_eps = 1e-3;
    prove(options);
}

TEST(ModelGradient, EqualsDifferencesForPostNormTiedWithLearnedPositionsAndWideHeads) {
    TransformerOptions options = smallest();
    options.norm = NormPlace::post;
    options.final_norm = true;
    options.tie = Tie::all;
    options.source_vocabulary = 13;
    options.positions = Positions::learned;
    options.position_table = 6;
    options.head_dim = 5;
    options.key_heads = 1;
    options.activation = ops::Activation::gelu_tanh;
    prove(options);
}

TEST(ModelGradient, EqualsDifferencesThroughCheckpoints) {
    TransformerOptions options = smallest();
    options.dropout = 0.2;
    options.checkpoint_layers = true;
    options.final_norm = false;
    prove(options);
}

TEST(ModelGradient, CheckpointedLayersKeepLessForBackward) {
    const auto kept = [](bool checkpoint) {
        TransformerOptions options = tiny_options();
        options.checkpoint_layers = checkpoint;
        const Transformer model(options);
        const Variable loss = Example().loss(model);
        std::int64_t bytes = 0;
        for (const SavedMemory& each : saved_memory()) bytes += each.bytes;
        return bytes;
    };
    EXPECT_LT(kept(true), kept(false));
}

}  // namespace
}  // namespace heddle::nn
