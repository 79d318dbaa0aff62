// Swish on CUDA; swish.h has the formula.
//
// Who owns what: a block 32 vectors of columns of 256 rows, its thread (x, y) vector x of every eighth row. Sums over rows have
// one order: 32 rows in a thread's registers, then these parts.
#include "kernels/cast/cast.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/vector.h"
#include "kernels/linear/linear.h"
#include "kernels/swish/swish.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kWidth = 32, kHeight = 8, kRows = 256;

// Calls body(at) for each vector of this thread, `at` being its offset in [rows, cols].
template <class Body>
__device__ __forceinline__ void own_vectors(std::int64_t rows, std::int64_t cols, std::int64_t part, std::int64_t col,
                                            Body body) {
    const std::int64_t last = min(rows, (part + 1) * kRows);
    if (col < cols)
        for (std::int64_t i = part * kRows + threadIdx.y; i < last; i += kHeight) body(i * cols + col);
}

// x, y [rows, cols], beta [cols]
template <class T, int N>
__global__ void __launch_bounds__(kWidth* kHeight)
    swish_forward_kernel(const T* x, const T* beta, T* y, std::int64_t rows, std::int64_t cols) {
    using A = Accumulator<T>;
    const std::int64_t strips = (cols + kWidth * N - 1) / (kWidth * N), part = blockIdx.x / strips;
    const std::int64_t col = (blockIdx.x % strips * kWidth + threadIdx.x) * N;
    const Vector<T, N> slopes = col < cols ? load_vector<N>(beta + col) : Vector<T, N>{};
    own_vectors(rows, cols, part, col, [&](std::int64_t at) {
        Vector<T, N> values = load_vector<N>(x + at);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const A value = load(values[j]);
            values[j] = store<T>(value / (A{1} + exponential(-load(slopes[j]) * value)));
        }
        store_vector(y + at, values);
    });
}

// dy, x, dx [rows, cols], beta [cols], parts [rows / kRows kHeight, cols]
template <class T, int N>
__global__ void __launch_bounds__(kWidth* kHeight)
    swish_backward_kernel(const T* dy, const T* x, const T* beta, T* dx, Accumulator<T>* parts, std::int64_t rows,
                          std::int64_t cols) {
    using A = Accumulator<T>;
    const std::int64_t strips = (cols + kWidth * N - 1) / (kWidth * N), part = blockIdx.x / strips;
    const std::int64_t col = (blockIdx.x % strips * kWidth + threadIdx.x) * N;
    const Vector<T, N> slopes = col < cols ? load_vector<N>(beta + col) : Vector<T, N>{};
    A own[N] = {};
    own_vectors(rows, cols, part, col, [&](std::int64_t at) {
        Vector<T, N> gradient = load_vector<N>(dy + at);
        const Vector<T, N> values = load_vector<N>(x + at);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const A value = load(values[j]), d = load(gradient[j]), z = load(slopes[j]) * value;
            const A e = exponential(z > 0 ? -z : z), r = A{1} / (A{1} + e), gate = e * r * r;  // gate = s (1 - s)
            gradient[j] = store<T>(d * ((z > 0 ? r : e * r) + z * gate));
            own[j] += d * value * value * gate;
        }
        store_vector(dx + at, gradient);
    });
    if (col >= cols) return;
#pragma unroll
    for (int j = 0; j < N; ++j) parts[(part * kHeight + threadIdx.y) * cols + col + j] = own[j];
}

LaunchConfig config_of(std::int64_t rows, std::int64_t cols, int width) {
    return {.grid = dim3(blocks_for(cols, kWidth * width) * blocks_for(rows, kRows)), .block = dim3(kWidth, kHeight)};
}

}  // namespace

void swish_forward_cuda(const Tensor& x, const Tensor& beta, Tensor& y) {
    dispatch("swish", x.dtype(), [&]<class T>(TypeTag<T>) {
        const std::int64_t rows = x.rows(), cols = x.cols();
        const T *from = x.data<T>(), *slope = beta.data<T>();
        T* to = y.mutable_data<T>();
        constexpr int kN = kVector<T>;
        const bool fit = vectors_fit(from, cols, kN) && vectors_fit(slope, cols, kN) && vectors_fit(to, cols, kN);
        launch(config_of(rows, cols, fit ? kN : 1), fit ? swish_forward_kernel<T, kN> : swish_forward_kernel<T, 1>, from, slope,
               to, rows, cols);
    });
}

void swish_backward_cuda(const Tensor& dy, const Tensor& x, const Tensor& beta, Tensor& dx, Tensor dbeta) {
    dispatch("swish_backward", x.dtype(), [&]<class T>(TypeTag<T>) {
        const std::int64_t rows = x.rows(), cols = x.cols();
        const T *gradient = dy.data<T>(), *from = x.data<T>(), *slope = beta.data<T>();
        T* to = dx.mutable_data<T>();
        Tensor parts = Tensor::empty({blocks_for(rows, kRows) * kHeight, cols}, dtype_of<Accumulator<T>>(), Device::cuda);
        constexpr int kN = kVector<T>;
        const bool fit = vectors_fit(gradient, cols, kN) && vectors_fit(from, cols, kN) && vectors_fit(slope, cols, kN) &&
                         vectors_fit(to, cols, kN);
        launch(config_of(rows, cols, fit ? kN : 1), fit ? swish_backward_kernel<T, kN> : swish_backward_kernel<T, 1>, gradient,
               from, slope, to, parts.mutable_data<Accumulator<T>>(), rows, cols);
        if (!dbeta.defined()) return;
        BiasSum sum{parts, cast(dbeta, parts.dtype())};  // dbeta itself unless it is bf16
        linear_backward_biases_cuda({&sum, 1});
        if (dbeta.dtype() != parts.dtype()) dbeta.copy_(cast(sum.dbias, dbeta.dtype()));
    });
}

}  // namespace heddle::kernels
