// Layers and heads that are all the same object, and layers that are not registered with the model.
//
//     wrong    layers = [layer] * 6,  heads = [head] * 8,  one attention for self and cross    one set of weights, shared
//     wrong    layers = a plain list of six                                                    used, but unknown to the optimizer
//     right    a separate module for each, registered with the model
//
// The forward pass runs in all three, with the right shapes. Parameters are counted in three ways: those of the model as
// described, those reached by a backward pass, and those passed to the optimizer.
#include <fmt/format.h>

#include <memory>

#include "apps/lab/kit.h"
#include "nn/embedding.h"
#include "nn/layer_norm.h"
#include "nn/layers.h"

namespace heddle::lab::repeated_modules {
namespace {

enum class Build : std::uint8_t { registered, repeated, plain_list };

struct Sizes {
    std::int64_t layers, d_model, heads, d_ff, vocabulary;
};
constexpr Sizes paper = {6, 512, 8, 2048, 1024};
constexpr Sizes small = {2, 32, 4, 64, 12};
constexpr std::int64_t length = 8;

template <class T>
using List = std::vector<std::shared_ptr<T>>;

// make(0), make(1), ...; or, like Python's [object] * count, make(0) repeated.
template <class T, class Make>
List<T> list(std::int64_t count, bool repeated, const Make& make) {
    List<T> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(repeated && i > 0 ? result[0] : make(i));
    return result;
}

struct Head : nn::Module {
    Head(Module& parent, const std::string& called, const Sizes& sizes)
        : Module(parent, called), in(sizes.d_model), out(sizes.d_model / sizes.heads) {}
    Variable forward(const Variable& x, const Spans& spans, const Variable& memory, bool causal) const {
        return ops::attention(query.forward(x), keys.forward(memory), values.forward(memory), spans, spans, {.causal = causal});
    }
    std::int64_t in, out;
    nn::Linear query{*this, "query", in, out}, keys{*this, "key", in, out}, values{*this, "value", in, out};
};

struct MultiHead : nn::Module {
    MultiHead(Module& parent, const std::string& called, const Sizes& sizes, bool repeated)
        : Module(parent, called), output(*this, "output", sizes.d_model, sizes.d_model) {
        heads = list<Head>(sizes.heads, repeated,
                           [&](std::int64_t i) { return std::make_shared<Head>(*this, fmt::format("heads.{}", i), sizes); });
    }
    Variable forward(const Variable& x, const Spans& spans, const Variable& memory, bool causal) const {
        std::vector<Variable> parts;
        for (const auto& head : heads) parts.push_back(head->forward(x, spans, memory, causal));
        return output.forward(ops::concat(parts, 1));
    }
    List<Head> heads;
    nn::Linear output;
};

// An encoder layer has one attention; a decoder layer has two: self-attention and attention to the memory.
struct Layer : nn::Module {
    Layer(Module& parent, const std::string& called, const Sizes& sizes, std::int64_t count, bool repeated)
        : Module(parent, called),
          feed_forward(*this, "feed_forward", sizes.d_model, sizes.d_ff, ops::Activation::relu),
          last_norm(*this, "last_norm", sizes.d_model) {
        attentions = list<MultiHead>(count, repeated, [&](std::int64_t i) {
            return std::make_shared<MultiHead>(*this, fmt::format("attentions.{}", i), sizes, repeated);
        });
        norms = list<nn::LayerNorm>(count, repeated, [&](std::int64_t i) {
            return std::make_shared<nn::LayerNorm>(*this, fmt::format("norms.{}", i), sizes.d_model);
        });
    }
    Variable forward(Variable x, const Spans& spans, const Variable& memory = {}) const {
        for (std::size_t i = 0; i < attentions.size(); ++i) {
            const Variable& read = i == 0 ? x : memory;
            x = norms[i]->forward(ops::add(x, attentions[i]->forward(x, spans, read, memory.defined() && i == 0)));
        }
        return last_norm.forward(ops::add(x, feed_forward.forward(x)));
    }
    List<MultiHead> attentions;
    List<nn::LayerNorm> norms;
    nn::FeedForward feed_forward;
    nn::LayerNorm last_norm;
};

struct Net : nn::Module {
    Net(std::uint64_t seed, const Sizes& of, Build how) : Module(seed), sizes(of), loose(seed) {
        Module& parent = how == Build::plain_list ? loose : *this;
        for (const bool decoder : {false, true})
            (decoder ? this->decoder : encoder) = list<Layer>(sizes.layers, how == Build::repeated, [&](std::int64_t i) {
                return std::make_shared<Layer>(parent, fmt::format("{}.{}", decoder ? "decoder" : "encoder", i), sizes,
                                               decoder ? 2 : 1, how == Build::repeated);
            });
    }
    Variable loss(const Tensor& source, const Tensor& target_in, const Tensor& target_out) const {
        const Spans spans = Spans::equal(source.numel() / length, length);
        Variable memory = embedding.forward(source, spans, positions), x = embedding.forward(target_in, spans, positions);
        for (const auto& layer : encoder) memory = layer->forward(memory, spans);
        for (const auto& layer : decoder) x = layer->forward(x, spans, memory);
        return ops::cross_entropy(output.forward(x), target_out);
    }
    // All parameters, registered or not.
    std::vector<nn::Parameter> all() const {
        std::vector<nn::Parameter> parameters = this->parameters();
        for (const nn::Parameter& one : loose.parameters()) parameters.push_back(one);
        return parameters;
    }

    Sizes sizes;
    nn::Module loose;  // the root of the modules that are not registered with the model
    nn::Embedding embedding{*this, "embedding", sizes.vocabulary, sizes.d_model};
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::sinusoidal, length, sizes.d_model};
    nn::Linear output{*this, "output", sizes.d_model, sizes.vocabulary};
    List<Layer> encoder, decoder;
};

Variable loss_of_batch(const Net& net, std::int64_t batch, std::uint64_t key) {
    const Reversed sentences = reversed_sentences(batch, length, net.sizes.vocabulary, key);
    return net.loss(sentences.source, sentences.target_in, sentences.target_out);
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
    const double meant = static_cast<double>(Net(1, paper, Build::registered).parameter_count());
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
        const Net large(key(options, "model"), paper, build);
        result.findings[0].values.push_back(static_cast<double>(large.trainable_count()));
        result.findings[1].values.push_back(static_cast<double>(used(large, key(options, "sentence"))));
        counts.bars[0].values.push_back(meant / 1e6);
        counts.bars[1].values.push_back(result.findings[1].values.back() / 1e6);
        counts.bars[2].values.push_back(result.findings[0].values.back() / 1e6);

        Net net(key(options, "small model"), small, build);
        const std::vector<double> curve_of = train(net, training, [&](std::int64_t step) {
            return loss_of_batch(net, 32, key(options, fmt::format("batch {}", step)));
        });
        result.findings[3].values.push_back(mean_of_last(curve_of, 10));
        losses.series.push_back(curve(result.variants[static_cast<std::size_t>(build)], curve_of));
    }
    for (picture::Bars& each : counts.bars) each.values = mistakes_first(each.values);
    result.figures = {
        {svg(counts),
         "Of 45 million intended parameters the repeated model has six million; the plain list's optimizer sees one million."},
        {svg(mistakes_first(losses)),
         "All three learn something, and one shared layer may learn a small task as fast as several."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "repeated-modules",
        .group = "The whole model",
        .title = "layers and heads that are one object, or not registered with the model",
        .caught_by = "Module.StandardTransformerHasExactly2157056Parameters",
        .why =
            "An object that is in a list six times is one layer with one set of weights, and the parameters of a list that is "
            "not registered with the model never reach the optimizer. Both run, with the right shapes, and the loss even "
            "falls, because the remaining parameters adapt. In this library every module is constructed with its parent and a "
            "unique name, so construction registers it, and a duplicate name is an error.",
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
