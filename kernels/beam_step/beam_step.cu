// One step of a beam search on CUDA; beam_step.h has the rules.
//
// A block takes a sentence. First all its threads rank the continuations: those of one hypothesis come from top_k in order
// already, so a continuation's rank is the number of those before it in all lists, found by a binary search in each list. No
// thread waits for another, and each of the first 2 beam ranks is written by exactly one thread. Then thread 0 walks over them,
// from the best, and keeps those that stay open, in their order. It is a walk of ten steps with a beam of five; each step
// depends on those before. Last, each thread writes what belongs to some of the places of the beam.
//
// Forbidden tokens are ranked like all others, and the walk passes over them: each hypothesis has one such continuation per
// forbidden token at most, so with beam x forbidden further ranks 2 beam allowed ones are left.
//
// Memory traffic: 8 bytes for each continuation, some tens for each hypothesis: nothing beside a row of logits. What counts is
// that the host is not asked.
//
// Divisions, sums and comparisons are f64 and exact, and powers come from a table: the CPU's bits.
#include "core/dispatch.h"
#include "kernels/beam_step/beam_step.h"
#include "kernels/device/launch.h"
#include "kernels/device/shared.h"

namespace heddle::kernels {
namespace {

using device::thread_in_block;

constexpr unsigned kFewThreads = 32, kManyThreads = 256;
constexpr std::int64_t kFew = 512;  // continuations that one warp ranks

// One sentence's part of Beams, and the continuations of this step.
template <class A>
struct Search {
    const A* values = nullptr;             // [rows, k]
    const std::int32_t* ids = nullptr;     // [rows, k]
    const std::int32_t* slots = nullptr;   // [slots, 2]
    std::int32_t* parents = nullptr;       // [slots, beam]
    std::int32_t* tokens = nullptr;        // [slots, beam]
    double* ranked = nullptr;              // [slots, ranks], the log-probabilities
    std::int32_t* ranked_paths = nullptr;  // [slots, ranks, 3]: hypothesis, token, node of the hypothesis
    std::int64_t rows = 0, k = 0, sentences = 0, beam = 1, n_best = 1, enough = 0, considered = 1, length = 0, step = 0;
    std::int64_t forbidden_count = 0, ranks = 1;  // ranks: considered + beam * forbidden_count
    std::int32_t end = 0;
    device::Growth growth;  // of length and step

    const std::int32_t* longest = nullptr;    // [sentences]
    const double* divisors = nullptr;         // [1 + maximum length]
    const std::int32_t* forbidden = nullptr;  // [forbidden_count]
    std::int32_t* open = nullptr;             // [sentences]
    double* log_probability = nullptr;        // [sentences, beam]
    std::int32_t* node = nullptr;             // [sentences, beam]
    std::int32_t* tree = nullptr;             // [steps, sentences, beam, 2]
    std::int32_t* ended = nullptr;            // [sentences]
    std::int32_t* found = nullptr;            // [sentences]
    double* found_numbers = nullptr;          // [sentences, n_best, 2]
    std::int32_t* found_paths = nullptr;      // [sentences, n_best, 2]

    // Moves the numbers to this replay.
    __device__ __forceinline__ void grow() {
        const std::int64_t more = growth.now();
        length += more;
        step += more;
    }

    // From here on this sentence's alone.
    __device__ __forceinline__ void look_at(std::int64_t slot, std::int64_t sentence, std::int64_t first_row) {
        values += first_row * k;
        ids += first_row * k;
        parents += slot * beam;
        tokens += slot * beam;
        ranked += slot * ranks;
        ranked_paths += slot * ranks * 3;
        longest += sentence;
        open += sentence;
        log_probability += sentence * beam;
        node += sentence * beam;
        tree += (step * sentences + sentence) * beam * 2;
        ended += sentence;
        found += sentence;
        found_numbers += sentence * n_best * 2;
        found_paths += sentence * n_best * 2;
    }

    __device__ __forceinline__ double continued(std::int64_t hypothesis, std::int64_t j) const {
        return log_probability[hypothesis] + static_cast<double>(values[hypothesis * k + j]);
    }

    // How many continuations of `hypothesis` stand before one of another hypothesis; those that equal it only when `equal` is
    // set.
    __device__ __forceinline__ std::int64_t before(double log_p, std::int64_t hypothesis, bool equal) const {
        std::int64_t begin = 0, size = k;  // the answer lies in [begin, begin + size]
        while (size > 0) {
            const std::int64_t half = size / 2;
            const double middle = continued(hypothesis, begin + half);
            if (middle > log_p || (equal && middle == log_p)) {
                begin += half + 1;
                size -= half + 1;
            } else {
                size = half;
            }
        }
        return begin;
    }

    // Thread t takes the continuations t, t + threads, ...
    __device__ __forceinline__ void rank() const {
        const std::int64_t hypotheses = *open;
        for (std::int64_t i = thread_in_block(); i < hypotheses * k; i += blockDim.x) {
            const std::int64_t own = i / k;
            std::int64_t place = i % k;
            const double log_p = continued(own, place);
            for (std::int64_t other = 0; other < hypotheses && place < ranks; ++other)
                if (other != own) place += before(log_p, other, other < own);
            if (place >= ranks) continue;
            ranked[place] = log_p;
            ranked_paths[3 * place] = static_cast<std::int32_t>(own);
            ranked_paths[3 * place + 1] = ids[i];
            ranked_paths[3 * place + 2] = node[own];
        }
    }

    // Whether a hypothesis of this log-probability may yet come among the `count` best finished ones.
    __device__ __forceinline__ bool can_beat(std::int64_t count, double log_p) const {
        return *found < count || log_p / divisors[*longest] > found_numbers[2 * (count - 1) + 1];
    }
    __device__ __forceinline__ bool can_win(double log_p) const { return can_beat(n_best, log_p); }

    // The hypothesis that ends in `token` after `last`; -1: in the end mark.
    __device__ __forceinline__ void finish(std::int32_t last, std::int32_t token, double log_p) const {
        const double score = log_p / divisors[length];
        const std::int32_t count = *found;
        std::int32_t place = 0;
        for (; place < count; ++place) {
            const bool other_ended = found_paths[2 * place + 1] < 0;
            if ((token < 0) != other_ended ? token < 0 : score > found_numbers[2 * place + 1]) break;
        }
        if (place == n_best) return;
        const std::int32_t grown = count < n_best ? count + 1 : count;
        *found = grown;
        for (std::int64_t i = 2 * std::int64_t{grown} - 1; i >= 2 * place + 2; --i) {
            found_numbers[i] = found_numbers[i - 2];
            found_paths[i] = found_paths[i - 2];
        }
        found_numbers[2 * place] = log_p;
        found_numbers[2 * place + 1] = score;
        found_paths[2 * place] = last;
        found_paths[2 * place + 1] = token;
    }

    __device__ __forceinline__ bool is_forbidden(std::int32_t token) const {
        for (std::int64_t i = 0; i < forbidden_count; ++i)
            if (forbidden[i] == token) return true;
        return false;
    }

    // By one thread. Those that continue become the first of `ranked`, which has passed them already; how many they are.
    __device__ __forceinline__ std::int32_t walk() const {
        const std::int64_t all = std::int64_t{*open} * k, count = all < ranks ? all : ranks;
        std::int64_t allowed = 0;
        std::int32_t kept = 0;
        for (std::int64_t i = 0; i < count && allowed < considered; ++i) {
            const double log_p = ranked[i];
            const std::int32_t hypothesis = ranked_paths[3 * i], token = ranked_paths[3 * i + 1], last = ranked_paths[3 * i + 2];
            if (is_forbidden(token)) continue;
            const bool in_beam = allowed++ < beam;
            if (token == end) {
                if (in_beam && can_beat(1, log_p)) ++*ended;
                finish(last, -1, log_p);
            } else if (kept < beam && can_win(log_p)) {
                if (length == *longest) {
                    finish(last, token, log_p);
                    continue;
                }
                ranked[kept] = log_p;
                ranked_paths[3 * kept] = hypothesis;
                ranked_paths[3 * kept + 1] = token;
                ranked_paths[3 * kept + 2] = last;
                ++kept;
            }
        }
        while (kept > 0 && !can_win(ranked[kept - 1])) --kept;  // what ended later may have settled it
        if (enough > 0 && *ended >= enough) kept = 0;
        *open = kept;
        return kept;
    }

    // Thread t takes the places t, t + threads, ...
    __device__ __forceinline__ void write(std::int32_t kept, std::int32_t first_row) const {
        for (std::int64_t i = thread_in_block(); i < beam; i += blockDim.x) {
            const bool goes_on = i < kept;
            parents[i] = goes_on ? first_row + ranked_paths[3 * i] : first_row;
            tokens[i] = goes_on ? ranked_paths[3 * i + 1] : end;
            if (!goes_on) continue;
            tree[2 * i] = ranked_paths[3 * i + 1];
            tree[2 * i + 1] = ranked_paths[3 * i + 2];
            log_probability[i] = ranked[i];
            node[i] = static_cast<std::int32_t>(step * beam + i);
        }
    }
};

template <class A>
__global__ void __launch_bounds__(kManyThreads) beam_step_kernel(Search<A> search) {
    std::int32_t* const kept = device::shared<std::int32_t>(1);
    const std::int64_t slot = blockIdx.x;
    const std::int32_t sentence = search.slots[2 * slot], first_row = search.slots[2 * slot + 1];
    device::require(sentence >= 0 && sentence < search.sentences, "beam_step: a slot is of a sentence that does not exist");
    device::require(first_row >= 0 && first_row + search.open[sentence] <= search.rows,
                    "beam_step: a slot's hypotheses leave the continuations");
    search.grow();
    search.look_at(slot, sentence, first_row);
    search.rank();
    __syncthreads();  // thread 0 needs all ranks, and changes what they were computed from
    if (thread_in_block() == 0) *kept = search.walk();
    __syncthreads();  // the others need what continues
    search.write(*kept, first_row);
}

}  // namespace

void beam_step_cuda(Beams& beams, const TopK& top, const Tensor& slots, BeamStep& result) {
    const std::int64_t count = slots.dim(0), beam = beams.options.beam, k = top.values.cols();
    const std::int64_t forbidden = beams.forbidden.numel(), ranks = beams.considered() + beam * forbidden;
    Tensor ranked = Tensor::empty({count, ranks}, DType::f64, Device::cuda);
    Tensor ranked_paths = Tensor::empty({count, ranks, 3}, DType::i32, Device::cuda);
    dispatch_float("beam_step", top.values.dtype(), [&]<class A>(TypeTag<A>) {
        Search<A> search;
        search.values = top.values.data<A>();
        search.ids = top.ids.data<std::int32_t>();
        search.slots = slots.data<std::int32_t>();
        search.parents = result.parents.mutable_data<std::int32_t>();
        search.tokens = result.tokens.mutable_data<std::int32_t>();
        search.ranked = ranked.mutable_data<double>();
        search.ranked_paths = ranked_paths.mutable_data<std::int32_t>();
        search.rows = top.values.rows();
        search.k = k;
        search.sentences = beams.open.numel();
        search.beam = beam;
        search.n_best = beams.options.n_best;
        search.enough = beams.options.enough;
        search.considered = beams.considered();
        search.forbidden_count = forbidden;
        search.ranks = ranks;
        search.length = beams.length() + 1;
        search.step = beams.steps;
        search.end = beams.options.end;
        search.longest = beams.longest.data<std::int32_t>();
        search.divisors = beams.divisors.data<double>();
        search.forbidden = beams.forbidden.data<std::int32_t>();
        search.open = beams.open.mutable_data<std::int32_t>();
        search.log_probability = beams.log_probability.mutable_data<double>();
        search.node = beams.node.mutable_data<std::int32_t>();
        search.tree = beams.tree.mutable_data<std::int32_t>();
        search.growth = beams.growth;
        search.ended = beams.ended.mutable_data<std::int32_t>();
        search.found = beams.found.mutable_data<std::int32_t>();
        search.found_numbers = beams.found_numbers.mutable_data<double>();
        search.found_paths = beams.found_paths.mutable_data<std::int32_t>();
        device::launch({.grid = device::blocks_for(count, 1),
                        .block = beam * k <= kFew ? kFewThreads : kManyThreads,
                        .shared = sizeof(std::int32_t)},
                       beam_step_kernel<A>, search);
    });
}

}  // namespace heddle::kernels
