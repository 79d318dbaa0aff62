#include "apps/translation/decoding/length_penalty.h"

#include <algorithm>

#include "apps/translation/metrics/metrics.h"

namespace heddle::app {
namespace {

constexpr double tried_penalties[] = {0.5, 1, 1.25, 1.5, 2};

// For each process: few enough to notice a request to stop soon.
constexpr std::int64_t sentences_at_once = 200;

// The best translation of each sentence; nothing when it was stopped.
std::optional<std::vector<std::string>> translations(Translator& translator, const std::vector<std::string>& sources,
                                                     const PenaltyWatch& watch, std::int64_t processes) {
    std::vector<std::string> hypotheses;
    for (auto begin = sources.begin(); begin != sources.end();) {
        if (watch.stop && watch.stop()) return {};
        const auto end = begin + std::min<std::ptrdiff_t>(processes * sentences_at_once, sources.end() - begin);
        for (std::vector<Translation>& each : translator.translate({begin, end}, sentences_at_once))
            hypotheses.push_back(std::move(each.front().text));
        begin = end;
    }
    return hypotheses;
}

std::optional<PenaltyTrial> try_penalty(const Ensemble& models, const Vocabularies& vocabularies, const Corpus& text,
                                        const DecodeOptions& decode, const Criterion& criterion, const PenaltyWatch& watch,
                                        const Decoders& decoders) {
    Translator translator(models, vocabularies, decode, decoders);
    const std::optional<std::vector<std::string>> hypotheses =
        translations(translator, text.sources(), watch, decoders.processes);
    if (!hypotheses) return {};
    const LineStatistics all = sum(line_statistics(*hypotheses, text.targets(), {.tokenizer = criterion.tokenizer}));
    const double score = criterion.metric ? corpus_score(*criterion.metric, all)
                                          : 100 * static_cast<double>(all.exact) / static_cast<double>(all.lines);
    const PenaltyTrial trial{decode.length_penalty, score, corpus_bleu(all.bleu).brevity_penalty};
    if (watch.tried) watch.tried(trial);
    return trial;
}

}  // namespace

Criterion criterion_of(const Corpus& text, Tokenizer wanted) {
    const MetricChoice choice = choose_metric(text.targets(), wanted);
    return {.metric = choice.metric(), .tokenizer = choice.tokenizer};
}

Corpus tuning_sample(const Corpus& text, std::int64_t count) {
    count = std::min(count, text.size());
    Corpus sample;
    for (std::int64_t i = 0; i < count; ++i)
        sample.pairs.push_back(text.pairs[static_cast<std::size_t>(i * text.size() / count)]);
    return sample;
}

std::optional<PenaltyChoice> choose_length_penalty(const Ensemble& models, const Vocabularies& vocabularies, const Corpus& text,
                                                   const DecodeOptions& decode, const Criterion& criterion,
                                                   const PenaltyWatch& watch, const Decoders& decoders) {
    PenaltyChoice choice;
    const auto try_one = [&](double penalty) {
        DecodeOptions with = decode;
        with.length_penalty = penalty;
        const std::optional<PenaltyTrial> trial = try_penalty(models, vocabularies, text, with, criterion, watch, decoders);
        if (trial) choice.trials.push_back(*trial);
        return trial.has_value();
    };
    if (!try_one(decode.length_penalty)) return {};
    choice.before = choice.best = choice.trials.front();
    for (const double penalty : tried_penalties) {
        if (penalty == decode.length_penalty || choice.before.score == 100) continue;
        if (!try_one(penalty)) return {};
        if (choice.trials.back().score > choice.best.score) choice.best = choice.trials.back();
    }
    std::ranges::sort(choice.trials, {}, &PenaltyTrial::length_penalty);
    return choice;
}

}  // namespace heddle::app
