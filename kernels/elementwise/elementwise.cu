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

// The functions by their names for f32 and f64.
__device__ __forceinline__ float power(float a, float b) { return ::powf(a, b); }
__device__ __forceinline__ double power(double a, double b) { return ::pow(a, b); }
__device__ __forceinline__ float logarithm(float x) { return ::logf(x); }
__device__ __forceinline__ double logarithm(double x) { return ::log(x); }
__device__ __forceinline__ float exponential(float x) { return ::expf(x); }
__device__ __forceinline__ double exponential(double x) { return ::exp(x); }
__device__ __forceinline__ float root(float x) { return ::sqrtf(x); }
__device__ __forceinline__ double root(double x) { return ::sqrt(x); }
__device__ __forceinline__ float sine(float x) { return ::sinf(x); }
__device__ __forceinline__ double sine(double x) { return ::sin(x); }
__device__ __forceinline__ float cosine(float x) { return ::cosf(x); }
__device__ __forceinline__ double cosine(double x) { return ::cos(x); }
__device__ __forceinline__ float hyperbolic_tangent(float x) { return ::tanhf(x); }
__device__ __forceinline__ double hyperbolic_tangent(double x) { return ::tanh(x); }
__device__ __forceinline__ float error_function(float x) { return ::erff(x); }
__device__ __forceinline__ double error_function(double x) { return ::erf(x); }
__device__ __forceinline__ float exponential_less_one(float x) { return ::expm1f(x); }
__device__ __forceinline__ double exponential_less_one(double x) { return ::expm1(x); }
__device__ __forceinline__ float logarithm_of_one_more(float x) { return ::log1pf(x); }
__device__ __forceinline__ double logarithm_of_one_more(double x) { return ::log1p(x); }

template <class A>
__device__ __forceinline__ A sign_of(A x) {
    return x > 0 ? A{1} : x < 0 ? A{-1} : x == 0 ? A{0} : x;
}

// 1 / (1 + e^-x) by the exponential that does not overflow.
template <class A>
__device__ __forceinline__ A logistic(A x) {
    const A e = exponential(x < 0 ? x : -x);
    return (x < 0 ? e : A{1}) / (1 + e);
}

template <class A>
__device__ __forceinline__ A compute(Binary function, A a, A b) {
    switch (function) {
        case Binary::add: return a + b;
        case Binary::sub: return a - b;
        case Binary::mul: return a * b;
        case Binary::div: return a / b;
        case Binary::pow: return power(a, b);
        case Binary::pow_base: return b == 0 ? A{0} : b * power(a, b - 1);
        case Binary::pow_exponent: return a == 0 && b >= 0 ? A{0} : power(a, b) * logarithm(a);
        case Binary::maximum: return a > b || a != a ? a : b;
        case Binary::minimum: return a < b || a != a ? a : b;
        case Binary::maximum_share: return a == b ? A{0.5} : a < b ? A{0} : A{1};
        case Binary::minimum_share: return a == b ? A{0.5} : a > b ? A{0} : A{1};
    }
    return a;
}

// What a function takes beside its argument, in the type that is computed in.
template <class A>
struct Numbers {
    A first, second;
};

template <class A>
__device__ __forceinline__ A compute(Unary function, const Numbers<A>& numbers, A x) {
    switch (function) {
        case Unary::neg: return -x;
        case Unary::exp: return exponential(x);
        case Unary::expm1: return exponential_less_one(x);
        case Unary::log: return logarithm(x);
        case Unary::log1p: return logarithm_of_one_more(x);
        case Unary::sqrt: return root(x);
        case Unary::rsqrt: return 1 / root(x);
        case Unary::square: return x * x;
        case Unary::abs: return x < 0 ? -x : x == 0 ? A{0} : x;
        case Unary::sign: return sign_of(x);
        case Unary::sin: return sine(x);
        case Unary::cos: return cosine(x);
        case Unary::tanh: return hyperbolic_tangent(x);
        case Unary::sigmoid: return logistic(x);
        case Unary::softplus: return (x > 0 ? x : A{0}) + logarithm_of_one_more(exponential(x > 0 ? -x : x));
        case Unary::erf: return error_function(x);
        case Unary::scale: return numbers.first * x;
        case Unary::power: return power(x, numbers.first);
        case Unary::clamp: return x < numbers.first ? numbers.first : x > numbers.second ? numbers.second : x;
    }
    return x;
}

// dx for dy and the saved x or y.
template <class A>
__device__ __forceinline__ A slope(Unary function, const Numbers<A>& numbers, A dy, A saved) {
    constexpr A kSlopeOfErf = A(1.1283791670955126);  // 2 / sqrt(pi)
    const A x = saved, y = saved;
    switch (function) {
        case Unary::neg: return -dy;
        case Unary::exp: return dy * y;
        case Unary::expm1: return dy * (y + 1);
        case Unary::log: return dy / x;
        case Unary::log1p: return dy / (1 + x);
        case Unary::sqrt: return dy / (2 * y);
        case Unary::rsqrt: return A{-0.5} * dy * (y * y * y);
        case Unary::square: return 2 * dy * x;
        case Unary::abs: return dy * sign_of(x);
        case Unary::sign: return A{0};
        case Unary::sin: return dy * cosine(x);
        case Unary::cos: return -dy * sine(x);
        case Unary::tanh: return dy * (1 - y * y);
        case Unary::sigmoid: return dy * (y * (1 - y));
        case Unary::softplus: return dy * logistic(x);
        case Unary::erf: return dy * (kSlopeOfErf * exponential(-x * x));
        case Unary::scale: return numbers.first * dy;
        case Unary::power: return numbers.first == 0 ? A{0} : dy * (numbers.first * power(x, numbers.first - 1));
        case Unary::clamp: return x >= numbers.first && x <= numbers.second ? dy : A{0};
    }
    return dy;
}

template <class A>
__device__ __forceinline__ bool holds(Comparison comparison, A a, A b) {
    switch (comparison) {
        case Comparison::equal: return a == b;
        case Comparison::not_equal: return a != b;
        case Comparison::less: return a < b;
        case Comparison::less_equal: return a <= b;
        case Comparison::greater: return a > b;
        case Comparison::greater_equal: return a >= b;
    }
    return false;
}
__device__ __forceinline__ bool holds(Logical function, std::uint8_t a, std::uint8_t b) {
    const bool left = a != 0, right = b != 0;
    switch (function) {
        case Logical::logical_and: return left && right;
        case Logical::logical_or: return left || right;
        case Logical::logical_xor: return left != right;
    }
    return false;
}

// What is compared: bf16 as f32, other types as they are.
template <class T>
__device__ __forceinline__ T number_of(T x) {
    return x;
}
__device__ __forceinline__ float number_of(bf16 x) { return load(x); }

// x, y [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock)
    unary_kernel(Unary function, Numbers<Accumulator<T>> numbers, const T* x, T* y, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(compute(function, numbers, load(values[j])));
        store_vector(y + at, values);
    });
}

// dy, saved, dx [n]; saved may be dy.
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock)
    slope_kernel(Unary function, Numbers<Accumulator<T>> numbers, const T* dy, const T* saved, T* dx, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(dy + at);
        const Vector<T, M> others = load_vector<M>(saved + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(slope(function, numbers, load(values[j]), load(others[j])));
        store_vector(dx + at, values);
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
// zero, and no member leaves padding behind it: the emulator looks through arguments for addresses of freed memory, and would
// take stale words for some.
struct Walk {
    std::int64_t rows = 1;
    Divisor cols;
    std::int64_t axes = 0;
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
    for (std::int64_t i = walk.axes - 1; i >= 0; --i) {
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

// y u8 of the shape that a and b broadcast to: one element a thread, since masks are a quarter of the traffic at most.
template <class T, class Test>
__global__ void __launch_bounds__(kSweepBlock) flags_kernel(Test test, const T* a, const T* b, Walk walk, std::uint8_t* y) {
    const Place place = place_of<1>(walk);
    if (!place.inside) return;
    y[place.result] = holds(test, number_of(a[place.at[0]]), number_of(b[place.at[1]])) ? 1 : 0;
}

template <class T>
Numbers<Accumulator<T>> numbers_of(const UnaryNumbers& numbers) {
    return {static_cast<Accumulator<T>>(numbers.first), static_cast<Accumulator<T>>(numbers.second)};
}

}  // namespace

void unary_cuda(Unary function, const UnaryNumbers& numbers, const Tensor& x, Tensor& y) {
    dispatch(name(function), x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        with_width<T>({from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(x.numel(), N), unary_kernel<T, N>, function, numbers_of<T>(numbers), from, to, x.numel());
        });
    });
}

void unary_backward_cuda(Unary function, const UnaryNumbers& numbers, const Tensor& dy, const Tensor& saved, Tensor& dx) {
    dispatch(name(function), dy.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *from = saved.data<T>();
        T* to = dx.mutable_data<T>();
        with_width<T>({gradient, from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(dy.numel(), N), slope_kernel<T, N>, function, numbers_of<T>(numbers), gradient, from, to,
                   dy.numel());
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

void compare_cuda(Comparison comparison, const Tensor& a, const Tensor& b, const BroadcastWalk& walk, Tensor& y) {
    dispatch_any(a.dtype(), [&]<class T>(TypeTag<T>) {
        launch(sweep_config(y.numel(), 1), flags_kernel<T, Comparison>, comparison, a.data<T>(), b.data<T>(), Walk(walk),
               y.mutable_data<std::uint8_t>());
    });
}

void logical_cuda(Logical function, const Tensor& a, const Tensor& b, const BroadcastWalk& walk, Tensor& y) {
    launch(sweep_config(y.numel(), 1), flags_kernel<std::uint8_t, Logical>, function, a.data<std::uint8_t>(),
           b.data<std::uint8_t>(), Walk(walk), y.mutable_data<std::uint8_t>());
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
