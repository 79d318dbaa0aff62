// Layer normalisation on CUDA, backward; layer_norm.h has the formula.
//
//     narrow   a warp a row, dy and x in its lanes' registers (up to 512 columns)
//     wide     a block a row; its second pass over dy and x comes from the caches
//     both     the last blocks to finish add the partial sums of dgamma and dbeta up (detail/layer_norm_affine.h)
//
// dgamma and dbeta are sums over the rows, dx needs sums over the columns: to read dy and x once for both, a block takes a chunk
// of rows one after another, and every thread keeps the sums of its own columns. Each block writes one row of partial sums;
// which rows make a chunk, and every order of adding, depends on the shape and on whether vectors fit.
//
// Memory traffic of an element of s bytes: dy and x are read, dx is written, 3 s; the residual form reads d_sum and, with
// dropout, writes d_sublayer, 5 s. The partial sums are 8 bytes (of f64 16) for each chunk and column, written and read once: 2
// bytes an element for eight rows a chunk, the less the more rows there are; but 16 for up to 1024 wide rows, each of which is a
// chunk, because a chip with idle multiprocessors would take longer.
#include <algorithm>

#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/random.h"
#include "kernels/device/reduce.h"
#include "kernels/device/tickets.h"
#include "kernels/device/vector.h"
#include "kernels/layer_norm/detail/layer_norm.h"
#include "kernels/layer_norm/detail/layer_norm_affine.h"

namespace heddle::kernels {
namespace {

using namespace device;

template <class T>
struct Arrays {
    const T* dy;                 // [rows, cols]
    const T* d_sum;              // [rows, cols], or null: nothing to add to dx
    const T* x;                  // [rows, cols]: what was normalised
    const T* gamma;              // [cols]
    const Accumulator<T>* mean;  // [rows]
    const Accumulator<T>* rstd;  // [rows]
    T* dx;                       // [rows, cols], or null: not wanted
    T* d_sublayer;               // [rows, cols], or null
    AffineSums<T> affine;
    std::int64_t rows, cols, chunk_rows;
    DropoutRule dropout;
};

// What the row's sums remove from g = gamma dy: mean(g) and mean(g xhat).
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

// ---- narrow rows

constexpr int kNarrowWarps = 8;

// Vectors that a lane holds: 16 elements of dy and x and as many sums; 8 elements where it must take them one by one.
template <int N>
constexpr int kSteps = N == 1 ? 8 : 16 / N;
template <int N>
constexpr int kNarrow = kSteps<N>* N* kWarp;

// Block b has the rows of chunk b; its warp w takes every eighth of them, its lane l the vectors l, l + 32, ... of each.
template <class T, int N>
__global__ void __launch_bounds__(kNarrowWarps* kWarp) layer_norm_backward_narrow_kernel(Arrays<T> a) {
    using A = Accumulator<T>;
    const std::int64_t first = blockIdx.x * a.chunk_rows, last = min(first + a.chunk_rows, a.rows);
    A dgamma[kSteps<N> * N] = {}, dbeta[kSteps<N> * N] = {};
    for (std::int64_t row = first + warp(); row < last; row += kNarrowWarps) {
        const A mean = a.mean[row], rstd = a.rstd[row];
        Vector<T, N> dy[kSteps<N>], x[kSteps<N>];
        A sum_g = 0, sum_g_xhat = 0;
#pragma unroll
        for (int step = 0; step < kSteps<N>; ++step) {
            const int column = (step * kWarp + lane()) * N;
            if (column >= a.cols) break;
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
        if (a.dx == nullptr) continue;
        const auto n = static_cast<A>(a.cols);
        const RowMeans<A> means{warp_sum(sum_g) / n, warp_sum(sum_g_xhat) / n};
#pragma unroll
        for (int step = 0; step < kSteps<N>; ++step) {
            const int column = (step * kWarp + lane()) * N;
            if (column >= a.cols) break;
            put_gradient<N>(a, row, column, dy[step], x[step], mean, rstd, means);
        }
    }
    if (a.affine.partial == nullptr) return;
    const int cols = static_cast<int>(a.cols);
    SharedArena arena;
    A* sums = arena.take<A>(kNarrowWarps * 2 * cols);  // [warps, 2, cols]
    int* flag = arena.take<int>(1);
    A* own = sums + warp() * 2 * cols;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= cols) break;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            own[column + i] = dgamma[step * N + i];
            own[cols + column + i] = dbeta[step * N + i];
        }
    }
    __syncthreads();  // every warp's sums are there
    for (int i = thread_in_block(); i < 2 * cols; i += kNarrowWarps * kWarp) {
        A total = 0;
        for (int w = 0; w < kNarrowWarps; ++w) total += sums[w * 2 * cols + i];
        a.affine.partial[std::int64_t{blockIdx.x} * 2 * cols + i] = total;
    }
    finish_affine(a.affine, a.cols, flag);
}

// ---- wide rows

constexpr int kWideThreads = 256;
constexpr std::int64_t kKeptBytes = 96 * 1024;  // of shared memory, for the sums of the columns; every chip has them

// Block b takes the rows of chunk b one after another, its thread t the vectors t, t + 256, ... of each. The sums of dgamma and
// dbeta lie in shared memory, or, when they do not fit there, in the chunk's row of `partial` itself; a thread touches those of
// its columns alone.
template <class T, int N>
__global__ void __launch_bounds__(kWideThreads, 4) layer_norm_backward_wide_kernel(Arrays<T> a, bool fits) {
    using A = Accumulator<T>;
    constexpr int W = N < kVector<A> ? N : kVector<A>;  // sums of a vector's columns that are 16 bytes
    SharedArena arena;
    A* scratch = arena.take<A>(kBlockReduce);
    int* flag = arena.take<int>(1);
    A* partial = a.affine.partial == nullptr ? nullptr : a.affine.partial + blockIdx.x * 2 * a.cols;  // [2, cols]
    A* sums = fits ? arena.take<A>(static_cast<int>(2 * a.cols)) : partial;                           // [2, cols]
    const std::int64_t begin = thread_in_block() * N, stride = kWideThreads * N;
    if (partial != nullptr)
        for (std::int64_t column = begin; column < a.cols; column += stride)
            for (int i = 0; i < N; ++i) sums[column + i] = sums[a.cols + column + i] = 0;
    const std::int64_t first = blockIdx.x * a.chunk_rows, last = min(first + a.chunk_rows, a.rows);
    for (std::int64_t row = first; row < last; ++row) {
        const A mean = a.mean[row], rstd = a.rstd[row];
        const T* dy = a.dy + row * a.cols;  // [cols]
        const T* x = a.x + row * a.cols;    // [cols]
        A sum_g = 0, sum_g_xhat = 0;
        for (std::int64_t column = begin; column < a.cols; column += stride) {
            const Vector<T, N> d = load_vector<N>(dy + column), from = load_vector<N>(x + column),
                               gamma = load_vector<N>(a.gamma + column);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                const A xhat = (load(from[i]) - mean) * rstd, g = load(gamma[i]) * load(d[i]);
                sum_g += g;
                sum_g_xhat += g * xhat;
            }
            if (partial == nullptr) continue;
                // 16 bytes at once: one by one, the lanes' columns would lie N apart and share 32 / N of the banks.
#pragma unroll
            for (int i = 0; i < N; i += W) {
                Vector<A, W> dgamma = load_vector<W>(sums + column + i), dbeta = load_vector<W>(sums + a.cols + column + i);
#pragma unroll
                for (int j = 0; j < W; ++j) {
                    dgamma[j] += load(d[i + j]) * ((load(from[i + j]) - mean) * rstd);
                    dbeta[j] += load(d[i + j]);
                }
                store_vector<W>(sums + column + i, dgamma);
                store_vector<W>(sums + a.cols + column + i, dbeta);
            }
        }
        if (a.dx == nullptr) continue;
        const auto n = static_cast<A>(a.cols);
        RowMeans<A> means;
        means.g = block_sum(sum_g, scratch) / n;
        means.g_xhat = block_sum(sum_g_xhat, scratch) / n;
        for (std::int64_t column = begin; column < a.cols; column += stride)
            put_gradient<N>(a, row, column, load_vector<N>(dy + column), load_vector<N>(x + column), mean, rstd, means);
    }
    if (partial == nullptr) return;
    for (std::int64_t column = begin; fits && column < a.cols; column += stride)
        for (int i = 0; i < N; ++i) {
            partial[column + i] = sums[column + i];
            partial[a.cols + column + i] = sums[a.cols + column + i];
        }
    finish_affine(a.affine, a.cols, flag);
}

// A thousand chunks keep every chip busy, and few rows shall give as many as they can: a narrow kernel's block has a row for each
// of its warps, a wide one's a single row.
std::int64_t rows_of_chunk(std::int64_t rows, bool narrow) {
    return std::max<std::int64_t>(narrow ? kNarrowWarps : 1, (rows + 1023) / 1024);
}

template <class T, int N>
void run(const Arrays<T>& a, std::int64_t chunks) {
    using A = Accumulator<T>;
    const unsigned grid = blocks_for(chunks, 1);
    if (a.cols <= kNarrow<N>) {
        SharedSize shared;
        if (a.affine.partial != nullptr) shared.take<A>(kNarrowWarps * 2 * static_cast<int>(a.cols)).template take<int>(1);
        launch({.grid = grid, .block = kNarrowWarps * kWarp, .shared = shared.bytes()}, layer_norm_backward_narrow_kernel<T, N>,
               a);
        return;
    }
    const bool fits = a.affine.partial != nullptr && 2 * a.cols * static_cast<std::int64_t>(sizeof(A)) <= kKeptBytes;
    SharedSize shared;
    shared.take<A>(kBlockReduce).template take<int>(1);
    if (fits) shared.take<A>(static_cast<int>(2 * a.cols));
    launch({.grid = grid, .block = kWideThreads, .shared = shared.bytes()}, layer_norm_backward_wide_kernel<T, N>, a, fits);
}

}  // namespace

void layer_norm_backward_cuda(const LayerNormBackwardTensors& t, const Dropout& dropout) {
    const std::int64_t rows = t.x.rows(), cols = t.x.cols();
    if (rows == 0) return;
    const bool affine = t.dgamma.defined() || t.dbeta.defined();
    dispatch("layer_norm_backward", t.x.dtype(), [&]<class T>(TypeTag<T>) {
        using A = Accumulator<T>;
        constexpr DType x_dtype = dtype_of<T>();
        const auto data = [](const Tensor& tensor) { return tensor.defined() ? tensor.data<T>() : nullptr; };
        Arrays<T> a{.dy = data(t.dy),
                    .d_sum = data(t.d_sum),
                    .x = data(t.x),
                    .gamma = data(t.gamma),
                    .mean = t.mean.data<A>(),
                    .rstd = t.rstd.data<A>(),
                    .dx = data(t.dx),
                    .d_sublayer = data(t.d_sublayer),
                    .affine = {},
                    .rows = rows,
                    .cols = cols,
                    .chunk_rows = 1,
                    .dropout = DropoutRule(dropout)};
        constexpr int N = kVector<T>;
        const auto fit = [&](const T* pointer) { return pointer == nullptr || vectors_fit(pointer, cols, N); };
        const bool vectors = fit(a.dy) && fit(a.d_sum) && fit(a.x) && fit(a.gamma) && fit(a.dx) && fit(a.d_sublayer);
        a.chunk_rows = rows_of_chunk(rows, cols <= (vectors ? kNarrow<N> : kNarrow<1>));
        const std::int64_t chunks = (rows + a.chunk_rows - 1) / a.chunk_rows;
        const Tensor partial = affine ? Tensor::empty({chunks, 2, cols}, dtype_of<A>(), Device::cuda) : Tensor();
        const Tensor runs = affine ? Tensor::empty({kAffineRuns, 2, cols}, DType::f64, Device::cuda) : Tensor();
        if (affine) {
            const Tensor* const targets[] = {&t.dgamma, &t.dbeta};
            a.affine = {partial.data<A>(), runs.template data<double>(), tickets(kAffineRuns + 1), {}};
            for (int part = 0; part < 2; ++part) {
                if (!targets[part]->defined()) continue;
                if (targets[part]->dtype() == x_dtype)
                    a.affine.targets[part].own = targets[part]->data<T>();
                else
                    a.affine.targets[part].wide = targets[part]->data<A>();
            }
        }
        if (vectors)
            run<T, N>(a, chunks);
        else
            run<T, 1>(a, chunks);
    });
}

}  // namespace heddle::kernels
