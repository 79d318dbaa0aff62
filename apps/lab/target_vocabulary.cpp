// The target's embedding sized by the source's vocabulary.
//
//     wrong    target table [source vocabulary, d_model]
//     right    target table [target vocabulary, d_model]
//
// Vocabularies are sorted by frequency, so a table that is too small fails only on rare words, and one that is too large never
// fails: its last rows are words that do not exist.
#include <cmath>

#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/error.h"

namespace heddle::lab::target_vocabulary {
namespace {

constexpr std::int64_t target_words = 1200;
constexpr std::int64_t fewer = 1000;  // source words in the two cases
constexpr std::int64_t more = 1400, sentence_words = 10, sentences = 1600, batch = 32;

// By Zipf's law: word n occurs about half as often as word n / 2.
std::vector<std::int32_t> draw_words(std::int64_t count, std::int64_t vocabulary, Sequence& numbers) {
    std::vector<std::int32_t> words(static_cast<std::size_t>(count));
    for (std::int32_t& word : words)
        word = static_cast<std::int32_t>(std::pow(static_cast<double>(vocabulary), numbers.uniform())) - 1;
    return words;
}

struct Table : nn::Module {
    explicit Table(std::int64_t rows) : embedding(*this, "embedding", rows, 8) {}
    nn::Embedding embedding;
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::sinusoidal, sentence_words, 8};
};

// The share of groups of `unit` sentences that a table of `rows` rows cannot embed.
double failures(std::int64_t rows, std::int64_t unit, const std::vector<std::int32_t>& text) {
    const NoGrad no_grad;
    const Table table(rows);
    const Spans spans = Spans::equal(unit, sentence_words);
    const std::int64_t tokens = unit * sentence_words, units = static_cast<std::int64_t>(text.size()) / tokens;
    std::int64_t failed = 0;
    for (std::int64_t i = 0; i < units; ++i) {
        const std::vector<std::int32_t> part(text.begin() + i * tokens, text.begin() + (i + 1) * tokens);
        try {
            table.embedding.forward(Tensor::from(part, {tokens}), spans, table.positions);
        } catch (const Error&) {
            ++failed;
        }
    }
    return static_cast<double>(failed) / static_cast<double>(units);
}

struct Untrained {
    double loss = 0, nothing = 0;  // of a batch; probability of words that do not exist
};

// A translator whose target table has `rows` rows, on synthetic pairs.
Untrained begin_with(std::int64_t rows, const Options& options) {
    nn::TransformerOptions size = small_transformer(more);
    size.target_vocabulary = rows;
    size.tie = nn::Tie::target;
    const nn::Transformer model(size, key(options, "model"));
    Sequence numbers(key(options, "pairs"));
    std::vector<app::TokenPair> pairs(batch);
    for (app::TokenPair& pair : pairs)
        pair = {draw_words(sentence_words, more, numbers), draw_words(sentence_words, target_words, numbers)};
    const NoGrad no_grad;
    Untrained result{.loss = translation_loss(model, pairs).value().item()};
    const app::PairBatch first = one_batch(std::span(pairs).first(1));
    const Variable memory = model.encode(Tensor::from(first.source, {first.source_tokens}), first.source_spans);
    const Tensor begin = Tensor::from(std::vector<std::int32_t>{app::bos_id}, {1});
    const Variable hidden = model.decode(begin, Spans::equal(1, 1), memory, first.source_spans);
    const std::vector<double> p = ops::softmax(Variable(model.logits(hidden.value()))).value().to_vector();
    for (std::size_t word = target_words; word < p.size(); ++word) result.nothing += p[word];
    return result;
}

picture::Figure failing(const std::vector<std::int32_t>& text) {
    picture::LineChart chart{.title = "what a table that is too small cannot embed",
                             .x = {.label = "rows of the table"},
                             .y = {.label = "%", .from = 0, .to = 100},
                             .series = {{.name = "sentences"}, {.name = "batches of 32"}}};
    for (std::int64_t rows = 900; rows <= target_words; rows += 25)
        for (const std::size_t i : {0, 1}) {
            chart.series[i].x.push_back(static_cast<double>(rows));
            chart.series[i].y.push_back(100 * failures(rows, i == 0 ? 1 : batch, text));
        }
    return {svg(chart), "The target has 1200 words. Only rare words fail, so a short test may well pass."};
}

Result measure(const Options& options) {
    Sequence numbers(key(options, "text"));
    const std::vector<std::int32_t> text = draw_words(sentences * sentence_words, target_words, numbers);
    const Untrained right = begin_with(target_words, options), wrong = begin_with(more, options);
    const double unused = more - target_words;
    return {.variants = {"target's size", "source's size"},
            .findings = {{"source smaller: batches that fail, %",
                          {100 * failures(target_words, batch, text), 100 * failures(fewer, batch, text)}},
                         {"source smaller: sentences that fail, %",
                          {100 * failures(target_words, 1, text), 100 * failures(fewer, 1, text)}},
                         {"source larger: rows that are no word", {0, unused}},
                         {"source larger: their probability at first, %", {100 * right.nothing, 100 * wrong.nothing}},
                         {"source larger: loss of the first batch", {right.loss, wrong.loss}}},
            .figures = {failing(text)}};
}

}  // namespace

Experiment experiment() {
    return {.name = "target-vocabulary",
            .group = "Embeddings and positions",
            .title = "the target's embedding sized by the source's vocabulary",
            .caught_by = "Transformer.SizesEachSidesTablesByItsOwnVocabulary",
            .why =
                "A table needs one row for each word of its own language. With too few rows the rare words have none, and as "
                "words are numbered by frequency, many sentences pass before one fails; with too many rows nothing fails, and "
                "the model first has to learn that the last rows are not words. Size each side's table by its own vocabulary, "
                "and test with different sizes on the two sides.",
            .wrong = R"(
const nn::Embedding source(model, "source", source_words, d_model);
const nn::Embedding target(model, "target", source_words, d_model);
)",
            .right = R"(
const nn::Embedding source(model, "source", source_words, d_model);
const nn::Embedding target(model, "target", target_words, d_model);
)",
            .run = measure};
}

}  // namespace heddle::lab::target_vocabulary
