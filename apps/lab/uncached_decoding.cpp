// Greedy decoding that recomputes known values and continues past the end mark.
//
//     wrong    each step decodes the whole prefix again: t rows for token t, and the memory's keys and values again
//              each sentence is decoded to the maximum length, and what comes after the end mark is discarded
//     right    keys and values of earlier tokens are cached: one row per token; finished sentences leave the batch
//
// Multiply-adds are counted from the shapes: for each row of a decoder layer 4 d^2 for self-attention's projections, 2 d^2 for
// cross-attention's, 2 d d_ff for the feed-forward, 2 n d for n keys; 2 d^2 per memory row projected to a key and a value; d V
// per row of logits. Times are measured and differ from run to run.
#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <string>

#include "apps/lab/experiments.h"
#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "apps/translation/run/clock.h"
#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::lab::uncached_decoding {
namespace {

constexpr std::int32_t symbols = 12;
constexpr std::int64_t vocabulary = first_word + symbols;
constexpr std::int64_t sentences = 32;
constexpr std::int64_t longest = 48;  // tokens of a translation

using Tokens = std::vector<std::int32_t>;

struct Variant {
    std::string name;
    bool cache;
    bool stop;
};
const std::vector<Variant> variants = {
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

// Millions of multiply-adds of a decoder, per step.
class Count {
  public:
    void begin_step() { steps_.push_back(0); }
    // Rows that each attend to `keys` target keys and to `memory` source keys.
    void rows(std::int64_t count, std::int64_t keys, std::int64_t memory) {
        rows_ += count;
        add(layers * count * (6 * d * d + 2 * d * d_ff + 2 * d * (keys + memory)) + count * d * vocabulary);
    }
    void memory(std::int64_t count) { add(layers * count * 2 * d * d); }

    const std::vector<double>& steps() const { return steps_; }
    double total() const { return std::accumulate(steps_.begin(), steps_.end(), 0.0); }
    std::int64_t rows() const { return rows_; }

  private:
    void add(std::int64_t products) { steps_.back() += static_cast<double>(products) / 1e6; }

    const std::int64_t layers = *size().decoder_layers, d = size().d_model, d_ff = size().d_ff;
    std::vector<double> steps_;
    std::int64_t rows_ = 0;
};

// Translates a batch of sources greedily.
class Decoder {
  public:
    Decoder(const nn::Transformer& model, const app::PairBatch& batch, const Variant& variant)
        : model_(model),
          batch_(batch),
          variant_(variant),
          memory_(model.encode(Tensor::from(batch.source, {batch.source_tokens}), batch.source_spans)),
          prefixes_(static_cast<std::size_t>(batch.sentences), Tokens{app::bos_id}) {
        for (std::size_t i = 0; i < prefixes_.size(); ++i) open_.push_back(i);
    }

    // The tokens before the end mark.
    std::vector<Tokens> translations() {
        if (variant_.cache)
            with_cache();
        else
            without_cache();
        std::vector<Tokens> result;
        for (const Tokens& prefix : prefixes_)
            result.emplace_back(prefix.begin() + 1, std::find(prefix.begin(), prefix.end(), app::eos_id));
        return result;
    }
    const Count& count() const { return count_; }
    std::int64_t tokens() const { return tokens_; }

  private:
    void with_cache() {
        nn::DecoderCache cache = model_.start_decoding(memory_.value(), batch_.source_spans, batch_.sentences, longest);
        count_.begin_step();
        count_.memory(batch_.source_tokens);
        for (std::int64_t length = 1; length <= longest && !open_.empty(); ++length) {
            if (length > 1) count_.begin_step();
            Tokens last;
            for (const std::size_t sentence : open_) {
                last.push_back(prefixes_[sentence].back());
                count_.rows(1, length, batch_.source_spans[static_cast<std::int64_t>(sentence)].length);
            }
            const Tensor logits = model_.step(Tensor::from(last, {static_cast<std::int64_t>(last.size())}), cache);
            std::vector<std::int32_t> kept;
            append(
                logits, [](std::size_t i) { return static_cast<std::int64_t>(i); }, &kept);
            if (!kept.empty()) cache.reorder(kept);
        }
    }

    void without_cache() {
        for (std::int64_t length = 1; length <= longest && !open_.empty(); ++length) {
            count_.begin_step();
            Tokens all;
            std::vector<std::int64_t> memory_rows;
            for (const std::size_t sentence : open_) {
                const Span& span = batch_.source_spans[static_cast<std::int64_t>(sentence)];
                all.insert(all.end(), prefixes_[sentence].begin(), prefixes_[sentence].end());
                for (std::int64_t row = 0; row < span.length; ++row) memory_rows.push_back(span.start + row);
                for (std::int64_t row = 1; row <= length; ++row) count_.rows(1, row, span.length);
                count_.memory(span.length);
            }
            const Spans spans = Spans::equal(static_cast<std::int64_t>(open_.size()), length);
            const Variable hidden =
                model_.decode(Tensor::from(all, {spans.rows()}), spans, memory_of(memory_rows), memory_spans());
            append(model_.logits(hidden.value()), [&](std::size_t i) { return (static_cast<std::int64_t>(i) + 1) * length - 1; });
        }
    }

    Variable memory_of(const std::vector<std::int64_t>& rows) const {
        const Tokens indices(rows.begin(), rows.end());
        return ops::gather(memory_, Tensor::from(indices, {static_cast<std::int64_t>(indices.size())}));
    }
    Spans memory_spans() const {
        std::vector<std::int64_t> lengths;
        for (const std::size_t sentence : open_)
            lengths.push_back(batch_.source_spans[static_cast<std::int64_t>(sentence)].length);
        return Spans::packed(lengths);
    }

    // The most probable token of each open sentence; the logits of the i-th are in row row_of(i). `kept`: the indices, among
    // these, of the sentences that stay open.
    template <class RowOf>
    void append(const Tensor& logits, const RowOf& row_of, std::vector<std::int32_t>* kept = nullptr) {
        std::vector<std::size_t> still_open;
        for (std::size_t i = 0; i < open_.size(); ++i) {
            const float* const row = logits.data<float>() + row_of(i) * vocabulary;
            const auto token = static_cast<std::int32_t>(std::max_element(row, row + vocabulary) - row);
            prefixes_[open_[i]].push_back(token);
            ++tokens_;
            if (variant_.stop && token == app::eos_id) continue;
            still_open.push_back(open_[i]);
            if (kept != nullptr) kept->push_back(static_cast<std::int32_t>(i));
        }
        open_ = still_open;
    }

    const nn::Transformer& model_;
    const app::PairBatch& batch_;
    Variant variant_;
    Variable memory_;
    std::vector<Tokens> prefixes_;
    std::vector<std::size_t> open_;
    Count count_;
    std::int64_t tokens_ = 0;
};

double seconds_of(const std::function<void()>& work) {
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        seconds.push_back(app::seconds_since(start));
    }
    return *std::ranges::min_element(seconds);
}

}  // namespace

const Code code = {.wrong = R"(
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
)"};

Result experiment(const Options& options) {
    nn::Transformer model(size(), key(options, "model"));
    Sequence numbers(key(options, "pairs"));
    const auto draw = [&](std::int64_t count) {
        std::vector<app::TokenPair> pairs;
        for (std::int64_t i = 0; i < count; ++i) pairs.push_back(draw_pair(numbers));
        return pairs;
    };
    train(model, {.steps = 400, .lr = 5e-3, .warmup = 30, .clip = 1},
          [&](std::int64_t) { return translation_loss(model, draw(sentences)); });
    model.eval();
    const NoGrad no_grad;
    const app::PairBatch batch = one_batch(draw(sentences));

    Result result{
        .variants = {},
        .findings = {{"million multiply-adds of the decoder", {}},
                     {"rows of the decoder", {}},
                     {"tokens that are thrown away", {}},
                     {"translations that differ from the first's", {}},
                     {"milliseconds", {}}},
        .why =
            "The keys and values of a token depend only on the tokens up to it, so later steps can reuse them; recomputing "
            "them makes the work of a translation grow with the square of its length. What a decoder computes after the end "
            "mark is useless, and a batch that always runs to the maximum length spends most of its work there. With a cache a "
            "step computes one row for each open sentence, and not one token differs.",
        .figures = {}};
    picture::LineChart chart{.title = "work of each step",
                             .x = {.label = "token of the translation"},
                             .y = {.label = "million multiply-adds", .logarithmic = true},
                             .series = {}};
    picture::BarChart bars{.title = "against cache and stop",
                           .y = {.label = "times as much", .from = 0},
                           .groups = {"multiply-adds", "time"},
                           .bars = {}};
    std::vector<Tokens> first;
    for (const Variant& variant : variants) {
        Decoder decoder(model, batch, variant);
        const std::vector<Tokens> translations = decoder.translations();
        if (first.empty()) first = translations;
        std::int64_t kept = 0, different = 0;
        for (std::size_t i = 0; i < first.size(); ++i) {
            kept += std::min(static_cast<std::int64_t>(translations[i].size()) + 1, longest);  // with the end mark
            different += translations[i] != first[i];
        }
        const double seconds = seconds_of([&] { Decoder(model, batch, variant).translations(); });
        const double values[] = {decoder.count().total(), static_cast<double>(decoder.count().rows()),
                                 static_cast<double>(decoder.tokens() - kept), static_cast<double>(different), 1000 * seconds};
        result.variants.push_back(variant.name);
        result.add(values);
        chart.series.push_back(curve(variant.name, decoder.count().steps()));
        bars.bars.push_back({variant.name, {values[0] / result.findings[0].values[0], values[4] / result.findings[4].values[0]}});
    }
    result.figures = {
        {svg(mistakes_first(chart)), "A line ends when no work is left: with a stop, after the longest translation."},
        {svg(mistakes_first(bars)),
         "Times are of this machine; small products take longer than their operation counts suggest."}};
    return result;
}

}  // namespace heddle::lab::uncached_decoding
