// Twelve layers of width 64, trained at the full rate from the first step, with the norm in different places.
//
//     pre             x + f(norm(x)), a norm after the last layer                 (Xiong et al. 2020)
//     post            norm(x + f(x)), as in the paper, which trains it with warm-up
//     post, warm-up   the same with a rate that rises over all steps
//     no norm         x + f(x)
//     no residual     f(norm(x)), a norm after the last layer
#include <cmath>
#include <memory>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "nn/embedding.h"
#include "nn/layer_norm.h"
#include "nn/layers.h"
#include "nn/multi_head_attention.h"

namespace heddle::lab::norm_placement {
namespace {

constexpr std::int64_t depth = 12, width = 64, vocabulary = 20, sentences = 8, time = 16, steps = 150;

enum class Place { pre, post, none, no_residual };

struct Layer : nn::Module {
    Layer(nn::Module& parent, const std::string& name) : nn::Module(parent, name) {}
    nn::SelfAttention attention{*this, "attention", {.d_model = width, .heads = 4}};
    nn::FeedForward feed_forward{*this, "feed_forward", width, 4 * width, ops::Activation::relu};
    nn::LayerNorm attention_norm{*this, "attention_norm", width};
    nn::LayerNorm feed_forward_norm{*this, "feed_forward_norm", width};
};

struct Stack : nn::Module {
    Stack(std::uint64_t seed, Place where) : nn::Module(seed), place(where) {
        for (std::int64_t i = 0; i < depth; ++i) layers.push_back(std::make_unique<Layer>(*this, "layers." + std::to_string(i)));
    }

    template <class Sublayer>
    Variable join(const Variable& x, const nn::LayerNorm& norm, Sublayer&& sublayer) const {
        switch (place) {
            case Place::pre: return ops::add(x, sublayer(norm.forward(x)));
            case Place::post: return norm.forward(ops::add(x, sublayer(x)));
            case Place::none: return ops::add(x, sublayer(x));
            case Place::no_residual: return sublayer(norm.forward(x));
        }
        return x;
    }

    // The output of the last layer.
    Variable hidden(const Tensor& tokens, const Spans& spans) const {
        Variable x = embedding.forward(tokens, spans, positions);
        for (const auto& layer : layers) {
            x = join(x, layer->attention_norm,
                     [&](const Variable& in) { return layer->attention.forward(in, spans, {.causal = true}); });
            x = join(x, layer->feed_forward_norm, [&](const Variable& in) { return layer->feed_forward.forward(in); });
        }
        return x;
    }

    Variable logits(const Tensor& tokens, const Spans& spans) const {
        const Variable x = hidden(tokens, spans);
        return output.forward(place == Place::pre || place == Place::no_residual ? final_norm.forward(x) : x);
    }

    Place place;
    nn::Embedding embedding{*this, "embedding", vocabulary, width};
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::sinusoidal, time, width};
    std::vector<std::unique_ptr<Layer>> layers;
    nn::LayerNorm final_norm{*this, "final_norm", width};
    nn::Linear output{*this, "output", width, vocabulary};
};

// The task: at each position, predict the token before it, and at the first position that token itself.
Variable loss(const Stack& stack, const Options& options, std::int64_t step) {
    const Tensor tokens = words(sentences * time, vocabulary, key(options, "tokens") + static_cast<std::uint64_t>(step));
    Tensor targets = tokens.clone();
    for (std::int64_t i = 0; i < sentences * time; ++i)
        if (i % time > 0) targets.mutable_data<std::int32_t>()[i] = tokens.data<std::int32_t>()[i - 1];
    return ops::cross_entropy(stack.logits(tokens, Spans::equal(sentences, time)), targets);
}

// The mean cosine between two tokens of a sentence after the last layer: 1 if they all point the same way.
double likeness(const Stack& stack, const Options& options) {
    const NoGrad no_grad;
    const Tensor tokens = words(time, vocabulary, key(options, "tokens"));
    const Variable x = stack.hidden(tokens, Spans::equal(1, time));
    const std::vector<double> products = ops::matmul(x, x, false, true).value().to_vector();
    double sum = 0;
    for (std::size_t i = 0; i < time; ++i)
        for (std::size_t j = 0; j < i; ++j)
            sum += products[i * time + j] / std::sqrt(products[i * time + i] * products[j * time + j]);
    return sum / (time * (time - 1) / 2.0);
}

struct Run {
    std::vector<double> losses;
    std::vector<double> norms;  // of the gradient, by layer, at the start
    double likeness = 0;        // at the start
};

Run run(const Options& options, Place place, std::int64_t warmup) {
    Stack stack(options.seed, place);
    Run result;
    result.likeness = likeness(stack, options);
    backward(loss(stack, options, 0));
    for (const auto& layer : stack.layers) result.norms.push_back(gradient_norm(*layer));
    for (nn::Parameter& parameter : stack.parameters()) parameter.variable.zero_grad();
    result.losses = train(stack, {.steps = steps, .lr = 1e-3, .warmup = warmup},
                          [&](std::int64_t step) { return loss(stack, options, step); });
    return result;
}

Result measure(const Options& options) {
    struct Variant {
        std::string name;
        Place place;
        std::int64_t warmup;
    };
    const std::vector<Variant> variants = {{"pre", Place::pre, 0},
                                           {"post", Place::post, 0},
                                           {"post, warm-up", Place::post, steps},
                                           {"no norm", Place::none, 0},
                                           {"no residual", Place::no_residual, 0}};
    Result result;
    Finding loss{"loss, mean of the last 10 of 150 steps"}, first{"gradient norm of the first layer, at the start"},
        last{"gradient norm of the last layer, at the start"},
        alike{"mean cosine between two tokens behind the last layer, at the start"};
    picture::LineChart losses{.title = "predicting the previous token: loss",
                              .x = {.label = "step"},
                              .y = {.label = "loss", .from = 0, .to = 4},
                              .levels = {{"ln 20", std::log(vocabulary)}}};
    picture::LineChart norms{.title = "gradient norm of each layer, at the start",
                             .x = {.label = "layer"},
                             .y = {.label = "norm", .logarithmic = true}};
    for (const Variant& variant : variants) {
        const Run measured = run(options, variant.place, variant.warmup);
        result.variants.push_back(variant.name);
        loss.values.push_back(mean_of_last(measured.losses, 10));
        first.values.push_back(measured.norms.front());
        last.values.push_back(measured.norms.back());
        alike.values.push_back(measured.likeness);
        losses.series.push_back(curve(variant.name, measured.losses));
        norms.series.push_back(curve(variant.name, measured.norms));
    }
    result.findings = {loss, first, last, alike};
    result.figures = {
        {svg(mistakes_first(losses)), "All five start from the same weights. Without norms the loss is off the scale."},
        {svg(mistakes_first(norms)),
         "Without norms the gradient is larger by orders of magnitude. Before the first step a warm-up changes nothing."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {.name = "norm-placement",
            .group = "Norm, dropout and training",
            .title = "deep stacks without warm-up, without norms, without residuals",
            .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
            .why =
                "A norm after every sum scales down the residual, once per sublayer: after twelve layers the tokens of a "
                "sentence look alike, the last layers get gradients several times as large as in pre-norm, and at the full rate "
                "from the first step the stack stays at the loss of guessing; with a warm-up it starts to improve. Without "
                "residuals nothing of the token is left, and without norms the sums, and with them the gradients, grow from "
                "layer to layer. A norm before each sublayer bounds the sublayer's input and leaves the residual path untouched.",
            .wrong = R"(
// twelve times, at the full rate from the first step on
x = norm.forward(ops::add(x, attention.forward(x, spans)));
x = next_norm.forward(ops::add(x, feed_forward.forward(x)));
)",
            .right = R"(
// twelve times, and one more norm after the last layer
x = ops::add(x, attention.forward(norm.forward(x), spans));
x = ops::add(x, feed_forward.forward(next_norm.forward(x)));
)",
            .run = measure};
}

}  // namespace heddle::lab::norm_placement
