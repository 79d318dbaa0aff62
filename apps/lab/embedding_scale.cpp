// Embeddings added to the position codes without the factor sqrt(d).
//
//     right       E[token] sqrt(d) + P                       (paper, section 3.4)
//     wrong       E[token] + P, on both sides or on one
//
// The effect depends on how E is initialised: values of standard deviation 1 need no factor; Xavier's uniform initialisation of a
// table [V, d] has standard deviation sqrt(2 / (V + d)); the library's has d^-0.5, which the factor scales to 1.
#include <cmath>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "nn/embedding.h"
#include "nn/layers.h"
#include "nn/module.h"

namespace heddle::lab::embedding_scale {
namespace {

constexpr std::int64_t width = 512, time = 32;

enum class Start { normal, xavier, library };

Tensor table(const Options& options, std::int64_t vocabulary, std::int64_t d_model, Start start) {
    const std::uint64_t with = key(options, "table");
    if (start == Start::normal) return normal({vocabulary, d_model}, 1, with);
    const Tensor result = Tensor::empty({vocabulary, d_model}, DType::f32);
    start == Start::xavier ? nn::fill_xavier_uniform(result, with) : nn::fill_embedding(result, with);
    return result;
}

double norm(const std::vector<double>& values, std::size_t row) {
    double sum = 0;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) sum += values[i] * values[i];
    return std::sqrt(sum);
}

// |P| / (|E| + |P|), averaged over a sentence of random words.
double share(const Options& options, Start start, bool scaled) {
    constexpr std::int64_t vocabulary = 1024;
    nn::Module root;
    const nn::PositionalEncoding positions(root, "positions", nn::Positions::sinusoidal, time, width);
    const Tensor tokens = words(time, vocabulary, key(options, "sentence"));
    const Variable embedded = ops::embedding(Variable(table(options, vocabulary, width, start)), tokens, Spans::equal(1, time),
                                             {.scale = scaled ? std::sqrt(static_cast<double>(width)) : 1});
    const std::vector<double> words_part = embedded.value().to_vector(), places = positions.table(time).value().to_vector();
    double sum = 0;
    for (std::size_t row = 0; row < time; ++row) {
        const double place = norm(places, row);
        sum += place / (place + norm(words_part, row)) / time;
    }
    return sum;
}

// ---- the effect on training: the task is to copy the source; one table for both sides

constexpr std::int64_t copy_width = 64, copy_vocabulary = 64, copy_time = 12, copy_sentences = 16, steps = 200;

struct Copier : nn::Module {
    Copier(const Options& options, bool source, bool target)
        : nn::Module(options.seed),
          scale_source(source),
          scale_target(target),
          weight(add_parameter("embedding", table(options, copy_vocabulary, copy_width, Start::library))) {}

    Variable embed(const Tensor& tokens, const Spans& spans, bool scaled) const {
        return ops::embedding(
            weight, tokens, spans,
            {.scale = scaled ? std::sqrt(static_cast<double>(copy_width)) : 1, .positions = positions.table(copy_time)});
    }
    Variable logits(const Tensor& source, const Tensor& target_in, const Spans& spans) const {
        const Variable memory = encoder.forward(embed(source, spans, scale_source), spans);
        return ops::linear(decoder.forward(embed(target_in, spans, scale_target), spans, memory, spans), weight);
    }

    static nn::TransformerOptions shape() {
        return nn::TransformerOptions{.source_vocabulary = copy_vocabulary,
                                      .target_vocabulary = copy_vocabulary,
                                      .encoder_layers = 1,
                                      .decoder_layers = 1,
                                      .d_model = copy_width,
                                      .d_ff = 2 * copy_width,
                                      .dropout = 0}
            .complete();
    }

    bool scale_source;
    bool scale_target;
    Variable weight;
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::sinusoidal, copy_time, copy_width};
    nn::Encoder encoder{*this, "encoder", shape()};
    nn::Decoder decoder{*this, "decoder", shape()};
};

std::vector<double> losses(const Options& options, bool source, bool target) {
    Copier copier(options, source, target);
    const Spans spans = Spans::equal(copy_sentences, copy_time);
    return train(copier, {.steps = steps, .lr = 2e-3}, [&](std::int64_t step) {
        const Tensor tokens =
            words(copy_sentences * copy_time, copy_vocabulary, key(options, "copy") + static_cast<std::uint64_t>(step));
        Tensor shifted = tokens.clone();  // begins with word 0
        for (std::int64_t i = 0; i < shifted.numel(); ++i)
            shifted.mutable_data<std::int32_t>()[i] = i % copy_time == 0 ? 0 : tokens.data<std::int32_t>()[i - 1];
        return ops::cross_entropy(copier.logits(tokens, shifted, spans), tokens);
    });
}

Result measure(const Options& options) {
    struct Variant {
        std::string name;
        bool source;
        bool target;
    };
    const std::vector<Variant> variants = {
        {"both sides", true, true}, {"neither", false, false}, {"source only", true, false}, {"target only", false, true}};
    Result result;
    picture::BarChart bars{.title = "share of position in the sum",
                           .y = {.label = "|P| / (|E| + |P|)", .from = 0, .to = 1},
                           .bars = {{"x sqrt(d)"}, {"without"}}};
    const auto add = [&](const std::string& what, Start start) {
        const double with = share(options, start, true), without = share(options, start, false);
        Finding& target = result.findings.emplace_back(Finding{"share of position, target, " + what});
        for (const Variant& variant : variants) target.values.push_back(variant.target ? with : without);
        bars.groups.push_back(what);
        bars.bars[0].values.push_back(with);
        bars.bars[1].values.push_back(without);
    };
    add("Xavier", Start::xavier);
    add("N(0, 1)", Start::normal);
    add("N(0, 1/d)", Start::library);
    Finding loss{"loss of copying after 200 steps"};
    picture::LineChart curves{.title = "learning to copy 12 of 64 words, one table for both sides",
                              .x = {.label = "step"},
                              .y = {.label = "loss", .from = 0},
                              .levels = {{"ln 64", std::log(copy_vocabulary)}}};
    for (const Variant& variant : variants) {
        result.variants.push_back(variant.name);
        const std::vector<double> measured = losses(options, variant.source, variant.target);
        loss.values.push_back(measured.back());
        curves.series.push_back(curve(variant.name, measured));
    }
    result.findings.push_back(loss);
    result.figures = {
        {svg(mistakes_first(bars)), "At width 512, position codes have norm 16."},
        {svg(mistakes_first(curves)), "Neither side or the target only: the loss of guessing. Source only: enough for copying."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "embedding-scale",
        .group = "Embeddings and positions",
        .title = "embeddings added to the position codes without the factor sqrt(d)",
        .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
        .why =
            "With Xavier initialisation, or a standard deviation of d^-0.5, an embedding has a norm of about 1, against 16 for "
            "the position code: their sum is nearly all position, words can hardly be told apart, and copying is not learned. "
            "The factor sqrt(d) scales d^-0.5 to 1; a table initialised with N(0, 1) does not need it, and with it the positions "
            "become too small instead. Scaling only one side of a shared table has two outcomes: for the target alone, the "
            "source's words stay as hard to tell apart as before; for the source alone, the result suits copying, which needs "
            "the source's words and the target's positions, so well that only a test of the sum itself notices.",
        .wrong = R"(
const Variable places = positions.table(longest);
const Variable x =
    ops::embedding(table, tokens, spans, {.positions = places});
)",
        .right = R"(
const Variable places = positions.table(longest);
const double root = std::sqrt(static_cast<double>(d_model));
const Variable x = ops::embedding(
    table, tokens, spans, {.scale = root, .positions = places});
)",
        .run = measure};
}

}  // namespace heddle::lab::embedding_scale
