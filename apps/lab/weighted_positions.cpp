// Words and positions in a weighted sum.
//
//     right    x = E[word] + P[place]                        both of standard deviation about 1 (paper, sections 3.4 and 3.5)
//     wrong    x = w E[word] + (1 - w) P[place]              one of the two starts out too small
//
// The weights add no freedom: a learned table can absorb any factor, and a fixed one (sine and cosine) should have the same size
// as the words. They only change how long learning takes. The task is to reverse a sentence with one encoder, which needs both
// word and position.
#include <fmt/format.h>

#include <cmath>

#include "apps/lab/kit.h"
#include "nn/layers.h"

namespace heddle::lab::weighted_positions {
namespace {

constexpr std::int64_t d_model = 32, length = 8, vocabulary = 12, batch = 32;
constexpr Training training = {.steps = 200, .lr = 3e-3};

struct Weights {
    const char* name;
    double word, position;
};
constexpr Weights weights[] = {{"plain sum", 1, 1}, {"word .9", 0.9, 0.1}, {"word .5", 0.5, 0.5}, {"word .1", 0.1, 0.9}};

struct Net : nn::Module {
    Net(std::uint64_t seed, nn::Positions kind, const Weights& of)
        : Module(seed), factors(of), positions(*this, "positions", kind, length, d_model) {}
    static nn::TransformerOptions options() {
        return nn::TransformerOptions{.source_vocabulary = vocabulary,
                                      .target_vocabulary = vocabulary,
                                      .encoder_layers = 1,
                                      .d_model = d_model,
                                      .heads = 2,
                                      .d_ff = 2 * d_model,
                                      .dropout = 0}
            .complete();
    }
    // E sqrt(d) of the words; the library's encoder adds P in the same op.
    Variable words_of(const Tensor& tokens) const {
        return ops::scale(ops::gather(embedding.weight(), tokens), std::sqrt(static_cast<double>(d_model)));
    }
    Variable places_of(const Tensor& tokens) const {
        Tensor places = Tensor::empty(tokens.shape(), DType::i32);
        for (std::int64_t i = 0; i < tokens.numel(); ++i)
            places.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % length);
        return ops::gather(positions.table(length), places);
    }
    Variable logits(const Tensor& tokens) const {
        const Variable x = ops::add(ops::scale(words_of(tokens), factors.word), ops::scale(places_of(tokens), factors.position));
        return output.forward(encoder.forward(x, Spans::equal(tokens.numel() / length, length)));
    }
    Weights factors;
    nn::Embedding embedding{*this, "embedding", vocabulary, d_model};
    nn::PositionalEncoding positions;
    nn::Encoder encoder{*this, "encoder", options()};
    nn::Linear output{*this, "output", d_model, vocabulary};
};

double mean_square(const Variable& x) {
    double sum = 0;
    for (const double value : x.value().to_vector()) sum += value * value;
    return sum / static_cast<double>(x.value().numel());
}

// The position's share of the first layer's input, before training.
double share_of_position(const Net& net, const Tensor& tokens) {
    const double word = mean_square(net.words_of(tokens)) * net.factors.word * net.factors.word;
    const double position = mean_square(net.places_of(tokens)) * net.factors.position * net.factors.position;
    return position / (word + position);
}

Result measure(const Options& options) {
    Result result{.findings = {{"loss after 200 steps, sinusoidal positions"},
                               {"loss after 200 steps, learned positions"},
                               {"share of the position at first, sinusoidal"},
                               {"share of the position at first, learned"}}};
    const Tensor tokens = reversed_sentences(batch, length, vocabulary, key(options, "tokens")).source;
    for (const Weights& one : weights) result.variants.emplace_back(one.name);
    for (const nn::Positions kind : {nn::Positions::sinusoidal, nn::Positions::learned}) {
        const bool fixed = kind == nn::Positions::sinusoidal;
        picture::LineChart losses{.title = fixed ? "sinusoidal positions" : "learned positions",
                                  .x = {.label = "step"},
                                  .y = {.label = "cross entropy", .from = 0},
                                  .levels = {{"guessing", std::log(vocabulary - 1)}}};
        for (const Weights& one : weights) {
            Net net(key(options, "model"), kind, one);
            result.findings[fixed ? 2 : 3].values.push_back(share_of_position(net, tokens));
            const std::vector<double> learned = train(net, training, [&](std::int64_t step) {
                const Reversed made = reversed_sentences(batch, length, vocabulary, key(options, fmt::format("batch {}", step)));
                return ops::cross_entropy(net.logits(made.source), made.target_out);
            });
            result.findings[fixed ? 0 : 1].values.push_back(mean_of_last(learned, 10));
            losses.series.push_back(curve(one.name, learned));
        }
        result.figures.push_back(
            {svg(mistakes_first(losses)), fixed ? "Where the position is too small, word order is not learned."
                                                : "A learned table could outgrow its weight, but not within 200 steps."});
    }
    return result;
}

}  // namespace

Experiment experiment() {
    return {.name = "weighted-positions",
            .group = "Embeddings and positions",
            .title = "words and positions in a weighted sum",
            .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
            .why =
                "A weighted sum can represent nothing that two tables cannot, but it determines the first layer's input before "
                "training. With a weight of 0.9 for the word, the position is less than one percent of that input: no query can "
                "select a position, and the loss stays where it would be without word order. The plain sum of two codes of about "
                "the same size needs no weight; equal weights do the same, and a small weight for the word does no harm here.",
            .wrong = R"(
const Variable word = ops::scale(words, 0.9);
const Variable place = ops::scale(places, 0.1);
const Variable x = ops::add(word, place);
)",
            .right = R"(
// both of about the same size: words are E sqrt(d_model)
const Variable x = ops::add(words, places);
)",
            .run = measure};
}

}  // namespace heddle::lab::weighted_positions
