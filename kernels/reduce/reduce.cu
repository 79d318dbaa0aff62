// Sums and maxima over an axis on CUDA; reduce.h has the formulas. x is [outer, n, inner], y is [outer, inner].
//
// Two layouts, by what neighbours in memory belong to:
//
// - rows, inner = 1: the elements of one sum are neighbours. A warp takes a row, or a block when the row is long. Its threads
//   read 16 bytes each, add up what they read, and meet at the end.
// - columns, inner > 1: the elements of neighbouring sums are neighbours. A lane takes N sums and walks down; the eight warps of
//   a block take every eighth element of the axis and meet in shared memory.
//
// Where that gives too few blocks to fill the chip (few sums of many elements; the sum of everything is one), or lets a thread
// add too many numbers, the axis is cut into chunks whose results [outer, chunks, inner] are reduced by a second launch. The
// number of chunks depends on the shape alone, and each partial result is added in a fixed order: the same bits at each run,
// without atomics.
//
// Sums are kept in f32 for f32 and bf16, where the CPU has f64: in a chunk no thread adds more than about 256 numbers one after
// the other, so the rounding stays near that of a few additions. Of the chunks' sums it adds as few, up to an axis of 10^9
// elements in rows and 5 10^6 in columns.
//
// Memory traffic: x is read once. The partial results are a thousandth of it where chunks are long, and up to a fiftieth (of
// bf16 a twenty-fifth) for columns of few elements.
#include <algorithm>

#include "kernels/device/dispatch.h"
#include "kernels/device/division.h"
#include "kernels/device/shared.h"
#include "kernels/device/sweep.h"
#include "kernels/reduce/reduce.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kBlock = 256, kWarps = kBlock / kWarp;

// ---- what is kept on the way: of a sum, and of a maximum

template <class A>
struct SumSoFar {
    A total = 0;

    __device__ __forceinline__ void take(A value, std::int32_t) { total += value; }
    __device__ __forceinline__ void join(const SumSoFar& other) { total += other.total; }
    __device__ __forceinline__ void write(SumSoFar* slot) const { slot->total = total; }
    __device__ __forceinline__ SumSoFar across(int bits) const { return {__shfl_xor_sync(kAllLanes, total, bits)}; }
};

// Of a minimum the numbers are taken with their signs turned.
template <class A>
struct MaximumSoFar {
    A value = lowest<A>();
    std::int32_t place = 0x7fffffff;

    // The larger value, NaN being the largest; of equal ones the first place, in whatever order they come.
    __device__ __forceinline__ void take(A other, std::int32_t other_place) {
        const bool is_nan = other != other, was_nan = value != value;
        const bool equal = other == value || (is_nan && was_nan);
        if (equal ? other_place < place : other > value || (is_nan && !was_nan)) {
            value = other;
            place = other_place;
        }
    }
    __device__ __forceinline__ void join(const MaximumSoFar& other) { take(other.value, other.place); }
    __device__ __forceinline__ void write(MaximumSoFar* slot) const {
        slot->value = value;
        slot->place = place;
    }
    __device__ __forceinline__ MaximumSoFar across(int bits) const {
        return {__shfl_xor_sync(kAllLanes, value, bits), __shfl_xor_sync(kAllLanes, place, bits)};
    }
};

// ---- what a launch reads and writes

template <class In, class Out>
struct Arrays {
    const In* x;                 // [outer, n, inner]
    const std::int32_t* places;  // of x's elements on the whole axis, [outer, n, inner]; null: k itself
    Out* y;                      // [outer, chunks, inner]
    std::int32_t* indices;       // of a maximum, [outer, chunks, inner]
    std::int64_t outer, n, inner;
    std::int64_t chunks, length;  // the axis is cut into `chunks` of `length` elements; the last may be shorter
    Accumulator<Out> factor;      // of a sum; -1 for a minimum

    __device__ __forceinline__ std::int32_t place(std::int64_t at, std::int64_t k) const {
        return places == nullptr ? static_cast<std::int32_t>(k) : places[at];
    }
    template <class A>
    __device__ __forceinline__ A turned(A value, const SumSoFar<A>&) const {
        return value;
    }
    template <class A>
    __device__ __forceinline__ A turned(A value, const MaximumSoFar<A>&) const {
        return factor < 0 ? -value : value;
    }
    template <class A>
    __device__ __forceinline__ void finish(std::int64_t at, const SumSoFar<A>& result) const {
        y[at] = store<Out>(result.total * factor);
    }
    template <class A>
    __device__ __forceinline__ void finish(std::int64_t at, const MaximumSoFar<A>& result) const {
        y[at] = store<Out>(turned(result.value, result));
        indices[at] = result.place;
    }
};

// ---- the layouts

// A team is a warp (`wide` false) or a block, and takes one chunk of one row. N accumulators a thread: additions need not wait
// for each other.
template <class So, class In, class Out, int N>
__global__ void __launch_bounds__(kBlock) reduce_rows_kernel(Arrays<In, Out> a, bool wide) {
    const std::int64_t team = wide ? std::int64_t{blockIdx.x} : std::int64_t{blockIdx.x} * kWarps + warp();
    if (team >= a.outer * a.chunks) return;  // a whole warp, and never where a block is one team
    const int threads = wide ? kBlock : kWarp, member = wide ? thread_in_block() : lane();
    const std::int64_t row = team / a.chunks, begin = team % a.chunks * a.length;
    const std::int64_t end = begin + a.length < a.n ? begin + a.length : a.n;
    So so_far[N];
#pragma unroll 4
    for (std::int64_t k = begin + std::int64_t{member} * N; k < end; k += std::int64_t{threads} * N) {
        const std::int64_t at = row * a.n + k;
        const Vector<In, N> values = load_vector<N>(a.x + at);
#pragma unroll
        for (int j = 0; j < N; ++j) so_far[j].take(a.turned(load(values[j]), so_far[j]), a.place(at + j, k + j));
    }
#pragma unroll
    for (int j = 1; j < N; ++j) so_far[0].join(so_far[j]);
#pragma unroll
    for (int bits = kWarp / 2; bits > 0; bits /= 2) so_far[0].join(so_far[0].across(bits));
    if (wide) {
        So* slots = shared<So>(kWarps);
        if (lane() == 0) so_far[0].write(slots + warp());
        __syncthreads();  // all warps' results are there
        if (thread_in_block() == 0)
            for (int w = 1; w < kWarps; ++w) so_far[0].join(slots[w]);
    }
    if (member == 0) a.finish(team, so_far[0]);
}

// A block takes one chunk of 32 N neighbouring results; its warp w the elements w, w + 8, .. of the chunk.
template <class So, class In, class Out, int N>
__global__ void __launch_bounds__(kBlock) reduce_columns_kernel(Arrays<In, Out> a) {
    const auto chunks = static_cast<unsigned>(a.chunks);  // n / 2048, or some thousand
    const std::int64_t tile = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const std::int64_t first = (tile * kWarp + lane()) * N;
    const bool inside = first < a.outer * a.inner;
    const std::int64_t row = first / a.inner, column = first - row * a.inner;
    const std::int64_t begin = chunk * a.length, end = begin + a.length < a.n ? begin + a.length : a.n;
    So so_far[N];
#pragma unroll 2
    for (std::int64_t k = begin + warp(); inside && k < end; k += kWarps) {
        const std::int64_t at = (row * a.n + k) * a.inner + column;
        const Vector<In, N> values = load_vector<N>(a.x + at);
#pragma unroll
        for (int j = 0; j < N; ++j) so_far[j].take(a.turned(load(values[j]), so_far[j]), a.place(at + j, k));
    }
    So* slots = shared<So>(kWarps * kWarp * N);  // [warp, j, lane]: neighbouring lanes, neighbouring banks
#pragma unroll
    for (int j = 0; j < N; ++j) so_far[j].write(slots + (warp() * N + j) * kWarp + lane());
    __syncthreads();  // all warps' results are there
    if (warp() != 0 || !inside) return;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        for (int w = 1; w < kWarps; ++w) so_far[j].join(slots[(w * N + j) * kWarp + lane()]);
        a.finish((row * a.chunks + chunk) * a.inner + column + j, so_far[j]);
    }
}

// dx [outer, n, inner]; dy, indices [outer, inner]. A thread takes N neighbours of dx: of one line of the axis when inner is 1,
// else of neighbouring lines.
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) spread_kernel(const T* dy, const std::int32_t* indices, Accumulator<T> factor,
                                                             T* dx, std::int64_t outer, Divisor n, Divisor inner) {
    const std::int64_t first = (std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x) * N;
    if (first >= outer * n.number * inner.number) return;
    const std::int64_t row = first / inner, block = row / n, k = row - block * n.number;
    const std::int64_t line = block * inner.number + (first - row * inner.number);
    const int step = inner.number == 1 ? 0 : 1;  // from one of the N to the next, along the lines
    Vector<T, N> gradient;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        const bool chosen = indices == nullptr || indices[line + j * step] == k + j * (1 - step);
        gradient[j] = chosen ? store<T>(factor * load(dy[line + j * step])) : store<T>(0);
    }
    store_vector(dx + first, gradient);
}

// ---- the choice

struct Cut {
    std::int64_t chunks, length;
};

// Chunks for about a thousand blocks, which fill any chip, but not of so few elements that the second launch costs more than it
// saves, nor of so many that a thread adds more than 256 numbers in one chain. They begin at whole vectors.
Cut cut_of(const MiddleAxis& axis, int vector) {
    const std::int64_t least = axis.inner == 1 ? 4096 : 64;
    const std::int64_t blocks = axis.inner == 1 ? axis.outer : (axis.outer * axis.inner - 1) / (kWarp * vector) + 1;
    const std::int64_t most = 256 * (axis.inner == 1 ? kBlock : kWarps);
    std::int64_t wanted = (axis.n - 1) / most + 1;
    if (axis.n > least && blocks <= 512)
        wanted = std::max(wanted, std::min((axis.n - 1) / least + 1, 1024 / std::max<std::int64_t>(blocks, 1)));
    if (wanted <= 1) return {1, axis.n};
    const std::int64_t length = ((axis.n - 1) / wanted / 16 + 1) * 16;
    return {(axis.n - 1) / length + 1, length};
}

template <class So, class In, class Out, int N>
void launch_layout(const Arrays<In, Out>& a) {
    if (a.inner == 1) {
        const bool wide = a.length > 1024;
        launch({.grid = blocks_for(a.outer * a.chunks, wide ? 1 : kWarps),
                .block = kBlock,
                .shared = SharedSize().take<So>(kWarps).bytes()},
               reduce_rows_kernel<So, In, Out, N>, a, wide);
    } else {
        const std::int64_t tiles = (a.outer * a.inner + kWarp * N - 1) / (kWarp * N);
        launch({.grid = blocks_for(tiles * a.chunks, 1),
                .block = kBlock,
                .shared = SharedSize().take<So>(kWarps * kWarp * N).bytes()},
               reduce_columns_kernel<So, In, Out, N>, a);
    }
}

template <class So, class In, class Out>
void launch_widest(const Arrays<In, Out>& a) {
    if (vectors_fit(a.x, a.inner == 1 ? a.n : a.inner, kVector<In>))
        launch_layout<So, In, Out, kVector<In>>(a);
    else
        launch_layout<So, In, Out, 1>(a);
}

Tensor partial_results(const MiddleAxis& axis, const Cut& cut, DType dtype) {
    return Tensor::empty({axis.outer, cut.chunks, axis.inner}, dtype, Device::cuda);
}

}  // namespace

void sum_cuda(const Tensor& x, const MiddleAxis& axis, double factor, Tensor& y) {
    const auto [outer, n, inner] = axis;
    dispatch("sum", x.dtype(), [&]<class T>(TypeTag<T>) {
        using A = Accumulator<T>;
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        const Cut cut = cut_of(axis, kVector<T>);
        if (cut.chunks == 1)
            return launch_widest<SumSoFar<A>>(
                Arrays<T, T>{from, nullptr, to, nullptr, outer, n, inner, 1, n, static_cast<A>(factor)});
        Tensor partial = partial_results(axis, cut, dtype_of<A>());
        A* sums = partial.mutable_data<A>();
        launch_widest<SumSoFar<A>>(Arrays<T, A>{from, nullptr, sums, nullptr, outer, n, inner, cut.chunks, cut.length, A{1}});
        // The sums of the chunks are few: one at a time.
        launch_layout<SumSoFar<A>, A, T, 1>(
            {sums, nullptr, to, nullptr, outer, cut.chunks, inner, 1, cut.chunks, static_cast<A>(factor)});
    });
}

void extremum_cuda(const Tensor& x, const MiddleAxis& axis, bool smallest, Tensor& y, Tensor& indices) {
    const auto [outer, n, inner] = axis;
    dispatch(smallest ? "min" : "max", x.dtype(), [&]<class T>(TypeTag<T>) {
        using A = Accumulator<T>;
        using So = MaximumSoFar<A>;
        const A sign = smallest ? A{-1} : A{1};
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        auto* at = indices.mutable_data<std::int32_t>();
        const Cut cut = cut_of(axis, kVector<T>);
        if (cut.chunks == 1) return launch_widest<So>(Arrays<T, T>{from, nullptr, to, at, outer, n, inner, 1, n, sign});
        Tensor partial = partial_results(axis, cut, x.dtype()), partial_indices = partial_results(axis, cut, DType::i32);
        T* maxima = partial.mutable_data<T>();
        auto* places = partial_indices.mutable_data<std::int32_t>();
        launch_widest<So>(Arrays<T, T>{from, nullptr, maxima, places, outer, n, inner, cut.chunks, cut.length, sign});
        launch_layout<So, T, T, 1>({maxima, places, to, at, outer, cut.chunks, inner, 1, cut.chunks, sign});
    });
}

void spread_cuda(const Tensor& dy, const Tensor& indices, double factor, const MiddleAxis& axis, Tensor& dx) {
    const auto [outer, n, inner] = axis;
    dispatch("reduce_backward", dy.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = dy.data<T>();
        const auto* at = indices.defined() ? indices.data<std::int32_t>() : nullptr;
        T* to = dx.mutable_data<T>();
        constexpr int N = kVector<T>;
        const bool fits = vectors_fit(to, inner == 1 ? n : inner, N);
        launch(sweep_config(dx.numel(), fits ? N : 1), fits ? spread_kernel<T, N> : spread_kernel<T, 1>, from, at,
               static_cast<Accumulator<T>>(factor), to, outer, n, inner);
    });
}

}  // namespace heddle::kernels
