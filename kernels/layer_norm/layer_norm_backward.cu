// Layer and RMS normalisation on CUDA, backward; layer_norm.h has the formulas. RMS takes the mean of a row and that of g as 0,
// and has no dbeta, whose sums it neither keeps in memory nor adds up.
//
//     register kernel   1, 2 or 8 warps a row, whose dy, x and column sums stay in their registers (up to 4096 columns)
//     wide kernel       a block a row; its second pass over dy and x comes from the caches
//     both              the last blocks to finish add the partial sums of dgamma and dbeta up (detail/layer_norm_affine.h)
//
// dgamma and dbeta are sums over the rows, dx needs sums over the columns: to read dy and x once for both, a block stays for a
// chunk of rows, one after another, and every thread keeps the sums of its own columns. The rows form up to kChunks chunks, as
// many as an A100 runs at the same time: no block waits for its turn there or on a larger chip, and few partial sums are written.
// The number does not depend on the chip that is there, so neither does the order in which anything is added: the shape fixes it,
// and whether 16-byte vectors fit.
//
// Memory traffic of an element of s bytes: dy and x are read, dx is written, 3 s; the residual form reads d_sum and, with
// dropout, writes d_sublayer, 5 s. The partial sums are 8 bytes (of f64 16) for each chunk and column, written and read once: at
// most 16 kChunks bytes for each column, 3 % of the traffic for 10,000 rows of f32. The wide kernel reads and writes its block's
// sums once a row, in the caches.
#include <algorithm>

#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/random.h"
#include "kernels/device/reduce.h"
#include "kernels/device/tickets.h"
#include "kernels/device/vector.h"
#include "kernels/layer_norm/detail/layer_norm_affine.h"
#include "kernels/layer_norm/layer_norm.h"

namespace heddle::kernels {
namespace {

using namespace device;

template <class T>
struct Arrays {
    const T* dy;                 // [rows, cols]
    const T* d_sum;              // [rows, cols], or null: nothing to add to dx
    const T* x;                  // [rows, cols]: what was normalised
    const T* gamma;              // [cols]
    const Accumulator<T>* mean;  // [rows], null for RMS
    const Accumulator<T>* rstd;  // [rows]
    T* dx;                       // [rows, cols], or null: not wanted
    T* d_sublayer;               // [rows, cols], or null
    AffineSums<T> affine;
    std::int64_t rows, cols, chunk_rows;
    DropoutRule dropout;

    __device__ __forceinline__ Accumulator<T> mean_of(std::int64_t row) const {
        return mean == nullptr ? Accumulator<T>{0} : mean[row];
    }
};

// The means that the row subtracts from g = gamma dy: mean(g) and mean(g xhat).
template <class A>
struct RowMeans {
    A g, g_xhat;
};

// Writes N elements of dx, and of d_sublayer where it is wanted.
template <int N, class T>
__device__ __forceinline__ void put_gradient(const Arrays<T>& a, std::int64_t row, std::int64_t column, const Vector<T, N>& dy,
                                             const Vector<T, N>& x, Accumulator<T> mean, Accumulator<T> rstd,
                                             const RowMeans<Accumulator<T>>& means) {
    using A = Accumulator<T>;
    const std::int64_t at = row * a.cols + column;
    const Vector<T, N> gamma = load_vector<N>(a.gamma + column);
    A total[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const A xhat = (load(x[i]) - mean) * rstd;
        total[i] = rstd * (load(gamma[i]) * load(dy[i]) - means.g - xhat * means.g_xhat);
    }
    if (a.d_sum != nullptr) {
        const Vector<T, N> d_sum = load_vector<N>(a.d_sum + at);
#pragma unroll
        for (int i = 0; i < N; ++i) total[i] += load(d_sum[i]);
    }
    Vector<T, N> result;
#pragma unroll
    for (int i = 0; i < N; ++i) result[i] = store<T>(total[i]);
    store_vector(a.dx + at, result);
    if (a.d_sublayer == nullptr) return;
    const unsigned kept = kept_in_row(a.dropout, row, column / 8) >> (column % 8);
    const auto scale = static_cast<A>(a.dropout.scale);
#pragma unroll
    for (int i = 0; i < N; ++i) result[i] = store<T>(total[i] * (kept >> i & 1 ? scale : A{0}));
    store_vector(a.d_sublayer + at, result);
}

constexpr int kWarps = 8, kThreads = kWarps * kWarp;
// In f32 and bf16 two blocks on each of an A100's 108 multiprocessors: their registers leave room for no third one.
constexpr std::int64_t kChunks = 216;

// Vectors that a lane holds: 16 elements of dy and x and as many sums; 8 elements where it must take them one by one.
template <int N>
constexpr int kSteps = N == 1 ? 8 : 16 / N;
template <int N>
constexpr int kColumns = kSteps<N>* N* kWarp;  // of a warp

// ---- rows in registers

// The means of a row from each lane's share of the sums, for the W warps that have the row. `scratch` [2, kWarps, 2]: rows use
// its halves in turn, so one barrier is enough. A warp that writes to a half again has passed the barrier of the row between, and
// to that one every warp came after it had read the half.
template <int W, class A>
__device__ __forceinline__ RowMeans<A> row_means(A g, A g_xhat, A n, A* scratch, int half) {
    g = warp_sum(g);
    g_xhat = warp_sum(g_xhat);
    if constexpr (W > 1) {
        A* const sums = scratch + half * 2 * kWarps;
        if (lane() == 0) {
            sums[2 * warp()] = g;
            sums[2 * warp() + 1] = g_xhat;
        }
        __syncthreads();  // the sums of all warps are there
        const A* const team = sums + warp() / W * W * 2;
        g = g_xhat = 0;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            g += team[2 * w];
            g_xhat += team[2 * w + 1];
        }
    }
    return {g / n, g_xhat / n};
}

// Block b has the rows of chunk b, kWarps / W of them at a time, each by a team of W warps. Lane l of a team's 32 W has the
// vectors l, l + 32 W, ... of each row.
template <class T, int N, int W>
__global__ void __launch_bounds__(kThreads) layer_norm_backward_kernel(Arrays<T> a) {
    using A = Accumulator<T>;
    constexpr int kTeams = kWarps / W, kStride = W * kWarp * N;
    const int cols = static_cast<int>(a.cols), team = warp() / W, begin = (warp() % W * kWarp + lane()) * N;
    SharedArena arena;
    int* flag = arena.take<int>(1);
    A* scratch = arena.take<A>(4 * kWarps);
    const std::int64_t first = blockIdx.x * a.chunk_rows, last = min(first + a.chunk_rows, a.rows);
    A dgamma[kSteps<N> * N] = {}, dbeta[kSteps<N> * N] = {};
    int half = 0;
    // All warps make the same rounds, with a row or without: row_means has a barrier.
    for (std::int64_t row = first + team; row - team < last; row += kTeams, half ^= 1) {
        const bool there = row < last;
        Vector<T, N> dy[kSteps<N>], x[kSteps<N>];
        A mean = 0, rstd = 0, sum_g = 0, sum_g_xhat = 0;
        if (there) {
            mean = a.mean_of(row);
            rstd = a.rstd[row];
#pragma unroll
            for (int step = 0; step < kSteps<N>; ++step) {
                const int column = begin + step * kStride;
                if (column >= cols) break;
                dy[step] = load_vector<N>(a.dy + row * a.cols + column);
                x[step] = load_vector<N>(a.x + row * a.cols + column);
                const Vector<T, N> gamma = load_vector<N>(a.gamma + column);  // from the nearest cache
#pragma unroll
                for (int i = 0; i < N; ++i) {
                    const A d = load(dy[step][i]), xhat = (load(x[step][i]) - mean) * rstd, g = load(gamma[i]) * d;
                    sum_g += g;
                    sum_g_xhat += g * xhat;
                    dgamma[step * N + i] += d * xhat;
                    dbeta[step * N + i] += d;
                }
            }
        }
        if (a.dx == nullptr) continue;
        RowMeans<A> means = row_means<W>(sum_g, sum_g_xhat, static_cast<A>(a.cols), scratch, half);
        if (a.mean == nullptr) means.g = 0;
        if (!there) continue;
#pragma unroll
        for (int step = 0; step < kSteps<N>; ++step) {
            const int column = begin + step * kStride;
            if (column >= cols) break;
            put_gradient<N>(a, row, column, dy[step], x[step], mean, rstd, means);
        }
    }
    if (a.affine.partial == nullptr) return;
    const int sum_cols = a.affine.parts * cols;
    A* const partial = a.affine.partial + std::int64_t{blockIdx.x} * sum_cols;  // [parts, cols]
    A* const sums = kTeams > 1 ? arena.take<A>(kTeams * sum_cols) : partial;    // [teams, parts, cols]
    A* const own = sums + team * sum_cols;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = begin + step * kStride;
        if (column >= cols) break;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            own[column + i] = dgamma[step * N + i];
            if (a.affine.parts == 2) own[cols + column + i] = dbeta[step * N + i];
        }
    }
    if constexpr (kTeams > 1) {
        __syncthreads();  // every team's sums are there
        for (int i = thread_in_block(); i < sum_cols; i += kThreads) {
            A total = 0;
            for (int t = 0; t < kTeams; ++t) total += sums[t * sum_cols + i];
            partial[i] = total;
        }
    }
    finish_affine(a.affine, a.cols, flag);
}

// ---- wide rows

// Block b takes the rows of chunk b one after another, its thread t the vectors t, t + 256, ... of each. The sums of dgamma and
// dbeta are the chunk's row of `partial` itself; a thread touches those of its columns alone.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) layer_norm_backward_wide_kernel(Arrays<T> a) {
    using A = Accumulator<T>;
    constexpr int M = N < kVector<A> ? N : kVector<A>;  // sums of a vector's columns that are 16 bytes
    SharedArena arena;
    int* flag = arena.take<int>(1);
    A* scratch = arena.take<A>(4 * kWarps);
    const bool shifts = a.affine.parts == 2;
    A* const partial =  // [parts, cols]
        a.affine.partial == nullptr ? nullptr : a.affine.partial + blockIdx.x * a.affine.parts * a.cols;
    const std::int64_t begin = thread_in_block() * N;
    constexpr std::int64_t kStride = kThreads * N;
    const std::int64_t first = blockIdx.x * a.chunk_rows, last = min(first + a.chunk_rows, a.rows);
    int half = 0;
    for (std::int64_t row = first; row < last; ++row, half ^= 1) {
        const A mean = a.mean_of(row), rstd = a.rstd[row];
        const T* dy = a.dy + row * a.cols;  // [cols]
        const T* x = a.x + row * a.cols;    // [cols]
        A sum_g = 0, sum_g_xhat = 0;
        for (std::int64_t column = begin; column < a.cols; column += kStride) {
            const Vector<T, N> d = load_vector<N>(dy + column), from = load_vector<N>(x + column),
                               gamma = load_vector<N>(a.gamma + column);
            A xhat[N];
#pragma unroll
            for (int i = 0; i < N; ++i) {
                xhat[i] = (load(from[i]) - mean) * rstd;
                const A g = load(gamma[i]) * load(d[i]);
                sum_g += g;
                sum_g_xhat += g * xhat[i];
            }
            if (partial == nullptr) continue;
#pragma unroll
            for (int i = 0; i < N; i += M) {
                Vector<A, M> dgamma = {}, dbeta = {};
                if (row > first) {
                    dgamma = load_vector<M>(partial + column + i);
                    if (shifts) dbeta = load_vector<M>(partial + a.cols + column + i);
                }
#pragma unroll
                for (int j = 0; j < M; ++j) {
                    dgamma[j] += load(d[i + j]) * xhat[i + j];
                    dbeta[j] += load(d[i + j]);
                }
                store_vector(partial + column + i, dgamma);
                if (shifts) store_vector(partial + a.cols + column + i, dbeta);
            }
        }
        if (a.dx == nullptr) continue;
        RowMeans<A> means = row_means<kWarps>(sum_g, sum_g_xhat, static_cast<A>(a.cols), scratch, half);
        if (a.mean == nullptr) means.g = 0;
        for (std::int64_t column = begin; column < a.cols; column += kStride)
            put_gradient<N>(a, row, column, load_vector<N>(dy + column), load_vector<N>(x + column), mean, rstd, means);
    }
    if (partial != nullptr) finish_affine(a.affine, a.cols, flag);
}

// How many warps share a row in the register kernel; 0: it is too long for it.
template <int N>
int warps_of_row(std::int64_t cols) {
    for (const int warps : {1, 2, kWarps})
        if (cols <= warps * kColumns<N>) return warps;
    return 0;
}

// Few rows give as many chunks as they can: of one row for each team.
std::int64_t rows_of_chunk(std::int64_t rows, int warps_of_row) {
    return std::max<std::int64_t>(warps_of_row == 0 ? 1 : kWarps / warps_of_row, (rows + kChunks - 1) / kChunks);
}

template <class T, int N>
void run(const Arrays<T>& a, unsigned chunks) {
    using A = Accumulator<T>;
    const int warps = warps_of_row<N>(a.cols);
    SharedSize shared;
    shared.take<int>(1).template take<A>(4 * kWarps);
    if (warps != 0 && warps != kWarps && a.affine.partial != nullptr)
        shared.take<A>(kWarps / warps * a.affine.parts * static_cast<int>(a.cols));
    auto* const kernel = warps == 1        ? layer_norm_backward_kernel<T, N, 1>
                         : warps == 2      ? layer_norm_backward_kernel<T, N, 2>
                         : warps == kWarps ? layer_norm_backward_kernel<T, N, kWarps>
                                           : layer_norm_backward_wide_kernel<T, N>;
    launch({.grid = chunks, .block = kThreads, .shared = shared.bytes()}, kernel, a);
}

}  // namespace

void layer_norm_backward_cuda(LayerNormBackwardTensors& t, const Dropout& dropout) {
    const std::int64_t rows = t.x.rows(), cols = t.x.cols();
    if (rows == 0) return;
    const bool affine = t.dgamma.defined() || t.dbeta.defined();
    dispatch("layer_norm_backward", t.x.dtype(), [&]<class T>(TypeTag<T>) {
        using A = Accumulator<T>;
        constexpr DType x_dtype = dtype_of<T>();
        const auto data = [](const Tensor& tensor) { return tensor.defined() ? tensor.data<T>() : nullptr; };
        const auto mutable_data = [](Tensor& tensor) { return tensor.defined() ? tensor.mutable_data<T>() : nullptr; };
        Arrays<T> a{.dy = data(t.dy),
                    .d_sum = data(t.d_sum),
                    .x = data(t.x),
                    .gamma = data(t.gamma),
                    .mean = t.mean.defined() ? t.mean.data<A>() : nullptr,
                    .rstd = t.rstd.data<A>(),
                    .dx = mutable_data(t.dx),
                    .d_sublayer = mutable_data(t.d_sublayer),
                    .affine = {},
                    .rows = rows,
                    .cols = cols,
                    .chunk_rows = 1,
                    .dropout = DropoutRule(dropout)};
        constexpr int N = kVector<T>;
        const auto fit = [&](const T* pointer) { return pointer == nullptr || vectors_fit(pointer, cols, N); };
        const bool vectors = fit(a.dy) && fit(a.d_sum) && fit(a.x) && fit(a.gamma) && fit(a.dx) && fit(a.d_sublayer);
        a.chunk_rows = rows_of_chunk(rows, vectors ? warps_of_row<N>(cols) : warps_of_row<1>(cols));
        const unsigned chunks = blocks_for(rows, a.chunk_rows);
        const int parts = a.mean == nullptr ? 1 : 2;
        Tensor partial = affine ? Tensor::empty({chunks, parts, cols}, dtype_of<A>(), Device::cuda) : Tensor();
        Tensor runs = affine ? Tensor::empty({kAffineRuns, parts, cols}, DType::f64, Device::cuda) : Tensor();
        if (affine) {
            Tensor* const targets[] = {&t.dgamma, &t.dbeta};
            a.affine = {partial.mutable_data<A>(), runs.template mutable_data<double>(), tickets(kAffineRuns + 1), {}, parts};
            for (int part = 0; part < parts; ++part) {
                if (!targets[part]->defined()) continue;
                if (targets[part]->dtype() == x_dtype)
                    a.affine.targets[part].own = targets[part]->mutable_data<T>();
                else
                    a.affine.targets[part].wide = targets[part]->mutable_data<A>();
            }
        }
        if (vectors)
            run<T, N>(a, chunks);
        else
            run<T, 1>(a, chunks);
    });
}

}  // namespace heddle::kernels
