// A projection split into heads by reshape alone. x [B, T, H d]: a token's row holds its H heads side by side.
//
//     wrong    reshape(x, [B, H, T, d])                          row t of "head" h is a piece of token (h T + t) / H
//     right    permute(reshape(x, [B, T, H, d]), [0, 2, 1, 3])    row t of head h is head h of token t
//
// After the usual permute and reshape that join the heads, position t gets a piece of a different part of the sentence from each
// wrong head, and the causal mask compares pieces. The shapes are right, nothing fails, and a language model's loss is better
// than is possible.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "nn/embedding.h"
#include "nn/layer_norm.h"
#include "nn/layers.h"

namespace heddle::lab::split_heads {
namespace {

constexpr std::int64_t length = 8, width = 64, heads = 8, vocabulary = 10, batch = 32;

enum class Split : std::uint8_t { transposed, reshaped };

// One pre-norm layer of a language model.
struct Net : nn::Module {
    Net(std::uint64_t seed, Split how) : Module(seed), split(how) {}

    // [rows, 3 width]: queries, keys, values
    Variable attend(const Variable& projected, const Spans& spans) const {
        if (split == Split::transposed)
            return ops::attention({projected, 0, width}, {projected, width, width}, {projected, 2 * width, width}, spans, spans,
                                  {.heads = heads, .causal = true});
        std::array<Variable, 3> parts;
        for (std::size_t i = 0; i < 3; ++i) {
            const auto begin = static_cast<std::int64_t>(i) * width;
            parts[i] = ops::reshape(ops::slice(projected, 1, begin, begin + width), {spans.size(), heads, length, width / heads});
        }
        const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
        const Variable scores = ops::scale(ops::matmul(parts[0], parts[1], false, true), scale);
        return join_heads(ops::matmul(ops::softmax(scores, {}, {.causal = true}), parts[2]));
    }

    Variable logits(const Tensor& tokens, const Spans& spans) const {
        const Variable x = embedding.forward(tokens, spans, positions);
        const Variable sum = ops::add(x, output.forward(attend(projection.forward(first_norm.forward(x)), spans)));
        return generator.forward(ops::add(sum, feed_forward.forward(second_norm.forward(sum))));
    }

    Split split;
    nn::Embedding embedding{*this, "embedding", vocabulary, width};
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::learned, length, width};
    nn::LayerNorm first_norm{*this, "first_norm", width};
    nn::Linear projection{*this, "projection", width, {"query", "key", "value"}, width};
    nn::Linear output{*this, "output", width, width};
    nn::LayerNorm second_norm{*this, "second_norm", width};
    nn::FeedForward feed_forward{*this, "feed_forward", width, 4 * width, ops::Activation::relu};
    nn::Linear generator{*this, "generator", width, vocabulary};
};

// The largest change of each position's logits (row) when one token changes (column): which position reads which token.
std::vector<double> influence(const Net& net, const Tensor& tokens) {
    const NoGrad no_grad;
    const Spans spans = Spans::equal(1, length);
    const std::vector<double> before = net.logits(tokens, spans).value().to_vector();
    std::vector<double> changes(length * length, 0);
    for (std::int64_t token = 0; token < length; ++token) {
        Tensor changed = tokens.clone();
        std::int32_t& id = changed.mutable_data<std::int32_t>()[token];
        id = static_cast<std::int32_t>((id + 1) % vocabulary);
        const std::vector<double> after = net.logits(changed, spans).value().to_vector();
        for (std::size_t i = 0; i < after.size(); ++i) {
            double& largest = changes[i / vocabulary * length + static_cast<std::size_t>(token)];
            largest = std::max(largest, std::abs(after[i] - before[i]));
        }
    }
    return changes;
}

// The largest change at a position when a later token changes; with `last`, when the last token changes.
double change_of_the_past(const std::vector<double>& influence, bool last) {
    double largest = 0;
    for (std::int64_t place = 0; place + 1 < length; ++place)
        for (std::int64_t token = last ? length - 1 : place + 1; token < length; ++token)
            largest = std::max(largest, influence[static_cast<std::size_t>(place * length + token)]);
    return largest;
}

// Next-token training on random tokens, which cannot be predicted.
std::vector<double> train_on_noise(Net& net, const Options& options) {
    constexpr std::int64_t inputs = length;  // and one more token, the last target
    return train(net, {.steps = 150, .lr = 2.5e-3}, [&](std::int64_t step) {
        const Tensor tokens = words(batch * (inputs + 1), vocabulary, key(options, fmt::format("batch {}", step)));
        Tensor in = Tensor::empty({batch * inputs}, DType::i32), out = Tensor::empty({batch * inputs}, DType::i32);
        for (std::int64_t i = 0; i < batch * inputs; ++i) {
            const std::int64_t at = i / inputs * (inputs + 1) + i % inputs;
            in.mutable_data<std::int32_t>()[i] = tokens.data<std::int32_t>()[at];
            out.mutable_data<std::int32_t>()[i] = tokens.data<std::int32_t>()[at + 1];
        }
        return ops::cross_entropy(net.logits(in, Spans::equal(batch, inputs)), out);
    });
}

Result measure(const Options& options) {
    const Tensor tokens = words(length, vocabulary, key(options, "tokens"));
    Result result{.variants = {"transposed", "reshaped"},
                  .findings = {{"change of the past when the last token changes"},
                               {"change of the past when any later token changes"},
                               {"loss on random tokens, last 10 of 150 steps"},
                               {"floor: ln 10", {std::log(10), std::log(10)}}}};
    picture::LineChart curves{.title = "next-token loss on random tokens",
                              .x = {.label = "step"},
                              .y = {.label = "cross entropy", .from = 0},
                              .levels = {{"ln 10: nothing can do better", std::log(10)}}};
    for (const Split split : {Split::transposed, Split::reshaped}) {
        const std::string& name = result.variants[split == Split::transposed ? 0 : 1];
        Net net(key(options, "model"), split);
        const std::vector<double> reads = influence(net, tokens);
        const std::vector<double> losses = train_on_noise(net, options);
        result.findings[0].values.push_back(change_of_the_past(reads, true));
        result.findings[1].values.push_back(change_of_the_past(reads, false));
        result.findings[2].values.push_back(mean_of_last(losses, 10));
        result.figures.insert(result.figures.begin(),
                              {svg(picture::HeatMap{.title = "who reads whom: " + name,
                                                    .rows = length,
                                                    .cols = length,
                                                    .values = reads,
                                                    .row_title = "output position",
                                                    .col_title = "token that changes",
                                                    .from = 0}),
                               split == Split::transposed ? "Zero above the diagonal: no position reads a later token."
                                                          : "Every position reads pieces from all parts of the sentence."});
        curves.series.push_back(curve(name, losses));
    }
    result.figures.push_back({svg(mistakes_first(curves)), "A loss below the entropy of the data is a leak."});
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "split-heads",
        .group = "Attention",
        .title = "heads split by reshape, without transposing heads and time",
        .caught_by = "Transformer.FutureTokensChangeEarlierOutputsByExactlyZero",
        .why =
            "A row of the projection holds all heads of one token, so a reshape that puts heads before time distributes pieces "
            "of rows: each head gets a different part of the sentence, and its row t is no longer token t. Once the heads are "
            "joined, position t holds pieces of later positions, which the causal mask did not hide. Splitting each row into "
            "heads and then transposing heads and time keeps token t in row t of every head, and the past no longer depends on "
            "the future.",
        .wrong = R"(
// x [B * T, H * d]: a row holds the H heads of one token
const Variable q = ops::reshape(x, {B, H, T, d});
const Variable scores = ops::matmul(q, k, false, true);
)",
        .right = R"(
// x [B * T, H * d]: a row holds the H heads of one token
const Variable rows = ops::reshape(x, {B, T, H, d});
const Variable q = ops::permute(rows, std::array{0, 2, 1, 3});
const Variable scores = ops::matmul(q, k, false, true);
)",
        .run = measure};
}

}  // namespace heddle::lab::split_heads
