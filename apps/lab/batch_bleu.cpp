// Four ways to report a BLEU that is not the BLEU of the test set.
//
//     right    BLEU from sums over all segments
//     wrong    over full batches only: 1305 mod 32 = 25 segments are left out
//              without the 45 segments of three or fewer words
//              the mean over the batches of the cumulative BLEU
//              the mean over the batches of each batch's BLEU
//
// The segments are synthetic; their number and lengths follow a test set of talks. A translation is its reference with words
// replaced, deleted and swapped. Talks differ in difficulty, and short segments are easy.
#include <algorithm>
#include <cmath>
#include <string>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "apps/translation/metrics/bleu.h"

namespace heddle::lab::batch_bleu {
namespace {

constexpr std::size_t segments = 1305, batch = 32, talks = 15;
constexpr std::size_t short_ones = 45;  // of at most short_words
constexpr std::size_t long_ones = 808;  // of more than 10 words
constexpr std::size_t short_words = 3;

const std::vector<std::string> names = {"all segments", "full batches", "no short ones", "mean of cumulative", "mean of batches"};

using Words = std::vector<std::int32_t>;

struct Segment {
    Words reference;
    Words translation;
};

// A few words make up most of the text.
std::int32_t draw_word(Sequence& numbers) { return static_cast<std::int32_t>(std::pow(3000.0, numbers.uniform())); }

Words disturbed(const Words& reference, double rate, Sequence& numbers) {
    Words words;
    for (const std::int32_t word : reference) {
        const double event = numbers.uniform() / rate;
        if (event < 0.2) continue;
        words.push_back(event < 0.8 ? draw_word(numbers) : word);
        if (event >= 0.8 && event < 1 && words.size() > 1) std::swap(words[words.size() - 1], words[words.size() - 2]);
    }
    return words;
}

std::vector<Segment> draw_segments(Sequence& numbers) {
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < segments; ++i)
        lengths.push_back(i < short_ones             ? 1 + numbers.below(3)
                          : i < segments - long_ones ? 4 + numbers.below(7)
                                                     : 11 + numbers.below(30));
    numbers.shuffle(lengths);
    std::vector<double> difficulty(talks);
    for (double& rate : difficulty) rate = 0.2 + 0.5 * numbers.uniform();
    std::vector<Segment> result(segments);
    for (std::size_t i = 0; i < segments; ++i) {
        for (std::size_t word = 0; word < lengths[i]; ++word) result[i].reference.push_back(draw_word(numbers));
        const double rate = difficulty[i * talks / segments];
        result[i].translation = disturbed(result[i].reference, lengths[i] <= short_words ? rate / 4 : rate, numbers);
    }
    return result;
}

// The scores of one test set in all five variants.
struct Scores {
    std::vector<double> bleu;                 // of each variant
    std::vector<double> scored;               // segments
    std::vector<double> cumulative, batches;  // BLEU after each batch, and of each batch
};

Scores score(const std::vector<Segment>& test) {
    app::BleuStatistics all, full, longer, of_batch;
    Scores scores;
    std::size_t longer_ones = 0;
    for (std::size_t i = 0; i < test.size(); ++i) {
        const app::BleuStatistics one = app::bleu_statistics(line_of(test[i].translation), line_of(test[i].reference));
        all += one;
        of_batch += one;
        if (i < test.size() / batch * batch) full += one;
        if (test[i].reference.size() > short_words) {
            longer += one;
            ++longer_ones;
        }
        if ((i + 1) % batch != 0 && i + 1 != test.size()) continue;
        scores.cumulative.push_back(corpus_bleu(all).score);
        scores.batches.push_back(corpus_bleu(of_batch).score);
        of_batch = {};
    }
    scores.bleu = {corpus_bleu(all).score, corpus_bleu(full).score, corpus_bleu(longer).score,
                   mean_of_last(scores.cumulative, scores.cumulative.size()),
                   mean_of_last(scores.batches, scores.batches.size())};
    const auto count = static_cast<double>(test.size());
    scores.scored = {count, static_cast<double>(test.size() / batch * batch), static_cast<double>(longer_ones), count, count};
    return scores;
}

picture::Figure over_batches(const Scores& scores) {
    picture::LineChart chart{.title = "BLEU in the batch loop",
                             .x = {.label = "batch"},
                             .y = {.label = "BLEU"},
                             .series = {{.name = "of all so far", .y = scores.cumulative},
                                        {.name = "of the batch", .y = scores.batches, .dots = true}},
                             .levels = {{"all segments", scores.bleu[0]}}};
    for (std::size_t i = 0; i < scores.cumulative.size(); ++i)
        for (picture::Series& series : chart.series) series.x.push_back(static_cast<double>(i + 1));
    return {svg(chart), "Only the last value of the first line is the BLEU of the test set."};
}

Result measure(const Options& options) {
    Sequence numbers(key(options, "test set"));
    const Scores scores = score(draw_segments(numbers));
    std::vector<double> error;
    for (const double bleu : scores.bleu) error.push_back(bleu - scores.bleu[0]);
    return {.variants = names,
            .findings = {{"BLEU", scores.bleu}, {"above the true one", error}, {"segments that count", scores.scored}},
            .figures = {over_batches(scores)}};
}

}  // namespace

Experiment experiment() {
    return {
        .name = "batch-bleu",
        .group = "Translating and scoring",
        .title = "BLEU of full batches, without short segments, or as a mean over the batch loop",
        .caught_by = "Bleu.EqualsSacrebleuOnAwkwardText",
        .why =
            "BLEU is a ratio of sums over the whole test set: matches over n-grams, and one brevity penalty. Segments that are "
            "left out are seldom typical (short ones matter least, since they have no 4-grams), and a mean over batches either "
            "gives the first segments the most weight or averages the ratios of small sums. If each segment's counts are summed "
            "and divided once at the end, the score is that of the whole file, however it was batched.",
        .wrong = R"(
double mean = 0;
for (std::size_t i = 0; i < full_batches; ++i)  // loses the rest
    mean += app::corpus_bleu(batches[i]).score / full_batches;
)",
        .right = R"(
app::BleuStatistics all;
for (const app::BleuStatistics& batch : batches) all += batch;
const double bleu = app::corpus_bleu(all).score;
)",
        .run = measure};
}

}  // namespace heddle::lab::batch_bleu
