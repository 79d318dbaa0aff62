#include <fmt/format.h>

#include "apps/command/evaluate.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/metrics/metrics.h"
#include "apps/translation/text/corpus.h"
#include "core/format.h"

namespace heddle::app {
namespace {

TextFile read_text(const std::string& path, const EvaluateOptions& options, SegmentRole role) {
    const Reading reading{.replace_invalid = options.replace_invalid,
                          .say = say,
                          .format = options.format.value_or(TextFormat::text),
                          .assumed = !options.format};
    return read_text_file(path, reading, {.role = role});
}

/// Translations of a file and the references that they belong to.
std::vector<SentencePair> read_hypotheses(const std::string& path, const EvaluateOptions& options, TextFile references) {
    TextFile hypotheses = read_text(path, options, SegmentRole::hypothesis);
    if (hypotheses.format != references.format) {  // translations are seldom in the format of what was translated
        hypotheses.drop_metadata(say);
        references.drop_metadata(say);
    }
    align(hypotheses, references, say);
    std::vector<SentencePair> pairs;
    for (std::size_t i = 0; i < hypotheses.lines.size(); ++i)
        pairs.push_back({std::move(hypotheses.lines[i]), std::move(references.lines[i])});
    return pairs;
}

}  // namespace

ScoredAs scored_as(const EvaluateOptions& options, const std::vector<std::string>& references) {
    const MetricChoice choice = choose_metric(references, options.tokenize);
    if (!choice.reason.empty())
        say(fmt::format("scored with --tokenize {}{}: {}", word_of(choice.tokenizer),
                        choice.prefers_chrf() ? ", chrF2 first" : "", choice.reason));
    return {.options = {.lowercase = options.lowercase, .tokenizer = choice.tokenizer}, .chrf_first = choice.prefers_chrf()};
}

void print_scores(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, const ScoredAs& as,
                  const EvaluateOptions& options) {
    const std::vector<LineStatistics> lines = line_statistics(hypotheses, references, as.options);
    if (options.json) return print(score_json(lines, as, options.sentences));
    const std::string text = score_text(sum(lines), as);
    if (!options.sentences) return print(text);
    print(sentence_table(lines));
    say(std::string_view(text).substr(0, text.size() - 1));  // say() ends the last line itself
}

void evaluate_files(const EvaluateOptions& options) {
    const Corpus corpus{
        read_hypotheses(options.hypotheses, options, read_text(options.reference, options, SegmentRole::reference))};
    check(!corpus.pairs.empty(), "evaluate: {} and {} have no lines to score", options.hypotheses, options.reference);
    print_scores(corpus.sources(), corpus.targets(), scored_as(options, corpus.targets()), options);
}

void compare_files(const EvaluateOptions& options) {
    const TextFile references = read_text(options.reference, options, SegmentRole::reference);
    const Corpus one{read_hypotheses(options.compare.first, options, references)},
        other{read_hypotheses(options.compare.second, options, references)};
    check(!one.pairs.empty(), "evaluate: {} has no lines to compare by", options.reference);
    const ScoredAs as = scored_as(options, one.targets());
    const auto statistics = [&](const Corpus& corpus) { return line_statistics(corpus.sources(), corpus.targets(), as.options); };
    const std::vector<LineStatistics> first = statistics(one), second = statistics(other);
    const std::vector<Comparison> comparisons = paired_bootstrap(first, second, options.resamples, options.seed);
    const ComparedSystems systems{.names = options.compare,
                                  .lines = static_cast<std::int64_t>(first.size()),
                                  .resamples = options.resamples,
                                  .seed = options.seed,
                                  .as = as};
    print(options.json ? comparison_json(systems, comparisons) : comparison_text(systems, comparisons));
}

}  // namespace heddle::app
