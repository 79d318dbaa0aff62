// The gradient of a whole model, and of its checkpointed form.
#include <gtest/gtest.h>

#include "autograd/gradcheck.h"
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

void set_parameters(const std::vector<Parameter>& parameters, std::span<const Tensor> values) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        Tensor target = parameters[i].variable.value();
        target.copy_(values[i]);
    }
}

/// The model's loss as one op of its parameters, so that gradcheck sees it like any other.
Variable loss_of_parameters(const Transformer& model, const Example& example, std::span<const Variable> inputs) {
    const std::vector<Parameter> parameters = model.parameters();
    std::vector<Tensor> values;
    for (const Variable& input : inputs) values.push_back(input.value());
    set_parameters(parameters, values);
    Tensor loss;
    {
        const NoGrad no_grad;
        loss = example.loss(model).value();
    }
    const auto back = [&model, &example, parameters](Gradients& gradients) {
        std::vector<Tensor> saved;
        for (std::size_t i = 0; i < parameters.size(); ++i) saved.push_back(gradients.saved(static_cast<int>(i)));
        set_parameters(parameters, saved);
        zero_gradients(model);
        {
            const FreshTape fresh;
            backward(example.loss(model), gradients.output());
        }
        for (std::size_t i = 0; i < parameters.size(); ++i)
            gradients.give(static_cast<int>(i), parameters[i].variable.grad().clone());
    };
    return record(loss, {.op = "transformer",
                         .where = Where::current(),
                         .inputs = std::vector<Variable>(inputs.begin(), inputs.end()),
                         .saved = values,
                         .backward = back});
}

void prove(const TransformerOptions& options) {
    const Transformer model(options, 1, DType::f64);
    disturb(model);
    const Example example;
    std::vector<Tensor> inputs;
    for (const Parameter& parameter : model.parameters()) inputs.push_back(parameter.variable.value().clone());
    const GradcheckReport report =
        gradcheck([&](std::span<const Variable> variables) { return loss_of_parameters(model, example, variables); }, inputs);
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_GE(report.compared, model.parameter_count());
}

TransformerOptions smallest() {
    TransformerOptions options = tiny_options();
    options.encoder_layers = options.decoder_layers = 1;
    options.d_model = 6;
    options.d_ff = 7;
    options.activation = ops::Activation::gelu;
    return options;
}

TEST(ModelGradient, EqualsDifferencesForPreNorm) { prove(smallest()); }

TEST(ModelGradient, EqualsDifferencesWhereEachDecoderLayerAttendsToItsEncoderLayer) {
    TransformerOptions options = smallest();
    options.encoder_layers = options.decoder_layers = 2;
    options.d_model = 4;
    options.d_ff = 5;
    options.memory = MemoryFrom::layer;
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
    options.activation = ops::Activation::gelu_tanh;
    prove(options);
}

TEST(ModelGradient, EqualsDifferencesWithDropoutEverywhere) {
    TransformerOptions options = smallest();
    options.dropout = 0.3;
    prove(options);
}

TEST(ModelGradient, EqualsDifferencesThroughCheckpoints) {
    TransformerOptions options = smallest();
    options.dropout = 0.2;
    options.checkpoint_layers = true;
    options.final_norm = false;
    prove(options);
}

TEST(ModelGradient, CheckpointedLayersGiveTheSameGradients) {
    for (const NormPlace norm : {NormPlace::pre, NormPlace::post}) {
        TransformerOptions options = tiny_options();
        options.norm = norm;
        options.dropout = 0.25;
        const Example example;
        std::map<std::string, Tensor> wanted;
        double loss = 0;
        for (const bool checkpoint : {false, true}) {
            options.checkpoint_layers = checkpoint;
            const Transformer model(options, 1, DType::f64);
            disturb(model);
            const Variable value = example.loss(model);
            backward(value);
            if (!checkpoint) {
                loss = value.value().item();
                for (const auto& [name, gradient] : gradients_of(model)) wanted[name] = gradient.clone();
                continue;
            }
            EXPECT_NEAR(value.value().item(), loss, 1e-13);
            for (const auto& [name, gradient] : gradients_of(model)) {
                if (name.ends_with("key.bias")) continue;  // true gradient zero: only rounding noise to compare
                EXPECT_LE(relative_error(gradient, wanted.at(name)), 1e-11) << name;
            }
        }
    }
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
