// Finds the length penalty with which a trained model translates best, on sentences that it was not trained on.
//
// A search compares log p / |y|^alpha. Every word costs log p, so alpha has to pay for it; how much depends on the model and the
// text: with alpha = 1 many models write too little. Each alpha is tried by a search of its own, as translating does it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "apps/translation/decoding/translate.h"
#include "apps/translation/metrics/metrics.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/vocabulary/vocabularies.h"

namespace heddle::app {

/// How values of alpha are compared.
struct Criterion {
    /// A metric for text, where a sentence has many translations. Nothing: the share of lines that equal their reference, for a
    /// generated task, where a sentence has one translation.
    std::optional<Metric> metric = {};
    Tokenizer tokenizer = Tokenizer::mteval_13a;
};

/// The better of BLEU and chrF for this text: see choose_metric().
Criterion criterion_of(const Corpus& text, Tokenizer wanted = Tokenizer::automatic);

struct PenaltyTrial {
    double length_penalty = 1;
    double score = 0;            ///< of the metric, or the percentage of exact lines
    double brevity_penalty = 1;  ///< BLEU's: below 1 the translations are shorter than their references
};

struct PenaltyChoice {
    std::vector<PenaltyTrial> trials;  ///< by rising penalty
    PenaltyTrial before;               ///< the trial of the penalty that the search had
    PenaltyTrial best;
};

/// Callbacks while penalties are tried.
struct PenaltyWatch {
    std::function<void(const PenaltyTrial&)> tried = {};  ///< called after each trial
    std::function<bool()> stop = {};                      ///< asked every few seconds; true ends the choice
};

/// With fewer sentences the choice is unreliable; with more it does not change.
inline constexpr std::int64_t least_tuning_sentences = 100, most_tuning_sentences = 1000;

/// `count` pairs (or all there are) spread evenly over `text`: a file may be sorted.
Corpus tuning_sample(const Corpus& text, std::int64_t count);

/// Translates `text` with several penalties; all other options are those of `decode`. The penalty of `decode` stays unless
/// another scores better; when no score can be better, no other is tried. The choice is the same for every number of threads. The
/// models must be in evaluation mode. Nothing when the watch stopped it.
std::optional<PenaltyChoice> choose_length_penalty(const Ensemble& models, const Vocabularies& vocabularies, const Corpus& text,
                                                   const DecodeOptions& decode, const Criterion& criterion,
                                                   const PenaltyWatch& watch = {}, const Decoders& decoders = {});

}  // namespace heddle::app
