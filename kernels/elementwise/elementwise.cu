// Arithmetic element by element on CUDA; elementwise.h has the formulas.
//
// Who owns what: a thread 16 bytes of the result. Two cases in what a thread must know to find its operands:
//
// - unary, binary: all arrays have one shape, so an index is an index (sweep.h).
// - broadcast: y is seen as rows of the innermost axis; which part of an operand belongs to a row is a sum of index times step
//   over the outer axes, a division each. Along a row an operand has step 1 and is read 16 bytes at a time, or step 0 and its
//   one element serves all.
//
// Which function it is, all threads agree on, so a switch in the kernel costs next to nothing, and one kernel serves all
// functions.
//
// Memory traffic of an element of s bytes: 2 s for one operand, 3 s for two; what is repeated comes from the caches.
#include "kernels/device/dispatch.h"
#include "kernels/device/division.h"
#include "kernels/device/sweep.h"
#include "kernels/elementwise/detail/elementwise.h"

namespace heddle::kernels {
namespace {

using namespace device;

template <class A>
__device__ __forceinline__ A compute(Binary function, A a, A b) {
    switch (function) {
        case Binary::add: return a + b;
        case Binary::sub: return a - b;
        case Binary::mul: return a * b;
        case Binary::div: return a / b;
        case Binary::sqrt_backward: return a / (2 * b);
        case Binary::tanh_backward: return a * (1 - b * b);
    }
    return a;
}

__device__ __forceinline__ float compute(Unary function, float x, float factor) {
    switch (function) {
        case Unary::neg: return -x;
        case Unary::exp: return ::expf(x);
        case Unary::log: return ::logf(x);
        case Unary::sqrt: return ::sqrtf(x);
        case Unary::tanh: return ::tanhf(x);
        case Unary::scale: return factor * x;
    }
    return x;
}
__device__ __forceinline__ double compute(Unary function, double x, double factor) {
    switch (function) {
        case Unary::neg: return -x;
        case Unary::exp: return ::exp(x);
        case Unary::log: return ::log(x);
        case Unary::sqrt: return ::sqrt(x);
        case Unary::tanh: return ::tanh(x);
        case Unary::scale: return factor * x;
    }
    return x;
}

// x, y [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock)
    unary_kernel(Unary function, const T* x, Accumulator<T> factor, T* y, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(compute(function, load(values[j]), factor));
        store_vector(y + at, values);
    });
}

// a, b, y [n]; y may be a.
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) binary_kernel(Binary function, const T* a, const T* b, T* y, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(a + at);
        const Vector<T, M> others = load_vector<M>(b + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(compute(function, load(values[j]), load(others[j])));
        store_vector(y + at, values);
    });
}

// BroadcastWalk as a kernel's parameter. The innermost axis is the row's; `axes` counts those outside it. What no axis uses is
// zero: the emulator looks through arguments for addresses of freed memory, and would take stale words for some.
struct Walk {
    std::int64_t rows = 1;
    Divisor cols;
    int axes = 0;
    Divisor extents[Shape::kMaxRank] = {};  // outermost first
    std::int64_t steps[Shape::kMaxRank][BroadcastWalk::kOperands] = {};
    std::int64_t column_steps[BroadcastWalk::kOperands];  // 0 or 1

    explicit Walk(const BroadcastWalk& walk) : rows(walk.rows()), cols(walk.cols()) {
        for (int k = 0; k < BroadcastWalk::kOperands; ++k) column_steps[k] = walk.column_step(k);
        for (std::size_t i = 0; i + 1 < walk.axes().size(); ++i, ++axes) {
            extents[axes] = walk.axes()[i].extent;
            for (std::size_t k = 0; k < BroadcastWalk::kOperands; ++k) steps[axes][k] = walk.axes()[i].steps[k];
        }
    }
    /// Whether N elements of a row can be taken at once from an operand.
    template <class T>
    bool fits(int operand, const T* pointer) const {
        return column_steps[operand] == 0 || vectors_fit(pointer, cols.number, kVector<T>);
    }
};

// Position of a thread's N elements in the result and, in `at`, in the operands.
struct Place {
    bool inside;
    std::int64_t result;
    std::int64_t at[BroadcastWalk::kOperands];
};

template <int N>
__device__ __forceinline__ Place place_of(const Walk& walk) {
    const std::int64_t first = (std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x) * N;
    std::int64_t row = first / walk.cols;
    const std::int64_t column = first - row * walk.cols.number;
    Place place = {
        row < walk.rows, first, {column * walk.column_steps[0], column * walk.column_steps[1], column * walk.column_steps[2]}};
    for (int i = walk.axes - 1; i >= 0; --i) {
        const std::int64_t further = row / walk.extents[i], along = row - further * walk.extents[i].number;
        row = further;
        for (int k = 0; k < BroadcastWalk::kOperands; ++k) place.at[k] += along * walk.steps[i][k];
    }
    return place;
}

// N elements of an operand, or its one element N times.
template <int N, class T>
__device__ __forceinline__ Vector<T, N> take(const T* operand, std::int64_t column_step) {
    if (column_step != 0) return load_vector<N>(operand);
    Vector<T, N> values;
    const T value = *operand;
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] = value;
    return values;
}

// y [rows, cols]; a, b of what shapes broadcast to it.
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) broadcast_kernel(Binary function, const T* a, const T* b, Walk walk, T* y) {
    const Place place = place_of<N>(walk);
    if (!place.inside) return;
    Vector<T, N> values = take<N>(a + place.at[0], walk.column_steps[0]);
    const Vector<T, N> others = take<N>(b + place.at[1], walk.column_steps[1]);
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] = store<T>(compute(function, load(values[j]), load(others[j])));
    store_vector(y + place.result, values);
}

// The same for condition ? a : b. What is not chosen is read, but goes nowhere.
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock)
    where_kernel(const std::uint8_t* condition, const T* a, const T* b, Walk walk, T* y) {
    const Place place = place_of<N>(walk);
    if (!place.inside) return;
    Vector<T, N> values = take<N>(a + place.at[1], walk.column_steps[1]);
    const Vector<T, N> others = take<N>(b + place.at[2], walk.column_steps[2]);
#pragma unroll
    for (int j = 0; j < N; ++j)
        if (condition[place.at[0] + j * walk.column_steps[0]] == 0) values[j] = others[j];
    store_vector(y + place.result, values);
}

}  // namespace

void unary_cuda(Unary function, const Tensor& x, double factor, Tensor& y) {
    dispatch("elementwise", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        with_width<T>({from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(x.numel(), N), unary_kernel<T, N>, function, from, static_cast<Accumulator<T>>(factor), to,
                   x.numel());
        });
    });
}

void binary_cuda(Binary function, const Tensor& a, const Tensor& b, const BroadcastWalk& walk, Tensor& y) {
    dispatch("elementwise", a.dtype(), [&]<class T>(TypeTag<T>) {
        const T *from_a = a.data<T>(), *from_b = b.data<T>();
        T* to = y.mutable_data<T>();
        if (a.numel() == y.numel() && b.numel() == y.numel())
            return with_width<T>({from_a, from_b, to}, [&]<int N>(Width<N>) {
                launch(sweep_config(y.numel(), N), binary_kernel<T, N>, function, from_a, from_b, to, y.numel());
            });
        constexpr int N = kVector<T>;
        const Walk steps(walk);
        if (steps.fits(0, from_a) && steps.fits(1, from_b) && vectors_fit(to, steps.cols.number, N))
            launch(sweep_config(y.numel(), N), broadcast_kernel<T, N>, function, from_a, from_b, steps, to);
        else
            launch(sweep_config(y.numel(), 1), broadcast_kernel<T, 1>, function, from_a, from_b, steps, to);
    });
}

void where_cuda(const Tensor& condition, const Tensor& a, const Tensor& b, const BroadcastWalk& walk, Tensor& y) {
    dispatch("where", a.dtype(), [&]<class T>(TypeTag<T>) {
        const auto* choice = condition.data<std::uint8_t>();
        const T *from_a = a.data<T>(), *from_b = b.data<T>();
        T* to = y.mutable_data<T>();
        constexpr int N = kVector<T>;
        const Walk steps(walk);
        if (steps.fits(1, from_a) && steps.fits(2, from_b) && vectors_fit(to, steps.cols.number, N))
            launch(sweep_config(y.numel(), N), where_kernel<T, N>, choice, from_a, from_b, steps, to);
        else
            launch(sweep_config(y.numel(), 1), where_kernel<T, 1>, choice, from_a, from_b, steps, to);
    });
}

void accumulate_cuda(Tensor& target, const Tensor& x) {
    dispatch("accumulate", target.dtype(), [&]<class T>(TypeTag<T>) {
        T* to = target.mutable_data<T>();
        const T* from = x.data<T>();
        with_width<T>({to, from}, [&]<int N>(Width<N>) {
            launch(sweep_config(target.numel(), N), binary_kernel<T, N>, Binary::add, to, from, to, target.numel());
        });
    });
}

}  // namespace heddle::kernels
