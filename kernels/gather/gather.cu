// Rows by number on CUDA; gather.h has the formulas.
//
// Forward: a thread moves up to 16 bytes of a row, of whatever type the elements are. Traffic: n rows read, n rows written.
//
// Backward: the rows of dy that go to one row of dx are listed by a sort (gather_sort.cu), ascending, so they are added in an
// order that no run changes. A warp takes one place of the sorted list and 32 N columns. Only where a new index begins it works:
// it adds up all rows of that index. Words like "the" come a thousand times in a batch, though, and their warp would still be
// adding when all others have ended. So the number of an index's rows decides who adds them:
//
//     up to 64       the warp
//     up to 512      the block: each of the eight warps adds every eighth row, and the eight sums meet in shared memory, in the
//                    order of the warps
//     more           a block for each piece: the list is cut wherever a place is a multiple of 512. Each piece's sum goes to
//                    memory; the block that finishes last adds the pieces up, in their order, its warps every eighth piece
//
// Traffic: n rows of dy read, each row of dx that is named read and written once; and for every 512 rows of one index a row of
// sums written and read. The embedding's table has the same sum, with dropout on the way.
#include "kernels/device/dispatch.h"
#include "kernels/device/division.h"
#include "kernels/device/fence.h"
#include "kernels/device/random.h"
#include "kernels/device/shared.h"
#include "kernels/device/sweep.h"
#include "kernels/device/tickets.h"
#include "kernels/gather/gather.h"

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
constexpr int kShort = 64;   // rows that a warp adds alone
constexpr int kPiece = 512;  // rows that a block adds alone; a multiple of kWarps

// Rows [begin, end) of the sorted list, of the index that has the rows [first, last): what a block adds up.
struct Piece {
    std::int64_t first = 0, last = 0;
    std::int64_t begin = 0, end = 0;

    __device__ __forceinline__ bool whole() const { return last - first <= kPiece; }
    // Pieces are counted from the list's start: multiples of kPiece that lie behind `first` and before `last` cut the rows.
    __device__ __forceinline__ std::int64_t pieces() const { return (last - 1) / kPiece - first / kPiece + 1; }
    __device__ __forceinline__ std::int64_t number() const { return begin / kPiece - first / kPiece; }
    // Start of the sums of the index's pieces among those of all indices. No other index is cut at the multiples q, q + 1, ...
    // of kPiece that cut this one, so the slots 2 q, 2 q + 1, ... are its own, at least as many as its pieces.
    __device__ __forceinline__ std::int64_t slot() const { return 2 * (first / kPiece + 1); }
};

// The part of N neighbours in dx that fits into 16 bytes.
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
    std::int32_t bound, skipped;
    Accumulator<T> factor;
    DropoutRule dropout;
    Accumulator<T>* pieces;  // [2 (n / kPiece + 1), cols]: the sums of pieces
    unsigned* tickets;       // [n / kPiece + 1, tiles of columns]

    // Whether it names a row of dx that gets a sum: at the end of the list stand those that name none.
    __device__ __forceinline__ bool names_row(std::int32_t index) const {
        return static_cast<unsigned>(index) < static_cast<unsigned>(bound) && index != skipped;
    }
    // Whether an index begins at p, and has more than kShort rows.
    __device__ __forceinline__ bool begins(std::int64_t p) const { return p == 0 || indices[p - 1] != indices[p]; }
    __device__ __forceinline__ bool is_long(std::int64_t p) const { return p + kShort < n && indices[p + kShort] == indices[p]; }
    // The end of p's index: a place in [from, to].
    __device__ __forceinline__ std::int64_t end_of(std::int64_t p, std::int64_t from, std::int64_t to) const {
        const std::int32_t index = indices[p];
        while (from < to) {
            const std::int64_t middle = (from + to) / 2;
            if (indices[middle] == index)
                from = middle + 1;
            else
                to = middle;
        }
        return to;
    }
    // The first place that has p's index.
    __device__ __forceinline__ std::int64_t begin_of(std::int64_t p) const {
        const std::int32_t index = indices[p];
        std::int64_t from = 0, to = p;
        while (from < to) {
            const std::int64_t middle = (from + to) / 2;
            if (indices[middle] == index)
                to = middle;
            else
                from = middle + 1;
        }
        return to;
    }

    // The piece that continues, at a multiple of kPiece, an index that began before; empty when there is none.
    __device__ __forceinline__ Piece continued(std::int64_t place) const {
        if (place == 0 || place % kPiece != 0 || !names_row(indices[place]) || begins(place)) return {};
        const std::int64_t first = begin_of(place), last = end_of(place, place + 1, n);
        if (last - first <= kPiece) return {};
        return {first, last, place, min(last, place + kPiece)};
    }
    // The first piece of a long index that begins at one of the kWarps places from `place` on: it has more than kShort rows, so
    // the last of these places has it, too. Empty when there is none.
    __device__ __forceinline__ Piece begun(std::int64_t place) const {
        std::int64_t first = place + kWarps - 1;
        if (first >= n || !names_row(indices[first])) return {};
        while (first > place && !begins(first)) --first;
        if (!begins(first) || !is_long(first)) return {};
        const std::int64_t last = end_of(first, first + kShort + 1, n);
        return {first, last, first, last - first <= kPiece ? last : (first / kPiece + 1) * kPiece};
    }

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

// Warp 0 gets the sums of all warps, added in their order. `sums` [kWarps, N, 32]: neighbouring lanes, neighbouring banks.
template <int N, class A>
__device__ __forceinline__ void add_warps(A (&total)[N], A* sums) {
#pragma unroll
    for (int j = 0; j < N; ++j) sums[(warp() * N + j) * kWarp + lane()] = total[j];
    __syncthreads();  // all warps' sums are there
    if (warp() != 0) return;
#pragma unroll
    for (int j = 0; j < N; ++j)
        for (int w = 1; w < kWarps; ++w) total[j] += sums[(w * N + j) * kWarp + lane()];
}

template <class T, class G, int N>
__global__ void __launch_bounds__(kWarps* kWarp, 4) gather_sum_kernel(RowSums<T, G> a, unsigned tiles) {
    using A = Accumulator<T>;
    const std::int64_t first = std::int64_t{blockIdx.x / tiles} * kWarps;
    const unsigned tile = blockIdx.x % tiles;
    const std::int64_t column = (std::int64_t{tile} * kWarp + lane()) * N;

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

    SharedArena arena;
    A* const sums = arena.take<A>(kWarps * N * kWarp);
    int* const flag = arena.take<int>(1);
    // A block may have the last piece of one index and the first of the next. All threads come to one answer.
#pragma unroll 1
    for (int turn = 0; turn < 2; ++turn) {
        const Piece piece = turn == 0 ? a.continued(first) : a.begun(first);
        if (piece.begin == piece.end) continue;
        A total[N] = {};
        if (column < a.cols) a.template add_rows<N>(total, piece.begin + warp(), piece.end, kWarps, column);
        add_warps(total, sums);
        if (!piece.whole()) {
            A* const parts = a.pieces + piece.slot() * a.cols + column;  // [pieces, cols]
            const std::int64_t count = piece.pieces();
            if (warp() == 0 && column < a.cols) {
#pragma unroll
                for (int j = 0; j < N; ++j) parts[piece.number() * a.cols + j] = total[j];
            }
            unsigned* const ticket = a.tickets + piece.slot() / 2 * tiles + tile;
            if (!last_block(ticket, static_cast<unsigned>(count), flag)) continue;
#pragma unroll
            for (int j = 0; j < N; ++j) total[j] = 0;
            if (column < a.cols)
                for (std::int64_t p = warp(); p < count; p += kWarps)
#pragma unroll
                    for (int j = 0; j < N; ++j) total[j] += parts[p * a.cols + j];
            add_warps(total, sums);
            __syncthreads();  // warp 0 has read the sums: the next piece's may overwrite them
        }
        if (warp() == 0 && column < a.cols) a.template finish<N>(total, a.indices[piece.begin], column);
    }
}

template <class T, class G>
void sum_rows(RowSums<T, G> a) {
    const auto start = [&]<int N>(Width<N>) {
        const unsigned tiles = blocks_for(a.cols, kWarp * N);
        if (a.n > kPiece) a.tickets = tickets((a.n / kPiece + 1) * tiles);
        launch({.grid = blocks_for((a.n + kWarps - 1) / kWarps * tiles, 1),
                .block = kWarps * kWarp,
                .shared = SharedSize().take<Accumulator<T>>(kWarps * N * kWarp).template take<int>(1).bytes()},
               gather_sum_kernel<T, G, N>, a, tiles);
    };
    constexpr int N = kVector<T>;
    if (vectors_fit(a.dy, a.cols, N) && vectors_fit(a.dx, a.cols, kTargets<G, N>))
        start(Width<N>());
    else
        start(Width<1>());
}

}  // namespace

void gather_forward_cuda(const Tensor& x, const Tensor& indices, Tensor& y) {
    const std::int64_t rows = x.dim(0), n = indices.numel();
    if (y.numel() == 0 && rows > 0) return;
    const std::int64_t run = y.bytes() / std::max<std::int64_t>(n, 1);
    with_bytes({address(x.bytes_data()), address(y.bytes_data()), static_cast<std::uint64_t>(run)}, [&]<int B>(Width<B>) {
        const std::int64_t pieces = n * (run / B);
        launch(sweep_config(pieces, 1), gather_forward_kernel<B>, reinterpret_cast<const std::uint8_t*>(x.bytes_data()), rows,
               indices.data<std::int32_t>(), reinterpret_cast<std::uint8_t*>(y.mutable_bytes_data()), run / B, pieces);
    });
}

void gather_sum_cuda(const Tensor& dy, const SortedPlaces& sorted, Tensor& dx, double factor, const Dropout& dropout,
                     std::int32_t skipped) {
    if (dy.numel() == 0) return;
    dispatch("gather_backward", dy.dtype(), [&]<class T>(TypeTag<T>) {
        using A = Accumulator<T>;
        const std::int64_t n = sorted.indices.numel(), cols = dy.numel() / n;
        Tensor pieces = n > kPiece ? Tensor::empty({2 * (n / kPiece + 1), cols}, dtype_of<A>(), Device::cuda) : Tensor();
        const auto sum_to = [&]<class G>(TypeTag<G>) {
            sum_rows(RowSums<T, G>{.dy = dy.data<T>(),
                                   .indices = sorted.indices.data<std::int32_t>(),
                                   .places = sorted.places.data<std::int32_t>(),
                                   .dx = dx.mutable_data<G>(),
                                   .n = n,
                                   .cols = cols,
                                   .bound = static_cast<std::int32_t>(dx.dim(0)),
                                   .skipped = skipped,
                                   .factor = static_cast<A>(factor),
                                   .dropout = DropoutRule(dropout),
                                   .pieces = pieces.defined() ? pieces.mutable_data<A>() : nullptr,
                                   .tickets = nullptr});
        };
        if (dx.dtype() == dy.dtype())
            sum_to(TypeTag<T>{});
        else
            sum_to(TypeTag<Accumulator<T>>{});
    });
}

void gather_backward_cuda(const Tensor& dy, const Tensor& indices, Tensor& dx, double factor) {
    if (dy.numel() == 0) return;
    gather_sum_cuda(dy, sorted_places_cuda(indices, dx.dim(0)), dx, factor, {});
}

}  // namespace heddle::kernels
