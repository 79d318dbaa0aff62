// The logarithm of the softmax on CUDA; log_softmax.h has the formulas.
//
//     narrow   a warp a row, the row in its lanes' registers (up to 1024 columns)
//     wide     a block a row: both sums in one pass, the row in shared memory when it fits (48 kB)
//
// Memory traffic of an element of s bytes: forward reads x and writes y, 2 s; backward reads dy and y and writes dx, 3 s. A wide
// row that does not fit in shared memory is read once more, from the caches: 100,000 f32 logits are 400 kB, which the
// second-level cache holds.
#include "kernels/device/dispatch.h"
#include "kernels/device/exponentials.h"
#include "kernels/device/rows.h"
#include "kernels/device/vector.h"
#include "kernels/log_softmax/log_softmax.h"

namespace heddle::kernels {
namespace {

using namespace device;

// Forward subtracts the shift and this logarithm of the sum. In a row of nothing but -inf both are 0, and the row stays as it
// is.
template <class A>
__device__ __forceinline__ A log_of(A sum) {
    return sum == 0 ? A{0} : logarithm(sum);
}

// ---- narrow rows

// Warp w of a block takes row 4 blockIdx.x + w; its lane l takes the vectors l, l + 32, ...
template <class T, int N>
__global__ void __launch_bounds__(kNarrowWarps* kWarp) log_softmax_narrow_kernel(const T* x,  // [rows, cols]
                                                                                 T* y,        // [rows, cols]
                                                                                 std::int64_t rows, std::int64_t cols) {
    using A = Accumulator<T>;
    const std::int64_t row = narrow_row();
    if (row >= rows) return;
    A values[kSteps<N> * N];
    A largest = lowest<A>();
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= cols) break;
        const Vector<T, N> from = load_vector<N>(x + row * cols + column);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            values[step * N + i] = load(from[i]);
            largest = larger(largest, values[step * N + i]);
        }
    }
    largest = warp_max(largest);
    const A shift = largest == lowest<A>() ? A{0} : largest;
    A total = 0;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        if ((step * kWarp + lane()) * N >= cols) break;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            values[step * N + i] -= shift;
            total += exponential(values[step * N + i]);
        }
    }
    const A log_total = log_of(warp_sum(total));
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= cols) break;
        Vector<T, N> to;
#pragma unroll
        for (int i = 0; i < N; ++i) to[i] = store<T>(values[step * N + i] - log_total);
        store_vector(y + row * cols + column, to);
    }
}

// dx of N elements; `mass` is the sum of e^y, 0 in a row without a distribution.
template <int N, class T>
__device__ __forceinline__ void put_gradient(T* dx, const Vector<T, N>& dy, const Vector<T, N>& y, Accumulator<T> total,
                                             Accumulator<T> mass) {
    using A = Accumulator<T>;
    Vector<T, N> result;
#pragma unroll
    for (int i = 0; i < N; ++i) result[i] = store<T>(mass == 0 ? A{0} : load(dy[i]) - exponential(load(y[i])) * total);
    store_vector(dx, result);
}

template <class T, int N>
__global__ void __launch_bounds__(kNarrowWarps* kWarp) log_softmax_backward_narrow_kernel(const T* dy,  // [rows, cols]
                                                                                          const T* y,   // [rows, cols]
                                                                                          T* dx,        // [rows, cols]
                                                                                          std::int64_t rows, std::int64_t cols) {
    using A = Accumulator<T>;
    const std::int64_t row = narrow_row();
    if (row >= rows) return;
    Vector<T, N> g[kSteps<N>], log_p[kSteps<N>];
    A total = 0, mass = 0;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= cols) break;
        g[step] = load_vector<N>(dy + row * cols + column);
        log_p[step] = load_vector<N>(y + row * cols + column);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            total += load(g[step][i]);
            mass += exponential(load(log_p[step][i]));
        }
    }
    total = warp_sum(total);
    mass = warp_sum(mass);
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= cols) break;
        put_gradient<N>(dx + row * cols + column, g[step], log_p[step], total, mass);
    }
}

// ---- wide rows

// Block r takes row r, its thread t the vectors t, t + 256, ... A thread reads back only what it put into shared memory itself,
// so no barrier stands between the passes but those of the maximum and the sum.
template <class T, int N>
__global__ void __launch_bounds__(kWideThreads) log_softmax_wide_kernel(const T* x,  // [rows, cols]
                                                                        T* y,        // [rows, cols]
                                                                        std::int64_t cols, bool fits) {
    using A = Accumulator<T>;
    SharedArena arena;
    A* scratch = arena.take<A>(kBlockReduce);
    T* kept = fits ? arena.take<T>(static_cast<int>(cols)) : nullptr;  // [cols]
    const std::int64_t begin = thread_in_block() * N, stride = kWideThreads * N;
    const T* from = x + blockIdx.x * cols;
    ExponentialSum<A> own;
    for (std::int64_t column = begin; column < cols; column += stride) {
        const Vector<T, N> values = load_vector<N>(from + column);
        if (fits) store_vector(kept + column, values);
        A numbers[N];
#pragma unroll
        for (int i = 0; i < N; ++i) numbers[i] = load(values[i]);
        own.add(numbers);
    }
    const ExponentialSum<A> all = block_exponentials(own, scratch);
    const A shift = all.shift(), log_total = log_of(all.sum);
    if (fits) from = kept;
    for (std::int64_t column = begin; column < cols; column += stride) {
        Vector<T, N> values = load_vector<N>(from + column);
#pragma unroll
        for (int i = 0; i < N; ++i) values[i] = store<T>(load(values[i]) - shift - log_total);
        store_vector(y + blockIdx.x * cols + column, values);
    }
}

template <class T, int N>
__global__ void __launch_bounds__(kWideThreads) log_softmax_backward_wide_kernel(const T* dy,  // [rows, cols]
                                                                                 const T* y,   // [rows, cols]
                                                                                 T* dx,        // [rows, cols]
                                                                                 std::int64_t cols, bool fits) {
    using A = Accumulator<T>;
    SharedArena arena;
    A* scratch = arena.take<A>(kBlockReduce);
    T* kept_dy = fits ? arena.take<T>(static_cast<int>(cols)) : nullptr;  // [cols]
    T* kept_y = fits ? arena.take<T>(static_cast<int>(cols)) : nullptr;   // [cols]
    const std::int64_t begin = thread_in_block() * N, stride = kWideThreads * N;
    const T* gradient = dy + blockIdx.x * cols;
    const T* logarithms = y + blockIdx.x * cols;
    A total = 0, mass = 0;
    for (std::int64_t column = begin; column < cols; column += stride) {
        const Vector<T, N> g = load_vector<N>(gradient + column), log_p = load_vector<N>(logarithms + column);
        if (fits) {
            store_vector(kept_dy + column, g);
            store_vector(kept_y + column, log_p);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            total += load(g[i]);
            mass += exponential(load(log_p[i]));
        }
    }
    total = block_sum(total, scratch);
    mass = block_sum(mass, scratch);
    if (fits) {
        gradient = kept_dy;
        logarithms = kept_y;
    }
    for (std::int64_t column = begin; column < cols; column += stride)
        put_gradient<N>(dx + blockIdx.x * cols + column, load_vector<N>(gradient + column), load_vector<N>(logarithms + column),
                        total, mass);
}

template <class T, int N>
void forward(const T* x, T* y, std::int64_t rows, std::int64_t cols) {
    if (cols <= kNarrow<N>) return launch(narrow_rows(rows), log_softmax_narrow_kernel<T, N>, x, y, rows, cols);
    const WideRows wide = wide_rows<T>(rows, cols, 1);
    launch(wide.config, log_softmax_wide_kernel<T, N>, x, y, cols, wide.fit);
}

template <class T, int N>
void backward(const T* dy, const T* y, T* dx, std::int64_t rows, std::int64_t cols) {
    if (cols <= kNarrow<N>) return launch(narrow_rows(rows), log_softmax_backward_narrow_kernel<T, N>, dy, y, dx, rows, cols);
    const WideRows wide = wide_rows<T>(rows, cols, 2);
    launch(wide.config, log_softmax_backward_wide_kernel<T, N>, dy, y, dx, cols, wide.fit);
}

}  // namespace

void log_softmax_forward_cuda(const Tensor& x, Tensor& y) {
    const std::int64_t rows = x.rows(), cols = x.cols();
    if (x.numel() == 0) return;
    dispatch("log_softmax", x.dtype(), [&]<class T>(TypeTag<T>) {
        constexpr int N = kVector<T>;
        if (vectors_fit(x.data<T>(), cols, N) && vectors_fit(y.data<T>(), cols, N))
            forward<T, N>(x.data<T>(), y.mutable_data<T>(), rows, cols);
        else
            forward<T, 1>(x.data<T>(), y.mutable_data<T>(), rows, cols);
    });
}

void log_softmax_backward_cuda(const Tensor& dy, const Tensor& y, Tensor& dx) {
    const std::int64_t rows = y.rows(), cols = y.cols();
    if (y.numel() == 0) return;
    dispatch("log_softmax_backward", y.dtype(), [&]<class T>(TypeTag<T>) {
        constexpr int N = kVector<T>;
        if (vectors_fit(dy.data<T>(), cols, N) && vectors_fit(y.data<T>(), cols, N) && vectors_fit(dx.data<T>(), cols, N))
            backward<T, N>(dy.data<T>(), y.data<T>(), dx.mutable_data<T>(), rows, cols);
        else
            backward<T, 1>(dy.data<T>(), y.data<T>(), dx.mutable_data<T>(), rows, cols);
    });
}

}  // namespace heddle::kernels
