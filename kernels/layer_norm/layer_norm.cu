// Layer and RMS normalisation on CUDA, forward; layer_norm.h has the formulas.
//
//     narrow   a warp a row, the row in its lanes' registers (up to 1024 columns)
//     wide     a block a row, the row in shared memory when it fits
//
// Numbers. A first mean m is rounded to f32, then the deviations d = x - m give mean(d), which corrects m, and the variance
// mean(d^2) - mean(d)^2: no digit is lost to a large mean, and a constant row gives exactly beta. A row whose squares overflow is
// read once more, each number times a power of two.
//
// RMS: m = 0, its deviations are the numbers, and mean(d) counts as 0. All threads know which of the two it is from the start.
//
// Memory traffic of an element of s bytes: x is read and y written once, 2 s; the residual form reads the sublayer and writes the
// sum as well, 4 s. A wide row that does not fit in shared memory is read twice more, from the caches.
#include "kernels/device/contraction.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/random.h"
#include "kernels/device/rows.h"
#include "kernels/device/vector.h"
#include "kernels/layer_norm/layer_norm.h"

namespace heddle::kernels {
namespace {

using namespace device;

template <class T>
struct Arrays {
    const T* x;            // [rows, cols]
    const T* sublayer;     // [rows, cols], or null: x alone is normalised
    const T* gamma;        // [cols]
    const T* beta;         // [cols], null for RMS
    T* sum;                // [rows, cols], null without a sublayer
    T* y;                  // [rows, cols]
    Accumulator<T>* mean;  // [rows], null for RMS
    Accumulator<T>* rstd;  // [rows]
    std::int64_t rows, cols;
    Accumulator<T> eps;
    DropoutRule dropout;

    __device__ __forceinline__ bool centred() const { return mean != nullptr; }
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

// y = gamma (x - mean) rstd + beta for N elements, or without beta.
template <int N, class T>
__device__ __forceinline__ void put_output(const Arrays<T>& a, std::int64_t row, std::int64_t column, const Accumulator<T>* x,
                                           Accumulator<T> mean, Accumulator<T> rstd) {
    const Vector<T, N> gamma = load_vector<N>(a.gamma + column);
    Vector<T, N> y;
    if (a.beta != nullptr) {
        const Vector<T, N> beta = load_vector<N>(a.beta + column);
#pragma unroll
        for (int i = 0; i < N; ++i) y[i] = store<T>((x[i] - mean) * rstd * load(gamma[i]) + load(beta[i]));
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) y[i] = store<T>(x[i] * rstd * load(gamma[i]));
    }
    store_vector(a.y + row * a.cols + column, y);
}

template <class A>
struct Moments {
    A mean, variance;
    // From the sums of d = x - first and of d^2 over n elements.
    __device__ __forceinline__ Moments(A first, A sum, A squares, A n) {
        const A correction = sum / n;
        mean = first + correction;
        variance = squares / n - correction * correction;
        if (variance < 0) variance = 0;  // a NaN stays
    }
};

template <class A>
struct Statistics {
    A mean, rstd;
};

// The statistics of a row, x [cols], whose moments were taken from the numbers as they are. The thread has the vectors at begin,
// begin + stride, ...; `sum` adds up over the row's threads. Where the squares overflowed, the variance is infinite, or NaN if
// the sum overflowed, too; the result would be beta or NaN. Then the threads read their vectors again, times a factor that keeps
// the digits and makes the squares fit. Eps matters there only if the true variance is 0.
template <int N, class T, class Sum>
__device__ __forceinline__ Statistics<Accumulator<T>> statistics_of(const Moments<Accumulator<T>>& moments, const T* x,
                                                                    std::int64_t cols, std::int64_t begin, std::int64_t stride,
                                                                    Accumulator<T> eps, bool centred, Sum sum) {
    using A = Accumulator<T>;
    const A rstd = inverse_root(moments.variance + eps);
    if (rstd > 0) return {moments.mean, rstd};
    constexpr A factor = sizeof(A) == sizeof(double) ? static_cast<A>(0x1p-540) : static_cast<A>(0x1p-80);
    const auto for_each = [&](auto use) {
#pragma unroll 1  // rarely runs: it must not cost the rest registers
        for (std::int64_t column = begin; column < cols; column += stride) {
            const Vector<T, N> values = load_vector<N>(x + column);
            for (int i = 0; i < N; ++i) use(load(values[i]) * factor);
        }
    };
    const auto n = static_cast<A>(cols);
    A total = 0, deviations = 0, squares = 0;
    if (centred) for_each([&](A value) { total += value; });
    const A first = sum(total) / n;
    for_each([&](A value) {
        if (centred) deviations += value - first;
        squares += (value - first) * (value - first);
    });
    deviations = sum(deviations);
    const Moments<A> small(first, deviations, sum(squares), n);
    const A small_rstd = inverse_root(small.variance) * factor, most = inverse_root(eps);
    return {small.mean / factor, small_rstd > most ? most : small_rstd};  // a NaN stays
}

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
    const A first = a.centred() ? warp_sum(total) / n : A{0};
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
    sum = a.centred() ? warp_sum(sum) : A{0};
    const Moments<A> moments(first, sum, warp_sum(squares), n);
    const auto [mean, rstd] = statistics_of<N>(moments, (a.sublayer == nullptr ? a.x : a.sum) + row * a.cols, a.cols, lane() * N,
                                               kWarp * N, a.eps, a.centred(), [](A value) { return warp_sum(value); });
#pragma unroll
    for (int step = 0; step < kSteps<N>; ++step) {
        const int column = (step * kWarp + lane()) * N;
        if (column >= a.cols) break;
        put_output<N>(a, row, column, x + step * N, mean, rstd);
    }
    if (lane() == 0) {
        if (a.centred()) a.mean[row] = mean;
        a.rstd[row] = rstd;
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
    const A first = a.centred() ? block_sum(total, scratch) / n : A{0};
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
    sum = a.centred() ? block_sum(sum, scratch) : A{0};
    squares = block_sum(squares, scratch);
    const auto [mean, rstd] = statistics_of<N>(Moments<A>(first, sum, squares, n), x, a.cols, begin, stride, a.eps, a.centred(),
                                               [scratch](A value) { return block_sum(value, scratch); });
    for (std::int64_t column = begin; column < a.cols; column += stride) {
        const Vector<T, N> values = load_vector<N>(x + column);
        A numbers[N];
#pragma unroll
        for (int i = 0; i < N; ++i) numbers[i] = load(values[i]);
        put_output<N>(a, row, column, numbers, mean, rstd);
    }
    if (thread_in_block() == 0) {
        if (a.centred()) a.mean[row] = mean;
        a.rstd[row] = rstd;
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
                          .beta = beta.defined() ? beta.data<T>() : nullptr,
                          .sum = residual ? result.sum.mutable_data<T>() : nullptr,
                          .y = result.y.mutable_data<T>(),
                          .mean = result.mean.defined() ? result.mean.mutable_data<A>() : nullptr,
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
