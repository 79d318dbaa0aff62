// Rows by number on CUDA; gather.h has the formulas.
//
// Forward: a thread moves up to 16 bytes of a row, of whatever type the elements are. Traffic: n rows read, n rows written.
//
// Backward: the rows of dy that go to one row of dx are listed by a sort (gather_sort.cu), ascending, so they are added in an
// order that no run changes. A warp takes one place of the sorted list and 32 N columns. Only where a new index begins it works:
// it adds up all rows of that index. Words like "the" come a thousand times in a batch, though, and their warp would still be
// adding when all others have ended; so an index with more than 64 rows is taken by the whole block: each of the eight warps adds
// every eighth row, and the eight sums meet in shared memory, in the order of the warps. Traffic: n rows of dy read, each row of
// dx that is named read and written once. The embedding's table has the same sum, with dropout on the way.
#include "kernels/device/dispatch.h"
#include "kernels/device/division.h"
#include "kernels/device/random.h"
#include "kernels/device/shared.h"
#include "kernels/device/sweep.h"
#include "kernels/gather/gather_cuda.h"

namespace heddle::kernels {
namespace {

using namespace device;

// x [rows, run] and y [n / run, run], in pieces of B bytes.
template <int B>
__global__ void __launch_bounds__(kSweepBlock)
    gather_forward_kernel(const std::uint8_t* x, std::int64_t rows, const std::int32_t* indices, std::uint8_t* y, Divisor run,
                          std::int64_t n) {
    const std::int64_t thread = std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x;
    if (thread >= n) return;
    const std::int64_t place = thread / run, column = thread - place * run.number;
    const std::int32_t index = indices[place];
    require(index >= 0 && index < rows, "gather: an index lies outside x");
    store_vector(y + thread * B, load_vector<B>(x + (index * run.number + column) * B));
}

constexpr int kWarps = 8;
constexpr int kShort = 64;  // rows that a warp adds alone

// Of N neighbours in dx, as many as 16 bytes hold.
template <class G, int N>
constexpr int kTargets = N < kVector<G> ? N : kVector<G>;

// dx [bound, cols] gets the sums of dy's rows. G is T, or f32 beside bf16.
template <class T, class G>
struct RowSums {
    const T* dy;                  // [n, cols]
    const std::int32_t* indices;  // [n], ascending
    const std::int32_t* places;   // [n]: the rows of dy
    G* dx;                        // [bound, cols]
    std::int64_t n, cols;
    std::int32_t bound;
    Accumulator<T> factor;
    DropoutRule dropout;

    // Whether it names a row of dx: at the end of the list stand those that do not.
    __device__ __forceinline__ bool names_row(std::int32_t index) const {
        return static_cast<unsigned>(index) < static_cast<unsigned>(bound);
    }
    // Whether an index begins at p, and has more than kShort rows.
    __device__ __forceinline__ bool begins(std::int64_t p) const { return p == 0 || indices[p - 1] != indices[p]; }
    __device__ __forceinline__ bool is_long(std::int64_t p) const { return p + kShort < n && indices[p + kShort] == indices[p]; }

    // N columns of the rows begin, begin + step, .. before `end`.
    template <int N>
    __device__ __forceinline__ void add_rows(Accumulator<T> (&total)[N], std::int64_t begin, std::int64_t end, int step,
                                             std::int64_t column) const {
        using A = Accumulator<T>;
        const auto scale = static_cast<A>(dropout.scale);
#pragma unroll 4
        for (std::int64_t p = begin; p < end; p += step) {
            const std::int64_t place = places[p];
            const Vector<T, N> row = load_vector<N>(dy + place * cols + column);
            if (!dropout.active()) {
#pragma unroll
                for (int j = 0; j < N; ++j) total[j] += load(row[j]);
                continue;
            }
            const unsigned kept = kept_in_row(dropout, place, column / 8) >> (column % 8);  // N divides 8
#pragma unroll
            for (int j = 0; j < N; ++j) total[j] += load(row[j]) * (kept >> j & 1 ? scale : A{0});
        }
    }
    template <int N>
    __device__ __forceinline__ void finish(const Accumulator<T> (&total)[N], std::int32_t index, std::int64_t column) const {
        constexpr int M = kTargets<G, N>;
        G* to = dx + index * cols + column;
#pragma unroll
        for (int first = 0; first < N; first += M) {
            Vector<G, M> values = load_vector<M>(to + first);
#pragma unroll
            for (int j = 0; j < M; ++j) values[j] = store<G>(load(values[j]) + factor * total[first + j]);
            store_vector(to + first, values);
        }
    }
};

template <class T, class G, int N>
__global__ void __launch_bounds__(kWarps* kWarp) gather_sum_kernel(RowSums<T, G> a, unsigned tiles) {
    using A = Accumulator<T>;
    const std::int64_t first = std::int64_t{blockIdx.x / tiles} * kWarps;
    const std::int64_t column = (std::int64_t{blockIdx.x % tiles} * kWarp + lane()) * N;

    const std::int64_t mine = first + warp();
    if (mine < a.n && a.names_row(a.indices[mine]) && a.begins(mine) && !a.is_long(mine)) {
        const std::int32_t index = a.indices[mine];
        int rows = 0;
        for (int part = 0; part < kShort; part += kWarp) {
            const std::int64_t p = mine + part + lane();
            rows += __popc(__ballot_sync(kAllLanes, p < a.n && a.indices[p] == index));
        }
        if (column < a.cols) {
            A total[N] = {};
            a.template add_rows<N>(total, mine, mine + rows, 1, column);
            a.template finish<N>(total, index, column);
        }
    }

    // A long index that begins at one of the block's eight places still stands at the last of them. All threads come to one
    // answer.
    const std::int64_t last = first + kWarps - 1;
    if (last >= a.n) return;
    const std::int32_t index = a.indices[last];
    std::int64_t begin = last;
    while (begin > first && a.indices[begin - 1] == index) --begin;
    if (!a.names_row(index) || !a.begins(begin) || !a.is_long(begin)) return;
    std::int64_t end = begin + kShort + 1, beyond = a.n;  // the first place of another index lies in [end, beyond]
    while (end < beyond) {
        const std::int64_t middle = (end + beyond) / 2;
        if (a.indices[middle] == index)
            end = middle + 1;
        else
            beyond = middle;
    }
    A total[N] = {};
    if (column < a.cols) a.template add_rows<N>(total, begin + warp(), end, kWarps, column);
    A* sums = shared<A>(kWarps * N * kWarp);  // [warp, j, lane]: neighbouring lanes, neighbouring banks
#pragma unroll
    for (int j = 0; j < N; ++j) sums[(warp() * N + j) * kWarp + lane()] = total[j];
    __syncthreads();  // all warps' sums are there
    if (warp() != 0 || column >= a.cols) return;
#pragma unroll
    for (int j = 0; j < N; ++j)
        for (int w = 1; w < kWarps; ++w) total[j] += sums[(w * N + j) * kWarp + lane()];
    a.template finish<N>(total, index, column);
}

template <class T, class G>
void sum_rows(const RowSums<T, G>& a) {
    const auto start = [&]<int N>(Width<N>) {
        const unsigned tiles = blocks_for(a.cols, kWarp * N);
        launch({.grid = blocks_for((a.n + kWarps - 1) / kWarps * tiles, 1),
                .block = kWarps * kWarp,
                .shared = SharedSize().take<Accumulator<T>>(kWarps * N * kWarp).bytes()},
               gather_sum_kernel<T, G, N>, a, tiles);
    };
    constexpr int N = kVector<T>;
    if (vectors_fit(a.dy, a.cols, N) && vectors_fit(a.dx, a.cols, kTargets<G, N>))
        start(Width<N>());
    else
        start(Width<1>());
}

}  // namespace

void gather_forward_cuda(const Tensor& x, const Tensor& indices, const Tensor& y) {
    const std::int64_t rows = x.dim(0), n = indices.numel();
    if (y.numel() == 0 && rows > 0) return;
    const std::int64_t run = y.bytes() / std::max<std::int64_t>(n, 1);
    with_bytes({address(x.bytes_data()), address(y.bytes_data()), static_cast<std::uint64_t>(run)}, [&]<int B>(Width<B>) {
        const std::int64_t pieces = n * (run / B);
        launch(sweep_config(pieces, 1), gather_forward_kernel<B>, reinterpret_cast<const std::uint8_t*>(x.bytes_data()), rows,
               indices.data<std::int32_t>(), reinterpret_cast<std::uint8_t*>(y.bytes_data()), run / B, pieces);
    });
}

void gather_sum_cuda(const Tensor& dy, const SortedPlaces& sorted, const Tensor& dx, double factor, const Dropout& dropout) {
    if (dy.numel() == 0) return;
    dispatch("gather_backward", dy.dtype(), [&]<class T>(TypeTag<T>) {
        const std::int64_t n = sorted.indices.numel();
        const auto sum_to = [&]<class G>(TypeTag<G>) {
            sum_rows(RowSums<T, G>{.dy = dy.data<T>(),
                                   .indices = sorted.indices.data<std::int32_t>(),
                                   .places = sorted.places.data<std::int32_t>(),
                                   .dx = dx.data<G>(),
                                   .n = n,
                                   .cols = dy.numel() / n,
                                   .bound = static_cast<std::int32_t>(dx.dim(0)),
                                   .factor = static_cast<Accumulator<T>>(factor),
                                   .dropout = DropoutRule(dropout)});
        };
        if (dx.dtype() == dy.dtype())
            sum_to(TypeTag<T>{});
        else
            sum_to(TypeTag<Accumulator<T>>{});
    });
}

void gather_backward_cuda(const Tensor& dy, const Tensor& indices, const Tensor& dx, double factor) {
    if (dy.numel() == 0) return;
    gather_sum_cuda(dy, sorted_places_cuda(indices, dx.dim(0)), dx, factor, {});
}

}  // namespace heddle::kernels
