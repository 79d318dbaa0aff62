// Sampling: translations drawn from the model's distribution, token by token.
//
//     q(t) = p(t)^(1/T) / sum_j p(t_j)^(1/T)          over the k most probable tokens, or over all
//
// Fan et al., "Hierarchical neural story generation" (2018), section 5.4, for the k most probable ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/translation/decoding/hypothesis.h"

namespace heddle::app {

/// options.n_best independent samples for each source (token ids, end mark included), in the order in which they are drawn, with
/// options.sampling (which must be set). Sample s of source i is a function of the models, the source, the options, lines[i] and
/// s alone: never of its neighbours or of threads. Log-probabilities are the models' own, whatever temperature and top_k. The
/// models must be in evaluation mode. Error when an option is out of range.
HypothesisLists sample(const Ensemble& models, std::span<const std::vector<std::int32_t>> sources,
                       std::span<const std::int64_t> lines, const DecodeOptions& options);

}  // namespace heddle::app
