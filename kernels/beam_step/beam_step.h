// clang-format off
// One step of a beam search, for all sentences of a batch: from the most probable continuations of each open hypothesis to the
// hypotheses that stay open.
//
//     log p(y t) = log p(y) + log p(t | y)        a continuation of y by the token t
//     score(y)   = log p(y) / divisors[|y|]       |y| counts the end mark; divisors[n] = n^alpha
//
// For each sentence, in this order:
//   1. The continuations of its open hypotheses, but not those by a forbidden token, are ranked by log p; ties go to the earlier
//      hypothesis, then to top_k's order. The first 2 beam of them are considered (beam = 1: the first).
//   2. From the best on: a continuation by the end mark is finished. Any other stays open, up to `beam` of them, if it can win:
//      log p only falls, so log p / divisors[longest] bounds its final score, which must exceed the worst of n_best finished ones.
//      At the sentence's maximum length it is finished as well, cut.
//   3. Hypotheses that can no longer win, now that others have finished, are dropped.
//   4. The search ends once `enough` hypotheses have ended, each among the `beam` best of its step and with a log p that could
//      have won against the best finished one at that step (by the bound above, so that n_best does not affect when it ends).
// Up to n_best finished hypotheses are kept, best first: cut ones after all that ended, later ones after equal ones.
// clang-format on
//
// The search stays where the logits are. Hypotheses are paths in a tree of tokens, and the tree and everything else of the search
// are the arrays of Beams, of fixed shapes; the host need not know how many hypotheses are open.
#pragma once

#include <span>
#include <vector>

#include "kernels/device/declare.h"
#include "kernels/device/growth.h"
#include "kernels/top_k/top_k.h"

namespace heddle::kernels {

struct BeamOptions {
    std::int64_t beam = 1;                     ///< hypotheses that may be open at once, of each sentence
    std::int64_t n_best = 1;                   ///< hypotheses that are wanted, at most `beam`
    double length_penalty = 1;                 ///< alpha
    std::int32_t end = 0;                      ///< the end mark
    std::int64_t enough = 0;                   ///< hypotheses whose end ends the search; 0: it continues as long as one can win
    std::int64_t prefix_length = 0;            ///< tokens that every hypothesis has before the first step
    std::vector<std::int32_t> forbidden = {};  ///< tokens that continue no hypothesis; log p stays what the model says
};

/// The state of the searches of some sentences. A node of a sentence's tree is numbered step * beam + place; -1 is the prefix.
struct Beams {
    BeamOptions options;
    std::int64_t steps = 0;      ///< made so far
    device::Growth growth = {};  ///< of `steps`, in a captured step; steps beyond the longest sentence then do nothing
    Tensor longest;              ///< i32 [sentences]: tokens that a hypothesis may have, prefix and end mark included
    Tensor divisors;             ///< f64 [1 + maximum length]
    Tensor forbidden;            ///< i32 [forbidden tokens]
    Tensor open;                 ///< i32 [sentences]: hypotheses that continue; 0: the sentence is finished
    Tensor log_probability;      ///< f64 [sentences, beam], of the open ones; where none is open, of those that were open last
    Tensor node;                 ///< i32 [sentences, beam], of their last tokens
    Tensor tree;                 ///< i32 [most steps, sentences, beam, 2]: token, and the node before it
    Tensor ended;                ///< i32 [sentences]: hypotheses that ended and count for `enough`, so far
    Tensor found;                ///< i32 [sentences]: finished hypotheses, up to n_best
    Tensor found_numbers;        ///< f64 [sentences, n_best, 2]: log p and score, the best first
    Tensor found_paths;          ///< i32 [sentences, n_best, 2]: last node, and the token after it: -1 for the end mark

    /// One open hypothesis for each sentence, the prefix, of this log-probability. Error unless 1 <= n_best <= beam, `enough` is
    /// 0 or at least n_best, each `longest` is more than the prefix, the end mark is not forbidden, and the trees' nodes can be
    /// numbered in an i32.
    Beams(const BeamOptions& options, std::span<const std::int64_t> longest, std::span<const double> log_probabilities,
          Device device);

    /// The tokens of every open hypothesis.
    std::int64_t length() const { return options.prefix_length + steps; }
    /// Continuations of a sentence that are considered: even if `beam` of them end, `beam` continue.
    std::int64_t considered() const { return options.beam == 1 ? 1 : 2 * options.beam; }
    /// Continuations of each hypothesis that beam_step() needs from top_k: considered() of them are allowed, even if every
    /// forbidden token is among them.
    std::int64_t needed() const { return considered() + static_cast<std::int64_t>(options.forbidden.size()); }
};

/// The hypotheses that stay open. After a sentence's open ones come unused places: they continue the sentence's first row with
/// the end mark, so that they can be computed like all others.
struct BeamStep {
    Tensor parents;  ///< i32 [slots, beam]: the row of `top` that it continues from
    Tensor tokens;   ///< i32 [slots, beam]: its new token
};

/// `slots` i32 [slots, 2]: a sentence, each at most once, and the row of `top` where its open hypotheses begin. Sentences without
/// a slot stay as they are. `top` holds k continuations for each row, values falling, f32 or f64. All on the device of `beams`.
/// Results are exact: the same bits on every device. Error when a slot's rows leave `top`, its sentence does not exist, or no
/// step is left (on CUDA the first two stop the kernel, and the error comes with the next call that waits for the device).
BeamStep beam_step(Beams& beams, const TopK& top, const Tensor& slots);
/// The same into `result`'s memory: a step that is replayed reads there what the one before it wrote.
void beam_step_into(Beams& beams, const TopK& top, const Tensor& slots, BeamStep& result);

// ---- the CUDA side (beam_step.cu): arguments are checked and results allocated by beam_step.cpp. A slot that leaves `top` or
// names no sentence stops the kernel.

/// Step number beams.steps, before it is counted.
HEDDLE_CUDA_FUNCTION(void beam_step_cuda(Beams& beams, const TopK& top, const Tensor& slots, BeamStep& result))

}  // namespace heddle::kernels
