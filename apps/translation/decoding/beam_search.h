// Beam search: keeps a few open hypotheses per sentence and returns the best finished ones.
//
//     score(y) = log p(y | x) / |y|^alpha            |y| counts the end mark
//
// Wu et al., "Google's neural machine translation system" (2016), section 7, with their ((5 + |y|) / 6)^alpha in its plain form
// |y|^alpha, as Marian and CTranslate2 have it. alpha = 0 compares plain log-probabilities. At each step every open hypothesis is
// continued by its most probable tokens; the best `beam` continuations that do not end stay open, those among the best 2 beam
// that end are finished. (A beam of 1 is greedy: the most probable token alone, until it is the end mark.) A hypothesis is closed
// once it cannot become one of the n best: log p only falls, so log p / longest^alpha bounds what it can still reach.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/translation/decoding/hypothesis.h"

namespace heddle::app {

/// The options.n_best best hypotheses for each source (token ids, end mark included), best first; fewer only when the beam meets
/// no more that end or reach the maximum length. Those that ended come before those that were cut, which with max_length keep
/// the order of the continuations that were cut off. All sources are decoded together, each as if it were alone: its result does
/// not depend on the others. The models must be in evaluation mode. Error unless 1 <= n_best <= beam. On a device steps are
/// captured (core/graph.h): no other thread may use the stream meanwhile.
HypothesisLists beam_search(const Ensemble& models, std::span<const std::vector<std::int32_t>> sources,
                            const DecodeOptions& options);

}  // namespace heddle::app
