#include "apps/translation/length_penalty.h"

#include <algorithm>

#include "apps/translation/bleu.h"
#include "apps/translation/translate.h"

namespace heddle::app {
namespace {

constexpr double tried_penalties[] = {0.5, 1, 1.25, 1.5, 2};

PenaltyTrial try_penalty(const Ensemble& models, const Vocabularies& vocabularies, const Corpus& text,
                         const DecodeOptions& decode, Aim aim) {
    Translator translator(models, vocabularies, decode);
    std::vector<std::string> hypotheses;
    for (std::vector<Translation>& each : translator.translate(text.sources()))
        hypotheses.push_back(std::move(each.front().text));
    const std::vector<std::string> references = text.targets();
    const BleuScore bleu = corpus_bleu(hypotheses, references);
    std::int64_t exact = 0;
    for (std::size_t i = 0; i < references.size(); ++i) exact += hypotheses[i] == references[i] ? 1 : 0;
    const double exact_share = 100 * static_cast<double>(exact) / static_cast<double>(references.size());
    return {decode.length_penalty, aim == Aim::exact ? exact_share : bleu.score, bleu.brevity_penalty};
}

}  // namespace

Corpus tuning_sample(const Corpus& text, std::int64_t count) {
    count = std::min(count, text.size());
    Corpus sample;
    for (std::int64_t i = 0; i < count; ++i)
        sample.pairs.push_back(text.pairs[static_cast<std::size_t>(i * text.size() / count)]);
    return sample;
}

PenaltyChoice choose_length_penalty(const Ensemble& models, const Vocabularies& vocabularies, const Corpus& text,
                                    const DecodeOptions& decode, Aim aim) {
    PenaltyChoice choice;
    choice.before = choice.best = try_penalty(models, vocabularies, text, decode, aim);
    choice.trials.push_back(choice.before);
    for (const double penalty : tried_penalties) {
        if (penalty == decode.length_penalty || choice.before.score == 100) continue;
        DecodeOptions other = decode;
        other.length_penalty = penalty;
        choice.trials.push_back(try_penalty(models, vocabularies, text, other, aim));
        if (choice.trials.back().score > choice.best.score) choice.best = choice.trials.back();
    }
    std::ranges::sort(choice.trials, {}, &PenaltyTrial::length_penalty);
    return choice;
}

}  // namespace heddle::app
