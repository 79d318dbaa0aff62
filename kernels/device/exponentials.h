// The sum of exponentials of a row in one pass, for softmax, its logarithm and the losses.
//
// sum e^(x - m) needs the row's maximum m first. The online form (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018) keeps the sum for the largest number so far and scales it by e^(old - new) when a larger one comes.
#pragma once

#include "kernels/device/reduce.h"
#include "kernels/device/vector.h"

namespace heddle::device {

/// The largest of the numbers seen and the sum of e^(x - largest) over them. NaN and +inf make the sum NaN; -inf adds nothing.
template <class A>
struct ExponentialSum {
    A largest = lowest<A>();
    A sum = 0;

    /// Subtracted from every number before its exponential: the largest, or 0 if there is nothing but -inf, so that e^-inf is
    /// 0 instead of NaN.
    __device__ __forceinline__ A shift() const { return largest == lowest<A>() ? A{0} : largest; }
    /// Takes N more numbers in.
    template <int N>
    __device__ __forceinline__ void add(const A (&x)[N]) {
        A most = largest;
#pragma unroll
        for (int i = 0; i < N; ++i) most = larger(most, x[i]);
        if (most == lowest<A>()) return;
        sum *= exponential(largest - most);
#pragma unroll
        for (int i = 0; i < N; ++i) sum += exponential(x[i] - most);
        largest = most;
    }
};

/// Over all threads of the block; every thread gets it. As block_reduce: scratch [kBlockReduce], every thread must call it.
template <class A>
__device__ __forceinline__ ExponentialSum<A> block_exponentials(const ExponentialSum<A>& own, A* scratch) {
    ExponentialSum<A> all;
    all.largest = block_max(own.largest, scratch);
    all.sum = block_sum(own.sum * exponential(own.largest - all.shift()), scratch);
    return all;
}

/// The sums of a whole row [count], read once in vectors of N by the block's threads; as block_exponentials.
template <int N, class T>
__device__ __forceinline__ ExponentialSum<Accumulator<T>> row_exponentials(const T* row, std::int64_t count,
                                                                           Accumulator<T>* scratch) {
    ExponentialSum<Accumulator<T>> own;
    for (std::int64_t column = thread_in_block() * N; column < count; column += std::int64_t{blockDim.x} * N) {
        const Vector<T, N> elements = load_vector<N>(row + column);
        Accumulator<T> x[N];
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = load(elements[i]);
        own.add(x);
    }
    return block_exponentials(own, scratch);
}

}  // namespace heddle::device
