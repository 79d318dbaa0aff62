// Greedy decoding that recomputes known values and continues past the end mark.
//
//     wrong    each step decodes the whole prefix again: t rows for token t, and the memory's keys and values again
//              each sentence is decoded to the maximum length, and what comes after the end mark is discarded
//     right    keys and values of earlier tokens are cached: one row per token; a sentence ends with its end mark
//
// Multiply-adds are counted from the shapes: for each row of a decoder layer 4 d^2 for self-attention's projections, 2 d^2 for
// cross-attention's, 2 d d_ff for the feed-forward, 2 n d for n keys; 2 d^2 per memory row projected to a key and a value; d V
// per row of logits. Times are measured and differ from run to run.
#include <algorithm>
#include <chrono>

#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "apps/translation/run/clock.h"

namespace heddle::lab::uncached_decoding {
namespace {

constexpr std::int32_t symbols = 12;
constexpr std::int64_t vocabulary = first_word + symbols, sentences = 32;
constexpr std::int64_t longest = 48;  // tokens of a translation

using Tokens = std::vector<std::int32_t>;

struct Variant {
    std::string name;
    bool cache, stop;
};
const Variant variants[] = {
    {"cache and stop", true, true}, {"no cache", false, true}, {"no stop", true, false}, {"neither", false, false}};

nn::TransformerOptions size() {
    nn::TransformerOptions options = small_transformer(vocabulary);
    options.encoder_layers = options.decoder_layers = 2;
    return options;
}

// The translation of a word is the next word of the vocabulary.
app::TokenPair draw_pair(Sequence& numbers) {
    app::TokenPair pair{Tokens(3 + numbers.below(10)), {}};
    for (std::int32_t& word : pair.source) {
        const auto symbol = static_cast<std::int32_t>(numbers.below(symbols));
        word = first_word + symbol;
        pair.target.push_back(first_word + (symbol + 1) % symbols);
    }
    return pair;
}

std::vector<app::TokenPair> draw_pairs(Sequence& numbers) {
    std::vector<app::TokenPair> pairs;
    for (std::int64_t i = 0; i < sentences; ++i) pairs.push_back(draw_pair(numbers));
    return pairs;
}

// The work of all translations by one variant.
struct Work {
    std::vector<double> steps = std::vector<double>(longest);  // millions of multiply-adds
    double rows = 0, tokens = 0;
    std::vector<Tokens> translations = {};  // before the end mark

    // Rows of the decoder that attend to the first, second, ... target token and all before, and memory rows that are projected.
    void add(std::int64_t step, std::int64_t first, std::int64_t last, std::int64_t memory, bool projects_memory) {
        const std::int64_t layers = *size().decoder_layers, d = size().d_model, d_ff = size().d_ff;
        std::int64_t products = projects_memory ? layers * memory * 2 * d * d : 0;
        for (std::int64_t keys = first; keys <= last; ++keys, rows += 1)
            products += layers * (6 * d * d + 2 * d * d_ff + 2 * d * (keys + memory)) + d * vocabulary;
        steps[static_cast<std::size_t>(step - 1)] += static_cast<double>(products) / 1e6;
    }
};

void translate(const nn::Transformer& model, Tokens source, const Variant& variant, Work& work) {
    source.push_back(app::eos_id);
    const auto memory_rows = static_cast<std::int64_t>(source.size());
    const Spans memory_spans = Spans::equal(1, memory_rows);
    const Variable memory = model.encode(Tensor::from(source, {memory_rows}), memory_spans);
    nn::DecoderCache cache = model.start_decoding(memory.value(), memory_spans, 1, longest);
    Tokens said = {app::bos_id};
    for (std::int64_t t = 1; t <= longest; ++t) {
        Tensor logits;
        if (variant.cache) {
            logits = model.step(Tensor::from(Tokens{said.back()}, {1}), cache);
        } else {
            const Variable hidden = model.decode(Tensor::from(said, {t}), Spans::equal(1, t), memory, memory_spans);
            logits = model.logits(hidden.value()).slice(t - 1, t);
        }
        work.add(t, variant.cache ? t : 1, t, memory_rows, t == 1 || !variant.cache);
        const std::span<const float> scores = logits.values<float>();
        said.push_back(static_cast<std::int32_t>(std::ranges::max_element(scores) - scores.begin()));
        work.tokens += 1;
        if (variant.stop && said.back() == app::eos_id) break;
    }
    work.translations.emplace_back(said.begin() + 1, std::ranges::find(said, app::eos_id));
}

Result measure(const Options& options) {
    nn::Transformer model(size(), key(options, "model"));
    Sequence numbers(key(options, "pairs"));
    train(model, {.steps = 400, .lr = 5e-3, .warmup = 30, .clip = 1},
          [&](std::int64_t) { return translation_loss(model, draw_pairs(numbers)); });
    model.eval();
    const NoGrad no_grad;
    const std::vector<app::TokenPair> pairs = draw_pairs(numbers);

    Result result{.findings = {{"million multiply-adds of the decoder"},
                               {"rows of the decoder"},
                               {"tokens that are thrown away"},
                               {"translations that differ from the first's"},
                               {"milliseconds"}}};
    picture::LineChart chart{.title = "work of each step, 32 sentences",
                             .x = {.label = "token of the translation"},
                             .y = {.label = "million multiply-adds", .logarithmic = true}};
    std::vector<Tokens> first;
    for (const Variant& variant : variants) {
        Work work;
        const auto start = std::chrono::steady_clock::now();
        for (const app::TokenPair& pair : pairs) translate(model, pair.source, variant, work);
        const double seconds = app::seconds_since(start);
        if (first.empty()) first = work.translations;
        double total = 0, thrown_away = work.tokens, different = 0;
        for (const double step : work.steps) total += step;
        for (std::size_t i = 0; i < first.size(); ++i) {
            thrown_away -= std::min(static_cast<double>(work.translations[i].size()) + 1, double{longest});  // with the end mark
            different += work.translations[i] != first[i];
        }
        const double values[] = {total, work.rows, thrown_away, different, 1000 * seconds};
        result.variants.push_back(variant.name);
        result.add(values);
        chart.series.push_back(curve(variant.name, work.steps));
    }
    result.figures = {
        {svg(mistakes_first(chart)), "A line ends when no work is left: with a stop, after the longest translation."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "uncached-decoding",
        .group = "Translating and scoring",
        .title = "decoding that recomputes every prefix and does not stop at the end mark",
        .caught_by = "BeamSearch.ReadsEachTokenOnceAndStopsAtTheEndMark",
        .why =
            "The keys and values of a token depend only on the tokens up to it, so later steps can reuse them; recomputing them "
            "makes the work of a translation grow with the square of its length. What a decoder computes after the end mark is "
            "useless, and a batch that always runs to the maximum length spends most of its work there. With a cache a step "
            "computes one row for each open sentence, and not one token differs.",
        .wrong = R"(
for (std::int64_t t = 1; t <= longest; ++t) {  // to the end
    const Variable y = model.decode(  // all t rows again
        Tensor::from(said, {t}), Spans::packed(std::vector{t}),
        memory, memory_spans);
    said.push_back(largest(model.logits(y.value()), t - 1));
}
)",
        .right = R"(
nn::DecoderCache cache = model.start_decoding(
    memory.value(), memory_spans, 1, longest);
while (said.back() != app::eos_id) {  // one row for each token
    const std::vector last = {said.back()};
    said.push_back(
        largest(model.step(Tensor::from(last, {1}), cache), 0));
}
)",
        .run = measure};
}

}  // namespace heddle::lab::uncached_decoding
