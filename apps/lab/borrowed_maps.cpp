// A decoder that returns its self-attention maps as the cross-attention maps.
//
//     wrong    return x, self_weights, self_weights
//     right    return x, self_weights, cross_weights
//
// The model's computation is right; only the maps it returns are wrong. If all sentences have the same length, the shapes agree,
// and the rows of both maps sum to one; four other checks tell the maps apart. The model has learned to reverse a sentence, so
// the right map is known: word i attends to source word T - 1 - i.
#include <fmt/format.h>

#include <algorithm>

#include "apps/lab/kit.h"
#include "nn/transformer.h"

namespace heddle::lab::borrowed_maps {
namespace {

constexpr std::int64_t length = 8, vocabulary = 12;
constexpr std::int64_t asked = 50;  // sentences

nn::TransformerOptions small() {
    return nn::TransformerOptions{.source_vocabulary = vocabulary,
                                  .target_vocabulary = vocabulary,
                                  .encoder_layers = 1,
                                  .decoder_layers = 1,
                                  .d_model = 32,
                                  .heads = 1,
                                  .d_ff = 64,
                                  .dropout = 0};
}

// The weights [sentences, 1, queries, keys] that are returned as cross attention.
Tensor handed_out(const nn::Transformer& model, const Tensor& source, const Tensor& target_in, std::int64_t sentences,
                  bool borrowed) {
    const Spans spans = Spans::equal(sentences, source.numel() / sentences);
    nn::AttentionMaps maps;
    const Variable memory = model.encode(source, spans);
    model.decode(target_in, Spans::equal(sentences, target_in.numel() / sentences), memory, spans, &maps);
    return borrowed ? maps.decoder[0] : maps.cross[0];
}

// The weight of a row on later positions than its own, averaged over the rows.
double above_the_diagonal(const Tensor& map) {
    const std::vector<double> weights = map.to_vector();
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (i % length > i / length % length) sum += weights[i];
    return sum * length / static_cast<double>(weights.size());
}

// The share of words that attend most to their own source word.
double aligned(const Tensor& map) {
    const std::vector<double> weights = map.to_vector();
    double right = 0;
    for (std::size_t row = 0; row < weights.size(); row += length) {
        const auto best = std::max_element(weights.begin() + static_cast<std::ptrdiff_t>(row),
                                           weights.begin() + static_cast<std::ptrdiff_t>(row + length)) -
                          weights.begin();
        const auto place = static_cast<std::int64_t>(row / length % length);
        right += best % length == length - 1 - place ? 1 : 0;
    }
    return right * length / static_cast<double>(weights.size());
}

Result measure(const Options& options) {
    nn::Transformer model(small(), key(options, "model"));
    train(model, {.steps = 400, .lr = 5e-3, .warmup = 20}, [&](std::int64_t step) {
        const Reversed batch = reversed_sentences(32, length, vocabulary, key(options, fmt::format("batch {}", step)));
        const Spans spans = Spans::equal(32, length);
        return model.loss({batch.source, spans}, {batch.target_in, spans}, batch.target_out);
    });
    model.eval();
    const NoGrad no_grad;
    const Reversed batch = reversed_sentences(asked, length, vocabulary, key(options, "asked"));
    const Tensor other = reversed_sentences(asked, length, vocabulary, key(options, "other")).source;
    const Tensor shorter = words(length - 3, vocabulary - 1, key(options, "shorter"));

    Result result{.variants = {"cross", "borrowed"},
                  .findings = {{"change of the map when the source changes"},
                               {"keys of the map for a source of 5 words"},
                               {"weight above the diagonal"},
                               {"words that look at their source word"},
                               {"largest error of a row's sum"},
                               {"keys of the map for a source of 8 words"}}};
    std::vector<std::string> labels;
    for (std::int64_t i = 0; i < length; ++i) labels.push_back(fmt::format("w{}", batch.source.data<std::int32_t>()[i]));
    const std::vector<std::string> backwards(labels.rbegin(), labels.rend());
    for (const bool borrowed : {false, true}) {
        const Tensor map = handed_out(model, batch.source, batch.target_in, asked, borrowed);
        const Tensor moved = handed_out(model, other, batch.target_in, asked, borrowed);
        const Tensor of_shorter = handed_out(model, shorter, batch.target_in.slice(0, length), 1, borrowed);
        const double values[] = {largest_difference(map, moved),
                                 static_cast<double>(of_shorter.dim(3)),
                                 above_the_diagonal(map),
                                 aligned(map),
                                 error_of_sums(map),
                                 static_cast<double>(map.dim(3))};
        result.add(values);
        const std::vector<double> weights = map.to_vector();
        result.figures.insert(result.figures.begin(),
                              {svg(picture::HeatMap{.title = borrowed ? "returned by mistake" : "the cross attention",
                                                    .rows = length,
                                                    .cols = length,
                                                    .values = {weights.begin(), weights.begin() + length * length},
                                                    .row_labels = backwards,
                                                    .col_labels = labels,
                                                    .row_title = "output word",
                                                    .col_title = "source",
                                                    .from = 0,
                                                    .to = 1}),
                               borrowed ? "A lower triangle: the decoder attending to its own output, labelled with source words."
                                        : "The reversed sentence: each word attends to its source."});
    }
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "borrowed-maps",
        .group = "Attention",
        .title = "self-attention maps returned as the cross-attention maps",
        .caught_by = "Transformer.AttentionRowsSumToOneAndMaskedPlacesAreExactlyZero",
        .why =
            "Self-attention and cross-attention weights have the same shape as long as source and target are equally long, and "
            "the rows of both sum to one, so tests of shapes and sums pass. Only the cross-attention map depends on the source: "
            "it changes when the source changes, has one key for each source word, and can look ahead, which the causal map "
            "cannot. A test that changes the source and checks which maps change tells them apart without any training.",
        .wrong = R"(
x = self_attention.forward(x, spans, {.weights = &self_map});
x = cross_attention.forward(x, spans, memory, memory_spans);
maps.decoder.push_back(self_map);
maps.cross.push_back(self_map);
)",
        .right = R"(
x = self_attention.forward(x, spans, {.weights = &self_map});
x = cross_attention.forward(x, spans, memory, memory_spans,
                            {.weights = &cross_map});
maps.decoder.push_back(self_map);
maps.cross.push_back(cross_map);
)",
        .run = measure};
}

}  // namespace heddle::lab::borrowed_maps
