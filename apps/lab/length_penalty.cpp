// Ranking candidate translations: scores divided by a function of the length.
//
//     wrong    log p(y | x)                          falls with each token, which favours the shortest translation
//     right    log p(y | x) / |y|^a                  the library's; |y| counts the end mark
//              log p(y | x) / ((5 + |y|) / 6)^a      Wu et al. 2016, equation 14
//
// The language: each of 8 symbols becomes its usual word (0.6) or one of two others (0.2 each); one target in five is truncated,
// as happens in data from the web. A model trained on this gives the end mark a small probability at each position, but a whole
// long sentence with uncertain words is less probable still.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "apps/picture/chart.h"
#include "apps/translation/metrics/bleu.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "nn/search/search.h"

namespace heddle::lab::length_penalty {
namespace {

constexpr std::int32_t symbols = 8;
constexpr std::int64_t vocabulary = first_word + 3 * symbols;
constexpr std::int64_t sentences = 100;  // translated
constexpr double broken_off = 0.2;

std::vector<std::int32_t> draw_source(Sequence& numbers) {
    std::vector<std::int32_t> source(3 + numbers.below(8));
    for (std::int32_t& symbol : source) symbol = first_word + static_cast<std::int32_t>(numbers.below(symbols));
    return source;
}

app::TokenPair draw_pair(Sequence& numbers) {
    app::TokenPair pair{draw_source(numbers), {}};
    const bool whole = numbers.uniform() >= broken_off;
    const std::uint64_t length = whole ? pair.source.size() : numbers.below(pair.source.size());
    for (std::size_t i = 0; i < length; ++i) {
        const double which = numbers.uniform();
        pair.target.push_back(pair.source[i] + (which < 0.6 ? 0 : which < 0.8 ? symbols : 2 * symbols));
    }
    return pair;
}

// The divisor of a score, a function of the token count including the end mark.
using Divisor = std::function<double(double length)>;

Divisor power(double alpha) {
    return [alpha](double length) { return std::pow(length, alpha); };
}

Divisor shifted(double alpha) {
    return [alpha](double length) { return std::pow((5 + length) / 6, alpha); };
}

struct Translated {
    app::BleuScore bleu;
    double empty;  // share of lines
};

// Ranks the same candidates by different scores.
class Candidates {
  public:
    Candidates(const nn::Transformer& model, const Options& options) {
        Sequence numbers(key(options, "test"));
        std::vector<std::vector<std::int32_t>> sources;
        for (std::int64_t i = 0; i < sentences; ++i) {
            sources.push_back(draw_source(numbers));
            references_.push_back(line_of(sources.back()));  // each symbol's usual word has the same number
            sources.back().push_back(app::eos_id);
        }
        lists_.resize(sources.size());
        for (const double alpha : {0.0, 1.0}) {  // one search favours short translations, the other long ones
            const nn::HypothesisLists lists =
                nn::beam_search(model, sources, {.beam = 8, .length_penalty = alpha, .patience = 0, .n_best = 8});
            for (std::size_t i = 0; i < lists.size(); ++i) lists_[i].insert(lists_[i].end(), lists[i].begin(), lists[i].end());
        }
    }

    Translated best_by(const Divisor& divisor) const {
        Translated result{{}, 0};
        std::vector<std::string> lines;
        for (const std::vector<nn::Hypothesis>& list : lists_) {
            const auto score = [&](const nn::Hypothesis& one) {
                return one.log_probability / divisor(static_cast<double>(one.tokens.size() + 1));
            };
            const nn::Hypothesis& best = *std::ranges::max_element(list, {}, score);
            lines.push_back(line_of(best.tokens));
            result.empty += best.tokens.empty() ? 1.0 / sentences : 0;
        }
        result.bleu = app::corpus_bleu(lines, references_);
        return result;
    }

  private:
    std::vector<std::string> references_;
    nn::HypothesisLists lists_;
};

double ratio(const app::BleuScore& bleu) {
    return static_cast<double>(bleu.hypothesis_length) / static_cast<double>(bleu.reference_length);
}

// Length ratio and BLEU as functions of alpha, for both forms.
std::vector<picture::Figure> sweep(const Candidates& candidates) {
    picture::LineChart lengths{.title = "length relative to the reference",
                               .x = {.label = "a"},
                               .y = {.label = "length ratio", .from = 0},
                               .series = {{.name = "L^a"}, {.name = "((5+L)/6)^a"}},
                               .levels = {{"the reference", 1}}};
    picture::LineChart scores = lengths;
    scores.title = "BLEU";
    scores.y = {.label = "BLEU", .from = 0, .to = 100};
    scores.levels = {};
    for (double alpha = 0; alpha <= 2.001; alpha += 0.1)
        for (const std::size_t form : {0, 1}) {
            const app::BleuScore bleu = candidates.best_by(form == 0 ? power(alpha) : shifted(alpha)).bleu;
            for (picture::LineChart* const chart : {&lengths, &scores}) {
                chart->series[form].x.push_back(alpha);
                chart->series[form].y.push_back(chart == &lengths ? ratio(bleu) : bleu.score);
            }
        }
    return {{svg(mistakes_first(lengths)), "a = 0 is no penalty. The same candidates are ranked each time."},
            {svg(mistakes_first(scores)), "The reference uses each symbol's usual word, so a perfect search reaches 100."}};
}

Result measure(const Options& options) {
    nn::Transformer model(small_transformer(vocabulary), key(options, "model"));
    Sequence numbers(key(options, "training"));
    train(model, {.steps = 500, .lr = 5e-3, .warmup = 50, .clip = 1}, [&](std::int64_t) {
        std::vector<app::TokenPair> pairs;
        for (int i = 0; i < 48; ++i) pairs.push_back(draw_pair(numbers));
        return translation_loss(model, pairs);
    });
    model.eval();

    const Candidates candidates(model, options);
    Result result{.variants = {"L^1", "none", "((5+L)/6)^1"},
                  .findings = {{"length ratio"}, {"BLEU"}, {"brevity penalty of BLEU"}, {"empty translations, %"}},
                  .figures = sweep(candidates)};
    for (const Divisor& divisor : {power(1), power(0), shifted(1)}) {
        const Translated each = candidates.best_by(divisor);
        const double values[] = {ratio(each.bleu), each.bleu.score, each.bleu.brevity_penalty, 100 * each.empty};
        result.add(values);
    }
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "length-penalty",
        .group = "Translating and scoring",
        .title = "translations compared by log p alone: the shortest one wins",
        .caught_by = "BeamSearch.AWideBeamFindsTheBestOfAllTranslations",
        .why =
            "Each token multiplies the probability by less than one, so a truncated translation may well be more probable than "
            "the whole one, and a good search finds it. How often that happens depends on the training data: here one pair in "
            "five is truncated. Dividing the score by an increasing function of the length compares averages per token, and the "
            "whole translation wins; both forms do this, the second one less strongly.",
        .wrong = R"(
const auto best = std::ranges::max_element(
    found, {}, &nn::Hypothesis::log_probability);
)",
        .right = R"(
const auto score = [](const nn::Hypothesis& one) {
    const auto length = static_cast<double>(one.tokens.size() + 1);
    return one.log_probability / length;  // with the end mark
};
const auto best = std::ranges::max_element(found, {}, score);
)",
        .run = measure};
}

}  // namespace heddle::lab::length_penalty
