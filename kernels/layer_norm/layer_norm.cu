// Layer normalisation on CUDA, forward; layer_norm.h has the formula.
//
//     narrow   a warp a row, the row in its lanes' registers (up to 1024 columns)
//     wide     a block a row, the row in shared memory when it fits
//
// Numbers. A first mean m is rounded to f32, then the deviations d = x - m give mean(d), which corrects m, and the variance
// mean(d^2) - mean(d)^2: no digit is lost to a large mean, and a constant row gives exactly beta.
//
// Memory traffic of an element of s bytes: x is read and y written once, 2 s; the residual form reads the sublayer and writes the
// sum as well, 4 s. A wide row that does not fit in shared memory is read twice more, from the caches.
#include "kernels/device/contraction.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/random.h"
#include "kernels/device/rows.h"
#include "kernels/device/vector.h"
#include "kernels/layer_norm/detail/layer_norm.h"

namespace heddle::kernels {
namespace {

using namespace device;

template <class T>
struct Arrays {
    const T* x;            // [rows, cols]
    const T* sublayer;     // [rows, cols], or null: x alone is normalised
    const T* gamma;        // [cols]
    const T* beta;         // [cols]
    T* sum;                // [rows, cols], null without a sublayer
    T* y;                  // [rows, cols]
    Accumulator<T>* mean;  // [rows]
    Accumulator<T>* rstd;  // [rows]
    std::int64_t rows, cols;
    Accumulator<T> eps;
    DropoutRule dropout;
};

// N elements of the row to normalise: those of x, or of sum = x + dropout(sublayer), which is written on the way. The sum is
// rounded to T before it is normalised, as when the two ops ran one after another.
template <int N, class T>
__device__ __forceinline__ Vector<T, N> take_input(const Arrays<T>& a, std::int64_t row, std::int64_t column) {
    const std::int64_t at = row * a.cols + column;
    Vector<T, N> values = load_vector<N>(a.x + at);
    if (a.sublayer == nullptr) return values;
    const Vector<T, N> sublayer = load_vector<N>(a.sublayer + at);
    const unsigned kept = kept_in_row(a.dropout, row, column / 8) >> (column % 8);  // N divides 8: one group holds them all
    const auto scale = static_cast<Accumulator<T>>(a.dropout.scale);
#pragma unroll
    for (int i = 0; i < N; ++i)
        values[i] = store<T>(multiply_add(load(sublayer[i]), kept >> i & 1 ? scale : Accumulator<T>{0}, load(values[i])));
    store_vector(a.sum + at, values);
    return values;
}

// y = gamma (x - mean) rstd + beta for N elements.
template <int N, class T>
__device__ __forceinline__ void put_output(const Arrays<T>& a, std::int64_t row, std::int64_t column, const Accumulator<T>* x,
                                           Accumulator<T> mean, Accumulator<T> rstd) {
    const Vector<T, N> gamma = load_vector<N>(a.gamma + column), beta = load_vector<N>(a.beta + column);
    Vector<T, N> y;
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = store<T>((x[i] - mean) * rstd * load(gamma[i]) + load(beta[i]));
    store_vector(a.y + row * a.cols + column, y);
}

// From the sums of d = x - first and of d^2 over n elements.
template <class A>
struct Moments {
    A mean, rstd;
    __device__ __forceinline__ Moments(A first, A sum, A squares, A n, A eps) {
        const A correction = sum / n;
        A variance = squares / n - correction * correction;
        if (variance < 0) variance = 0;  // a NaN stays
        mean = first + correction;
        rstd = inverse_root(variance + eps);
    }
};

// ---- narrow rows

// Warp w of a block takes row 4 blockIdx.x + w; its lane l takes the vectors l, l + 32, ...: neighbouring lanes read neighbouring
// 16 bytes. Between the read of x and the write of y the row is nowhere but in registers; warps need nothing of one another.
template <class T, int N>
__global__ void __launch_bounds__(kNarrowWarps* kWarp) layer_norm_narrow_kernel(Arrays<T> a) {
    using A = Accumulator<T>;
    const std::int64_t row = narrow_row();
    if (row >= a.rows) return;
    const auto n = static_cast<A>(a.cols);
    A x[kSteps<N> * N];
    A total = 0;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= a.cols) break;
        const Vector<T, N> values = take_input<N>(a, row, column);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[step * N + i] = load(values[i]);
            total += x[step * N + i];
        }
    }
    const A first = warp_sum(total) / n;
    A sum = 0, squares = 0;
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        if ((step * kWarp + lane()) * N >= a.cols) break;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const A deviation = x[step * N + i] - first;
            sum += deviation;
            squares += deviation * deviation;
        }
    }
    const Moments<A> moments(first, warp_sum(sum), warp_sum(squares), n, a.eps);
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= a.cols) break;
        put_output<N>(a, row, column, x + step * N, moments.mean, moments.rstd);
    }
    if (lane() == 0) {
        a.mean[row] = moments.mean;
        a.rstd[row] = moments.rstd;
    }
}

// ---- wide rows

// Block r takes row r, its thread t the vectors t, t + 256, ... A thread reads back only what it wrote itself, in shared memory
// and of the sum, so no barrier stands between the passes but those of the sums.
template <class T, int N>
__global__ void __launch_bounds__(kWideThreads) layer_norm_wide_kernel(Arrays<T> a, bool fits) {
    using A = Accumulator<T>;
    SharedArena arena;
    A* scratch = arena.take<A>(kBlockReduce);
    T* kept = fits ? arena.take<T>(static_cast<int>(a.cols)) : nullptr;  // [cols]
    const std::int64_t row = blockIdx.x;
    const std::int64_t begin = thread_in_block() * N, stride = kWideThreads * N;
    const auto n = static_cast<A>(a.cols);
    A total = 0;
    for (std::int64_t column = begin; column < a.cols; column += stride) {
        const Vector<T, N> values = take_input<N>(a, row, column);
        if (fits) store_vector(kept + column, values);
#pragma unroll
        for (int i = 0; i < N; ++i) total += load(values[i]);
    }
    const T* x = fits ? kept : (a.sublayer == nullptr ? a.x : a.sum) + row * a.cols;
    const A first = block_sum(total, scratch) / n;
    A sum = 0, squares = 0;
    for (std::int64_t column = begin; column < a.cols; column += stride) {
        const Vector<T, N> values = load_vector<N>(x + column);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const A deviation = load(values[i]) - first;
            sum += deviation;
            squares += deviation * deviation;
        }
    }
    sum = block_sum(sum, scratch);
    squares = block_sum(squares, scratch);
    const Moments<A> moments(first, sum, squares, n, a.eps);
    for (std::int64_t column = begin; column < a.cols; column += stride) {
        const Vector<T, N> values = load_vector<N>(x + column);
        A numbers[N];
#pragma unroll
        for (int i = 0; i < N; ++i) numbers[i] = load(values[i]);
        put_output<N>(a, row, column, numbers, moments.mean, moments.rstd);
    }
    if (thread_in_block() == 0) {
        a.mean[row] = moments.mean;
        a.rstd[row] = moments.rstd;
    }
}

template <class T, int N>
void run(const Arrays<T>& a) {
    if (a.cols <= kNarrow<N>) return launch(narrow_rows(a.rows), layer_norm_narrow_kernel<T, N>, a);
    const WideRows rows = wide_rows<T>(a.rows, a.cols, 1);
    launch(rows.config, layer_norm_wide_kernel<T, N>, a, rows.fit);
}

}  // namespace

void layer_norm_forward_cuda(const Tensor& x, const Tensor& sublayer, const Tensor& gamma, const Tensor& beta, double eps,
                             const Dropout& dropout, LayerNormResult& result) {
    dispatch("layer_norm", x.dtype(), [&]<class T>(TypeTag<T>) {
        using A = Accumulator<T>;
        const bool residual = sublayer.defined();
        const Arrays<T> a{.x = x.data<T>(),
                          .sublayer = residual ? sublayer.data<T>() : nullptr,
                          .gamma = gamma.data<T>(),
                          .beta = beta.data<T>(),
                          .sum = residual ? result.sum.mutable_data<T>() : nullptr,
                          .y = result.y.mutable_data<T>(),
                          .mean = result.mean.mutable_data<A>(),
                          .rstd = result.rstd.mutable_data<A>(),
                          .rows = x.rows(),
                          .cols = x.cols(),
                          .eps = static_cast<A>(eps),
                          .dropout = DropoutRule(dropout)};
        constexpr int N = kVector<T>;
        const auto fit = [&](const T* pointer) { return pointer == nullptr || vectors_fit(pointer, a.cols, N); };
        if (fit(a.x) && fit(a.sublayer) && fit(a.gamma) && fit(a.beta) && fit(a.sum) && fit(a.y))
            run<T, N>(a);
        else
            run<T, 1>(a);
    });
}

}  // namespace heddle::kernels
