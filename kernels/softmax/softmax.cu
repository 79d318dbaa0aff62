// Masked softmax on CUDA; softmax.h has the formulas.
//
//     narrow   a warp a row, the row in its lanes' registers (up to 1024 columns)
//     wide     a block a row: maximum and sum in one pass, the row in shared memory when it fits (48 kB)
//
// Memory traffic of an element of s bytes: forward reads x and writes y, 2 s, and reads 1 byte of the mask and s bytes of the
// bias; backward reads dy and y and writes dx, 3 s. Masks and biases that many rows share come from the caches. A wide row that
// does not fit in shared memory is read once more, from the caches. What lies beyond a row's reach is not read at all.
#include "kernels/device/dispatch.h"
#include "kernels/device/exponentials.h"
#include "kernels/device/rows.h"
#include "kernels/device/vector.h"
#include "kernels/softmax/softmax.h"

namespace heddle::kernels {
namespace {

using namespace device;

template <class T>
struct Arrays {
    const T* x;                   // [rows, cols]
    const std::uint8_t* mask;     // [mask_rows, cols], or null
    const std::int32_t* lengths;  // [rows / item_rows], or null
    const T* bias;                // [bias_rows, cols], or null
    T* y;                         // [rows, cols]
    Accumulator<T> scale;         // of x
    std::int64_t rows, cols;
    std::int64_t mask_rows;  // row r takes the mask's row r modulo this
    std::int64_t bias_rows;  // and the bias' row r modulo this
    std::int64_t item_rows;  // rows of x that share a length
    std::int64_t queries;    // rows of a causal square
    bool causal;

    // Row r attends to columns [0, reach(r)) at most.
    __device__ __forceinline__ std::int64_t reach(std::int64_t row) const {
        std::int64_t end = cols;
        if (lengths != nullptr) end = min(end, std::int64_t{lengths[row / item_rows]});
        if (causal) end = min(end, row % queries + cols - queries + 1);
        return max(end, std::int64_t{0});
    }
    // Bit i: whether column + i may be attended to.
    template <int N>
    __device__ __forceinline__ unsigned attends(std::int64_t row, std::int64_t column, std::int64_t end) const {
        unsigned bits = end - column >= N ? (1u << N) - 1 : (1u << (end - column)) - 1;
        if (mask == nullptr) return bits;
        const Vector<std::uint8_t, N> allowed = load_vector<N>(mask + row % mask_rows * cols + column);
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (allowed[i] == 0) bits &= ~(1u << i);
        return bits;
    }
    // The scores of columns [column, column + N): -inf where `bits` says that one is not attended to.
    template <int N>
    __device__ __forceinline__ void scores(Accumulator<T> (&s)[N], const Vector<T, N>& values, unsigned bits, std::int64_t row,
                                           std::int64_t column) const {
        Vector<T, N> added = {};
        if (bias != nullptr) added = load_vector<N>(bias + row % bias_rows * cols + column);
#pragma unroll
        for (int i = 0; i < N; ++i)
            s[i] = (bits >> i & 1) != 0 ? load(values[i]) * scale + load(added[i]) : lowest<Accumulator<T>>();
    }
};

// ---- narrow rows

// Warp w of a block takes row 4 blockIdx.x + w; its lane l takes the vectors l, l + 32, ... What does not attend is -inf to the
// maximum and to the sum; its result is 0 by the bit in `attending`, also in a row that a NaN spoils.
template <class T, int N>
__global__ void __launch_bounds__(kNarrowWarps* kWarp) softmax_narrow_kernel(Arrays<T> a) {
    using A = Accumulator<T>;
    const std::int64_t row = narrow_row();
    if (row >= a.rows) return;
    const std::int64_t end = a.reach(row);
    A x[kSteps<N> * N];
    unsigned attending = 0;
    A largest = lowest<A>();
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= end) break;
        const Vector<T, N> values = load_vector<N>(a.x + row * a.cols + column);
        const unsigned bits = a.template attends<N>(row, column, end);
        attending |= bits << (step * N);
        A s[N];
        a.template scores<N>(s, values, bits, row, column);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[step * N + i] = s[i];
            largest = larger(largest, s[i]);
        }
    }
    largest = warp_max(largest);
    const A shift = largest == lowest<A>() ? A{0} : largest;  // nothing attends: every exponential is 0
    A total = 0;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        if ((step * kWarp + lane()) * N >= end) break;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[step * N + i] = exponential(x[step * N + i] - shift);
            total += x[step * N + i];
        }
    }
    total = warp_sum(total);
    const A scale = total == 0 ? A{0} : 1 / total;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= a.cols) break;
        Vector<T, N> y;
#pragma unroll
        for (int i = 0; i < N; ++i) y[i] = store<T>(attending >> (step * N + i) & 1 ? x[step * N + i] * scale : A{0});
        store_vector(a.y + row * a.cols + column, y);
    }
}

template <class T, int N>
__global__ void __launch_bounds__(kNarrowWarps* kWarp)
    softmax_backward_narrow_kernel(const T* dy,  // [rows, cols]
                                   const T* y,   // [rows, cols]
                                   T* dx,        // [rows, cols]
                                   Accumulator<T> scale, std::int64_t rows, std::int64_t cols) {
    using A = Accumulator<T>;
    const std::int64_t row = narrow_row();
    if (row >= rows) return;
    Vector<T, N> g[kSteps<N>], p[kSteps<N>];
    A along = 0;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= cols) break;
        g[step] = load_vector<N>(dy + row * cols + column);
        p[step] = load_vector<N>(y + row * cols + column);
#pragma unroll
        for (int i = 0; i < N; ++i) along += load(g[step][i]) * load(p[step][i]);
    }
    along = warp_sum(along);
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= cols) break;
        Vector<T, N> result;
#pragma unroll
        for (int i = 0; i < N; ++i) result[i] = store<T>(scale * (load(p[step][i]) * (load(g[step][i]) - along)));
        store_vector(dx + row * cols + column, result);
    }
}

// ---- wide rows

// Block r takes row r, its thread t the vectors t, t + 256, ... A thread reads back only what it put into shared memory itself,
// so no barrier stands between the passes but those of the maximum and the sum.
template <class T, int N>
__global__ void __launch_bounds__(kWideThreads) softmax_wide_kernel(Arrays<T> a, bool fits) {
    using A = Accumulator<T>;
    SharedArena arena;
    A* scratch = arena.take<A>(kBlockReduce);
    T* kept = fits ? arena.take<T>(static_cast<int>(a.cols)) : nullptr;  // [cols]
    const std::int64_t row = blockIdx.x, end = a.reach(row);
    const std::int64_t begin = thread_in_block() * N, stride = kWideThreads * N;
    const T* from = a.x + row * a.cols;  // [cols]
    ExponentialSum<A> own;
    for (std::int64_t column = begin; column < end; column += stride) {
        const Vector<T, N> values = load_vector<N>(from + column);
        if (fits) store_vector(kept + column, values);
        const unsigned bits = a.template attends<N>(row, column, end);
        A s[N];
        a.template scores<N>(s, values, bits, row, column);
        own.add(s);
    }
    const ExponentialSum<A> all = block_exponentials(own, scratch);
    const A shift = all.shift(), inverse = all.sum == 0 ? A{0} : 1 / all.sum;
    if (fits) from = kept;
    for (std::int64_t column = begin; column < a.cols; column += stride) {
        Vector<T, N> y;
        const bool reached = column < end;
        const unsigned bits = reached ? a.template attends<N>(row, column, end) : 0;  // the mask once more, from the caches
        if (reached) y = load_vector<N>(from + column);
        A s[N];
        a.template scores<N>(s, y, bits, row, column);
#pragma unroll
        for (int i = 0; i < N; ++i) y[i] = store<T>(bits >> i & 1 ? exponential(s[i] - shift) * inverse : A{0});
        store_vector(a.y + row * a.cols + column, y);
    }
}

template <class T, int N>
__global__ void __launch_bounds__(kWideThreads) softmax_backward_wide_kernel(const T* dy,  // [rows, cols]
                                                                             const T* y,   // [rows, cols]
                                                                             T* dx,        // [rows, cols]
                                                                             Accumulator<T> scale, std::int64_t cols, bool fits) {
    using A = Accumulator<T>;
    SharedArena arena;
    A* scratch = arena.take<A>(kBlockReduce);
    T* kept_dy = fits ? arena.take<T>(static_cast<int>(cols)) : nullptr;  // [cols]
    T* kept_y = fits ? arena.take<T>(static_cast<int>(cols)) : nullptr;   // [cols]
    const std::int64_t begin = thread_in_block() * N, stride = kWideThreads * N;
    const T* gradient = dy + blockIdx.x * cols;
    const T* weights = y + blockIdx.x * cols;
    A along = 0;
    for (std::int64_t column = begin; column < cols; column += stride) {
        const Vector<T, N> g = load_vector<N>(gradient + column), p = load_vector<N>(weights + column);
        if (fits) {
            store_vector(kept_dy + column, g);
            store_vector(kept_y + column, p);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) along += load(g[i]) * load(p[i]);
    }
    along = block_sum(along, scratch);
    if (fits) {
        gradient = kept_dy;
        weights = kept_y;
    }
    for (std::int64_t column = begin; column < cols; column += stride) {
        const Vector<T, N> g = load_vector<N>(gradient + column), p = load_vector<N>(weights + column);
        Vector<T, N> result;
#pragma unroll
        for (int i = 0; i < N; ++i) result[i] = store<T>(scale * (load(p[i]) * (load(g[i]) - along)));
        store_vector(dx + blockIdx.x * cols + column, result);
    }
}

template <class T, int N>
void forward(const Arrays<T>& a) {
    if (a.cols <= kNarrow<N>) return launch(narrow_rows(a.rows), softmax_narrow_kernel<T, N>, a);
    const WideRows rows = wide_rows<T>(a.rows, a.cols, 1);
    launch(rows.config, softmax_wide_kernel<T, N>, a, rows.fit);
}

template <class T, int N>
void backward(const T* dy, const T* y, T* dx, Accumulator<T> scale, std::int64_t rows, std::int64_t cols) {
    if (cols <= kNarrow<N>) return launch(narrow_rows(rows), softmax_backward_narrow_kernel<T, N>, dy, y, dx, scale, rows, cols);
    const WideRows wide = wide_rows<T>(rows, cols, 2);
    launch(wide.config, softmax_backward_wide_kernel<T, N>, dy, y, dx, scale, cols, wide.fit);
}

}  // namespace

void softmax_forward_cuda(const Tensor& x, const Tensor& mask, const SoftmaxReach& reach, const SoftmaxScores& scores,
                          Tensor& y) {
    const std::int64_t rows = x.rows(), cols = x.cols();
    if (x.numel() == 0) return;
    dispatch("softmax", x.dtype(), [&]<class T>(TypeTag<T>) {
        const Arrays<T> a{.x = x.data<T>(),
                          .mask = mask.defined() ? mask.data<std::uint8_t>() : nullptr,
                          .lengths = reach.lengths.defined() ? reach.lengths.data<std::int32_t>() : nullptr,
                          .bias = scores.bias.defined() ? scores.bias.data<T>() : nullptr,
                          .y = y.mutable_data<T>(),
                          .scale = static_cast<Accumulator<T>>(scores.scale),
                          .rows = rows,
                          .cols = cols,
                          .mask_rows = mask.defined() ? mask.rows() : 1,
                          .bias_rows = scores.bias.defined() ? scores.bias.rows() : 1,
                          .item_rows = rows / x.dim(0),
                          .queries = x.rank() >= 2 ? x.dim(-2) : 1,
                          .causal = reach.causal};
        constexpr int N = kVector<T>;
        if (vectors_fit(a.x, cols, N) && vectors_fit(a.y, cols, N) && (a.mask == nullptr || vectors_fit(a.mask, cols, N)) &&
            (a.bias == nullptr || vectors_fit(a.bias, cols, N)))
            forward<T, N>(a);
        else
            forward<T, 1>(a);
    });
}

void softmax_backward_cuda(const Tensor& dy, const Tensor& y, double scale, Tensor& dx) {
    const std::int64_t rows = y.rows(), cols = y.cols();
    if (y.numel() == 0) return;
    dispatch("softmax_backward", y.dtype(), [&]<class T>(TypeTag<T>) {
        constexpr int N = kVector<T>;
        const auto factor = static_cast<Accumulator<T>>(scale);
        if (vectors_fit(dy.data<T>(), cols, N) && vectors_fit(y.data<T>(), cols, N) && vectors_fit(dx.data<T>(), cols, N))
            backward<T, N>(dy.data<T>(), y.data<T>(), dx.mutable_data<T>(), factor, rows, cols);
        else
            backward<T, 1>(dy.data<T>(), y.data<T>(), dx.mutable_data<T>(), factor, rows, cols);
    });
}

}  // namespace heddle::kernels
