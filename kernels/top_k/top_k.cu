// The k best of each row on CUDA; top_k.h has the formula.
//
// A block takes a row and reads it once. Each thread keeps the maximum and the sum of exponentials of its columns (the online
// form), and the four best of them in registers, in order. Then k rounds: the threads hold up the best they still have, the best
// of those is the row's next, and its thread strikes it out. A thread whose four are used up looks through its columns again,
// from the caches, for the next four: seldom, for k small against the number of threads, and right for any k.
//
// Memory traffic: s bytes a logit of s bytes, and 8 bytes for each of the k results.
#include "kernels/device/dispatch.h"
#include "kernels/device/exponentials.h"
#include "kernels/device/launch.h"
#include "kernels/device/vector.h"
#include "kernels/top_k/top_k.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kHeld = 4;
constexpr std::int32_t kNone = 0x7fffffff;  // a column after all others

// A logit and its column. Larger ones come first, of equal ones the smaller column.
template <class A>
struct Candidate {
    A x = lowest<A>();
    std::int32_t column = kNone;

    __device__ __forceinline__ bool before(const Candidate& other) const {
        return x > other.x || (x == other.x && column < other.column);
    }
};

template <class A>
__device__ __forceinline__ Candidate<A> warp_first(Candidate<A> own) {
#pragma unroll
    for (int o = kWarp / 2; o > 0; o /= 2) {
        const Candidate<A> other{__shfl_xor_sync(kAllLanes, own.x, o), __shfl_xor_sync(kAllLanes, own.column, o)};
        if (other.before(own)) own = other;
    }
    return own;
}

// The best kHeld of what a thread has seen, in order.
template <class A>
struct Held {
    Candidate<A> best[kHeld];

    __device__ __forceinline__ void offer(Candidate<A> one) {
        if (!one.before(best[kHeld - 1])) return;
#pragma unroll
        for (int i = 0; i < kHeld; ++i)
            if (one.before(best[i])) {
                const Candidate<A> displaced = best[i];
                best[i] = one;
                one = displaced;
            }
    }
    __device__ __forceinline__ void strike_first() {
#pragma unroll
        for (int i = 0; i + 1 < kHeld; ++i) best[i] = best[i + 1];
        best[kHeld - 1] = Candidate<A>();
    }
};

template <class T, int N>
__global__ void __launch_bounds__(kThreads) top_k_kernel(const T* logits,  // [rows, vocabulary]
                                                         std::int64_t vocabulary, std::int64_t k,
                                                         Accumulator<T>* values,  // [rows, k]
                                                         std::int32_t* ids) {     // [rows, k]
    using A = Accumulator<T>;
    SharedArena arena;
    A* scratch = arena.take<A>(kBlockReduce);
    A* round_x = arena.take<A>(kWarps);
    std::int32_t* round_column = arena.take<std::int32_t>(kWarps);
    const std::int64_t row = blockIdx.x, begin = thread_in_block() * N, stride = kThreads * N;
    const T* from = logits + row * vocabulary;
    ExponentialSum<A> own;
    Held<A> held;
    for (std::int64_t column = begin; column < vocabulary; column += stride) {
        const Vector<T, N> elements = load_vector<N>(from + column);
        A x[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = load(elements[i]);
            held.offer({x[i], static_cast<std::int32_t>(column + i)});
        }
        own.add(x);
    }
    const ExponentialSum<A> all = block_exponentials(own, scratch);
    require(all.sum >= 1,
            "top_k: a row of logits holds NaN, infinity or nothing but -infinity; the model that made them is broken");
    const double log_total = logarithm(static_cast<double>(all.sum));
    for (std::int64_t rank = 0; rank < k; ++rank) {
        const Candidate<A> ours = warp_first(held.best[0]);
        if (lane() == 0) {
            round_x[warp()] = ours.x;
            round_column[warp()] = ours.column;
        }
        __syncthreads();  // every warp's best is there
        Candidate<A> first;
        if (lane() < kWarps) first = {round_x[lane()], round_column[lane()]};
        first = warp_first(first);
        if (thread_in_block() == 0) {
            values[row * k + rank] = static_cast<A>(static_cast<double>(first.x) - static_cast<double>(all.largest) - log_total);
            ids[row * k + rank] = first.column;
        }
        if (held.best[0].column == first.column) {  // k is at most the vocabulary: kNone is never the best
            held.strike_first();
            if (held.best[0].column == kNone)
                for (std::int64_t column = begin; column < vocabulary; column += stride)
                    for (int i = 0; i < N; ++i) {
                        const Candidate<A> again{load(from[column + i]), static_cast<std::int32_t>(column + i)};
                        if (first.before(again)) held.offer(again);
                    }
        }
        __syncthreads();  // everybody has read the round's bests
    }
}

}  // namespace

void top_k_cuda(const Tensor& logits, std::int64_t k, TopK& result) {
    const std::int64_t rows = logits.rows(), vocabulary = logits.cols();
    dispatch("top_k", logits.dtype(), [&]<class T>(TypeTag<T>) {
        using A = Accumulator<T>;
        constexpr int N = kVector<T>;
        auto* const kernel = vectors_fit(logits.data<T>(), vocabulary, N) ? top_k_kernel<T, N> : top_k_kernel<T, 1>;
        const SharedSize shared = SharedSize().take<A>(kBlockReduce).template take<A>(kWarps).template take<std::int32_t>(kWarps);
        launch({.grid = blocks_for(rows, 1), .block = kThreads, .shared = shared.bytes()}, kernel, logits.data<T>(), vocabulary,
               k, result.values.mutable_data<A>(), result.ids.mutable_data<std::int32_t>());
    });
}

}  // namespace heddle::kernels
