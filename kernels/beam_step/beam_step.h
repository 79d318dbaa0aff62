// One step of a beam search, for all sentences of a batch: from the most probable continuations of each open hypothesis to the
// hypotheses that go on.
//
//     log p(y t) = log p(y) + log p(t | y)        a continuation of y by the token t
//     score(y)   = log p(y) / divisors[|y|]       |y| counts the end mark; divisors[n] = n^alpha
//
// Of a sentence, in this order:
//   1. the continuations of its open hypotheses are ranked by log p; of equal ones the earlier hypothesis comes first, then the
//   one
//      that top_k names first. The first 2 beam of them are looked at (beam = 1: the first);
//   2. from the best: one that ends with the end mark is finished. Any other goes on, up to `beam` of them, if it can win: log p
//   only
//      falls, so log p / divisors[longest] bounds what it can reach, and has to be more than the worst of n_best finished ones.
//      At the sentence's greatest length it is finished as well, cut;
//   3. those that can no longer win, now that others have finished, do not go on;
//   4. none goes on once `enough` have ended, each among the `beam` best of its step and with a log p that could have won against
//      the best one of then (the bound above: so that the search ends at the same step whatever n_best is).
// Finished hypotheses are kept up to n_best, the best first: one that was cut behind all that ended, a later one behind an equal
// one.
//
// The search stays where the logits are. Hypotheses are paths in a tree of tokens, and the tree and everything else of the search
// are the arrays of Beams, of fixed shapes; the host need not know how many hypotheses are open.
#pragma once

#include <span>

#include "kernels/top_k/top_k.h"

namespace heddle::kernels {

struct BeamOptions {
    std::int64_t beam = 1;           ///< hypotheses that may be open at once, of each sentence
    std::int64_t n_best = 1;         ///< hypotheses that are wanted, at most `beam`
    double length_penalty = 1;       ///< alpha
    std::int32_t end = 0;            ///< the end mark
    std::int64_t enough = 0;         ///< hypotheses whose end ends the search; 0: it goes on as long as one can win
    std::int64_t prefix_length = 0;  ///< tokens that every hypothesis has before the first step
};

/// The state of the searches of some sentences. A node of a sentence's tree is numbered step * beam + place; -1 is the prefix.
struct Beams {
    BeamOptions options;
    std::int64_t steps = 0;  ///< made so far
    Tensor longest;          ///< i32 [sentences]: tokens that a hypothesis may have, prefix and end mark included
    Tensor divisors;         ///< f64 [1 + greatest length]
    Tensor open;             ///< i32 [sentences]: hypotheses that go on; 0: the sentence is finished
    Tensor log_probability;  ///< f64 [sentences, beam], of the open ones
    Tensor node;             ///< i32 [sentences, beam], of their last tokens
    Tensor tree;             ///< i32 [most steps, sentences, beam, 2]: token, and the node before it
    Tensor ended;            ///< i32 [sentences]: hypotheses that ended and count for `enough`, so far
    Tensor found;            ///< i32 [sentences]: finished hypotheses, up to n_best
    Tensor found_numbers;    ///< f64 [sentences, n_best, 2]: log p and score, the best first
    Tensor found_paths;  ///< i32 [sentences, n_best, 2]: last node, and the token behind it: -1 where the end mark stood there

    /// One open hypothesis for each sentence, the prefix, of this log-probability. Error unless 1 <= n_best <= beam, `enough` is
    /// 0 or at least n_best, each `longest` is more than the prefix, and the trees' nodes can be numbered in an i32.
    Beams(const BeamOptions& options, std::span<const std::int64_t> longest, std::span<const double> log_probabilities,
          Device device);

    /// The tokens of every open hypothesis.
    std::int64_t length() const { return options.prefix_length + steps; }
    /// Continuations of a hypothesis that are worth looking at: even if `beam` of them end, `beam` go on.
    std::int64_t considered() const { return options.beam == 1 ? 1 : 2 * options.beam; }
};

/// The hypotheses that go on. Behind a sentence's open ones stand places that nobody looks at: they go on from the sentence's
/// first row with the end mark, so that they may be computed like all others.
struct BeamStep {
    Tensor parents;  ///< i32 [slots, beam]: the row of `top` that it goes on from
    Tensor tokens;   ///< i32 [slots, beam]: its new token
};

/// `slots` i32 [slots, 2]: a sentence, each at most once, and the row of `top` where its open hypotheses begin. Sentences without
/// a slot stay as they are. `top` holds k continuations for each row, values falling, f32 or f64. All on the device of `beams`.
/// Results are exact: the same bits on every device. Error when a slot's rows leave `top`, its sentence does not exist, or no
/// step is left (on CUDA the first two stop the kernel, and the error comes with the next call that waits for the device).
BeamStep beam_step(Beams& beams, const TopK& top, const Tensor& slots);

}  // namespace heddle::kernels
