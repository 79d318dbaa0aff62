// Layers that are all the same object, and layers that are not registered with the model.
//
//     wrong    layers = [layer] * 6              one set of weights, shared
//     wrong    layers = a plain list of six      used, but unknown to the optimizer
//     right    a separate module for each, registered with the model
//
// The forward pass runs in all three, with the right shapes. Parameters are counted in three ways: those of the model as
// described, those reached by a backward pass, and those passed to the optimizer.
#include <fmt/format.h>

#include <memory>

#include "apps/lab/kit.h"
#include "nn/embedding.h"
#include "nn/layers.h"

namespace heddle::lab::repeated_modules {
namespace {

enum class Build : std::uint8_t { registered, repeated, plain_list };

constexpr std::int64_t length = 8;

// The paper's model, or a small one that learns in seconds.
nn::TransformerOptions sized(bool paper) {
    const std::int64_t words = paper ? 1024 : 12;
    return nn::TransformerOptions{.source_vocabulary = words,
                                  .target_vocabulary = words,
                                  .encoder_layers = paper ? 6 : 2,
                                  .decoder_layers = paper ? 6 : 2,
                                  .d_model = paper ? 512 : 32,
                                  .heads = paper ? 8 : 4,
                                  .d_ff = paper ? 2048 : 64,
                                  .dropout = 0,
                                  .norm = nn::NormPlace::post}
        .complete();
}

struct Net : nn::Module {
    Net(std::uint64_t seed, bool paper, Build build) : Module(seed), options(sized(paper)), loose(seed) {
        Module& parent = build == Build::plain_list ? loose : *this;
        const auto fill = [&]<class Layer>(std::vector<std::shared_ptr<Layer>>& list, const char* name) {
            for (std::int64_t i = 0; i < *options.encoder_layers; ++i)  // repeated: like Python's [layer] * 6
                list.push_back(build == Build::repeated && i > 0
                                   ? list[0]
                                   : std::make_shared<Layer>(parent, fmt::format("{}.{}", name, i), options));
        };
        fill(encoder, "encoder");
        fill(decoder, "decoder");
    }
    Variable loss(const Reversed& sentences) const {
        const Spans spans = Spans::equal(sentences.source.numel() / length, length);
        const auto open = [&](const Tensor& tokens) {
            return nn::Layer::open(embedding.forward(tokens, spans, positions), nn::NormPlace::post, nullptr);
        };
        nn::Stream memory = open(sentences.source), x = open(sentences.target_in);
        for (const auto& layer : encoder) memory = layer->forward(memory, spans, nullptr);
        for (const auto& layer : decoder) x = layer->forward(x, spans, memory.sum, spans, nullptr);
        return ops::cross_entropy(output.forward(x.sum), sentences.target_out);
    }
    // All parameters, registered or not.
    std::vector<nn::Parameter> all() const {
        std::vector<nn::Parameter> parameters = this->parameters();
        for (const nn::Parameter& one : loose.parameters()) parameters.push_back(one);
        return parameters;
    }

    nn::TransformerOptions options;
    nn::Module loose;  // the root of the modules that are not registered with the model
    nn::Embedding embedding{*this, "embedding", options.source_vocabulary, options.d_model};
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::sinusoidal, length, options.d_model};
    nn::Linear output{*this, "output", options.d_model, options.target_vocabulary};
    std::vector<std::shared_ptr<nn::EncoderLayer>> encoder;
    std::vector<std::shared_ptr<nn::DecoderLayer>> decoder;
};

Variable loss_of_batch(const Net& net, std::int64_t batch, std::uint64_t key) {
    return net.loss(reversed_sentences(batch, length, net.options.source_vocabulary, key));
}

// Number of parameter elements reached by one backward pass.
std::int64_t used(const Net& net, std::uint64_t key) {
    backward(loss_of_batch(net, 1, key));
    std::int64_t count = 0;
    for (const nn::Parameter& one : net.all())
        if (one.variable.grad().defined()) count += one.variable.value().numel();
    return count;
}

Result measure(const Options& options) {
    constexpr Training training = {.steps = 200, .lr = 3e-3};
    const double meant = static_cast<double>(Net(1, true, Build::registered).parameter_count());
    Result result{.variants = {"registered", "repeated", "plain list"},
                  .findings = {{"parameters seen by the optimizer"},
                               {"parameters used"},
                               {"parameters meant", {meant, meant, meant}},
                               {"loss of a small one after 200 steps"}}};
    picture::BarChart counts{.title = "parameters of the model as described in the paper",
                             .y = {.label = "parameters, millions", .from = 0},
                             .groups = mistakes_first(result.variants),
                             .bars = {{"meant"}, {"used"}, {"seen by the optimizer"}}};
    picture::LineChart losses{.title = "reversing a sentence: loss of a small model",
                              .x = {.label = "step"},
                              .y = {.label = "cross entropy", .from = 0}};
    for (const Build build : {Build::registered, Build::repeated, Build::plain_list}) {
        const Net large(key(options, "model"), true, build);
        result.findings[0].values.push_back(static_cast<double>(large.trainable_count()));
        result.findings[1].values.push_back(static_cast<double>(used(large, key(options, "sentence"))));
        counts.bars[0].values.push_back(meant / 1e6);
        counts.bars[1].values.push_back(result.findings[1].values.back() / 1e6);
        counts.bars[2].values.push_back(result.findings[0].values.back() / 1e6);

        Net net(key(options, "small model"), false, build);
        const std::vector<double> curve_of = train(net, training, [&](std::int64_t step) {
            return loss_of_batch(net, 32, key(options, fmt::format("batch {}", step)));
        });
        result.findings[3].values.push_back(mean_of_last(curve_of, 10));
        losses.series.push_back(curve(result.variants[static_cast<std::size_t>(build)], curve_of));
    }
    for (picture::Bars& each : counts.bars) each.values = mistakes_first(each.values);
    result.figures = {
        {svg(counts),
         "Of 45 million intended parameters the repeated model has eight million; the plain list's optimizer sees one million."},
        {svg(mistakes_first(losses)),
         "All three learn something, and one shared layer may learn a small task as fast as several."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "repeated-modules",
        .group = "The whole model",
        .title = "layers that are one object, or not registered with the model",
        .caught_by = "Module.StandardTransformerHasExactly2157056Parameters",
        .why =
            "An object that is in a list six times is one layer with one set of weights, and the parameters of a list that is "
            "not registered with the model never reach the optimizer. Both run, with the right shapes, and the loss even falls, "
            "because the remaining parameters adapt. In this library every module is constructed with its parent and a unique "
            "name, so construction registers it, and a duplicate name is an error.",
        .wrong = R"(
nn::Module loose;  // no part of the model
const auto layer = std::make_shared<nn::EncoderLayer>(
    loose, "layer", options);
const std::vector layers(6, layer);  // one object, six times
)",
        .right = R"(
std::vector<std::shared_ptr<nn::EncoderLayer>> layers;
for (int i = 0; i < 6; ++i)  // registered, with a unique name
    layers.push_back(std::make_shared<nn::EncoderLayer>(
        model, fmt::format("layers.{}", i), options));
)",
        .run = measure};
}

}  // namespace heddle::lab::repeated_modules
