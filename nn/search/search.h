// Translating token ids: beam search, greedy search and sampling.
//
// Beam search keeps a few open hypotheses per sentence and returns the best finished ones.
//
//     score(y) = log p(y | x) / |y|^alpha            |y| counts the end mark
//
// Wu et al., "Google's neural machine translation system" (2016), section 7, with their ((5 + |y|) / 6)^alpha in its plain form
// |y|^alpha, as Marian and CTranslate2 have it. alpha = 0 compares plain log-probabilities. At each step every open hypothesis is
// continued by its most probable tokens; the best `beam` continuations that do not end stay open, those among the best 2 beam
// that end are finished. (A beam of 1 is greedy: the most probable token alone, until it is the end mark.) A hypothesis is closed
// once it cannot become one of the n best: log p only falls, so log p / longest^alpha bounds what it can still reach.
//
// Sampling draws translations from the model's distribution, token by token.
//
//     q(t) = p(t)^(1/T) / sum_j p(t_j)^(1/T)          over the k most probable tokens, or over all
//
// Fan et al., "Hierarchical neural story generation" (2018), section 5.4, for the k most probable ones; Holtzman et al., "The
// curious case of neural text degeneration" (2020), section 3.1, for the fewest tokens whose probabilities sum to top_p or more.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nn/search/ensemble.h"

namespace heddle::nn {

/// Draw translations instead of searching for the best.
struct Sampling {
    std::int64_t top_k = 0;  ///< each token is one of the k most probable; 0: any
    double top_p = 1;        ///< and one of the most probable of these whose q sums to this or more; 1: any
    double temperature = 1;  ///< draws from p^(1/temperature), made to sum to 1
    std::uint64_t seed = 1;
};
/// With a temperature of 0, what it means: top_k 1, the most probable token each time. Error when the temperature is below 0.
Sampling drawable(const Sampling& sampling);

struct DecodeOptions {
    std::int64_t beam = 5;      ///< hypotheses kept at each step; 1: greedy
    double length_penalty = 1;  ///< alpha
    double patience = 2;        ///< a search ends when patience (1 or more) x beam hypotheses have ended; 0: when none can win
    std::int64_t n_best = 1;    ///< translations of each source: the best ones of the beam, or this many samples
    std::int64_t samples_at_once = 256;           ///< of one source: they take memory together; changes nothing else
    Tokens prefix = {};                           ///< the tokens that every translation begins with
    Tokens first = {};                            ///< the tokens that may follow the prefix; empty: all
    std::optional<Sampling> sampling = {};        ///< set: draw
    Tokens forbidden = {};                        ///< tokens that are never written; log p of the others stays the model's
    std::optional<std::int64_t> max_length = {};  ///< most tokens of a translation, without its end mark; see longest_translation
    Marks marks = {};                             ///< the tokens that begin and end a translation
};

struct Hypothesis {
    Tokens tokens;               ///< without beginning and end mark
    double log_probability = 0;  ///< of all tokens, the end mark included if the hypothesis ended
    double score = 0;            ///< log_probability / length^alpha; the length counts the end mark
    bool ended = false;          ///< false: cut at the maximum length
};

/// The hypotheses of each source.
using HypothesisLists = std::vector<std::vector<Hypothesis>>;

/// Translates token ids in one call: options.n_best hypotheses of the source, the best first (samples: in the order drawn).
/// `source` is what the encoder reads: end it with the end mark if the model was trained so. `models` is a Transformer in
/// evaluation mode, or several (see Ensemble).
///
///     heddle::translate(model, {5, 9, 7, 3})                                     beam search
///     heddle::translate(model, source, {.beam = 1})                              greedy
///     heddle::translate(model, source, {.n_best = 4, .sampling = nn::Sampling{.top_k = 10}})
///
/// Error when the model is in training mode, the source has no tokens or one that the vocabulary lacks, or an option is out of
/// range.
std::vector<Hypothesis> translate(const Ensemble& models, const Tokens& source, const DecodeOptions& options = {});
/// The same for many sources, in batches of similar length and on the CPU on all threads. List i belongs to source i and is the
/// one of source i alone, but samples also depend on i.
HypothesisLists translate(const Ensemble& models, const std::vector<Tokens>& sources, const DecodeOptions& options = {});

struct GenerateOptions {
    std::int64_t top_k = 0;  ///< as Sampling's, like the next two
    double top_p = 1;
    double temperature = 1;  ///< 0: the most probable token each time
    std::uint64_t seed = 1;
    std::optional<std::int64_t> max_length = {};  ///< most tokens, the prompt's included; default: see longest_translation
    Tokens forbidden = {};                        ///< tokens that are never written
    Marks marks = {};
};
/// Continues a text: the prompt and tokens drawn from a language model in evaluation mode (or several, see Ensemble), until it
/// writes the end mark, which is left out, or max_length. The result is a function of the models, the prompt and the options.
///
///     generate(model, {5, 9, 7}, {.top_k = 10, .temperature = 0.8, .seed = 3})
///
/// Error when the model is in training mode or translates, a token is not in the vocabulary, or an option is out of range.
Tokens generate(const Ensemble& models, const Tokens& prompt, const GenerateOptions& options = {});

// ---- the parts of translate(); the models must be in evaluation mode

/// The options.n_best best hypotheses for each source (token ids, end mark included), best first; fewer only when the beam meets
/// no more that end or reach the maximum length. Those that ended come before those that were cut, which with max_length keep
/// the order of the continuations that were cut off. All sources are decoded together, each as if it were alone: its result does
/// not depend on the others. Error unless 1 <= n_best <= beam, and when a source has no translation with a probability above 0.
/// On a device steps are captured (core/graph.h): no other thread may use the stream meanwhile.
HypothesisLists beam_search(const Ensemble& models, std::span<const Tokens> sources, const DecodeOptions& options);

/// options.n_best independent samples for each source (token ids, end mark included), in the order in which they are drawn, with
/// options.sampling (which must be set). Sample s of source i is a function of the models, the source, the options, numbers[i]
/// and s alone: never of its neighbours or of threads. Log-probabilities are the models' own, whatever temperature and top_k.
/// Error when an option is out of range.
HypothesisLists sample(const Ensemble& models, std::span<const Tokens> sources, std::span<const std::int64_t> numbers,
                       const DecodeOptions& options);

/// Sources (token ids, end mark included) that are decoded together.
struct SourceBatch {
    std::vector<Tokens> sources;
    std::vector<std::int64_t> numbers;  ///< the number of each source in the whole input, which its samples depend on
};

/// Searches or samples, as the options say. Errors as beam_search() and sample().
HypothesisLists decode(const Ensemble& models, const SourceBatch& batch, const DecodeOptions& options);
/// The same for several batches, with `side_by_side` each thread one of its own if there are enough of them.
std::vector<HypothesisLists> decode(const Ensemble& models, std::span<const SourceBatch> batches, const DecodeOptions& options,
                                    bool side_by_side);
/// Whether threads should decode batches of their own: threads that share a token step, which is short, wait for each other in
/// each of its ops. False for one thread, and on a device.
bool decodes_side_by_side(const Ensemble& models);

/// Sources in batches of similar length, small enough for the memory of a decoder. numbers[i] is the number of source i.
std::vector<SourceBatch> source_batches(std::vector<Tokens> sources, std::span<const std::int64_t> numbers,
                                        const DecodeOptions& options, bool side_by_side);

/// Indices of `widths` in batches: narrow ones first, in their order within a width; a batch times its greatest width stays
/// within `tokens`, unless one item alone does not.
std::vector<std::vector<std::int64_t>> batches_by_width(std::span<const std::int64_t> widths, std::int64_t tokens);

/// log p / length^alpha
double normalised(double log_probability, std::int64_t length, double alpha);

/// The most tokens that a search may write: 3 x source + 10 after the prefix (a language model: its position_table after the
/// prefix), or `max_length` and an end mark; but never more than a table of learned positions holds. Both lengths count the end
/// mark: `source_tokens` is that of beam_search()'s sources, which end with one. Error when nothing is left after the prefix.
std::int64_t longest_translation(const Ensemble& models, std::int64_t source_tokens, std::int64_t prefix_tokens = 0,
                                 std::optional<std::int64_t> max_length = {});

}  // namespace heddle::nn
