// Updates of all parameters on CUDA; adam.h has the formulas.
//
// One launch for the whole model: parameters, gradients and moments are one array each, so thread i takes the i-th vector of each
// active range, and then the one a grid further on. Elements need nothing of one another.
//
// Memory traffic of an element of s bytes: Adam reads p, g, m and v and writes p, m and v, 7 s; gradient descent 5 s. The bf16
// copy of the weights that the forward pass works with is 2 bytes more, and saves a pass of its own.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/dispatch.h"
#include "kernels/adam/detail/adam.h"
#include "kernels/device/sweep.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 2048;

template <class T>
struct Arrays {
    T* parameters;               // [n]
    const T* gradients;          // [n]
    T* first;                    // [n]: Adam's m, or the momentum
    T* second;                   // [n]: Adam's v
    bf16* copy;                  // [n], or null: not wanted
    const std::int32_t* ranges;  // [count, 2]: start, length of what is active
    std::int64_t count;
    const double* measured;  // [2]: norm and factor, or null: the step's own factor
    const double* numbers;   // [3]: step_numbers(), or null: the step's own
};

// Whether there is an update, and with which factor. A norm that is NaN or infinite leaves everything as it is; every thread
// comes to the same answer.
template <class T>
__device__ __forceinline__ bool take_factor(const Arrays<T>& a, T& factor) {
    if (a.measured == nullptr) return true;
    const double norm = a.measured[0];
    factor = static_cast<T>(a.measured[1]);
    return norm - norm == 0;
}

// Below the smallest normal number: 0, as on the CPU.
__device__ __forceinline__ float without_subnormals(float x) { return fabsf(x) < 1.17549435e-38f ? 0.0f : x; }
__device__ __forceinline__ double without_subnormals(double x) { return fabs(x) < 2.2250738585072014e-308 ? 0.0 : x; }
__device__ __forceinline__ float root(float x) { return sqrtf(x); }
__device__ __forceinline__ double root(double x) { return sqrt(x); }

// body(Width<M>(), start) for what is this thread's: vectors of N, and single elements where a range does not begin or end at a
// whole vector.
template <int N, class T, class Body>
__device__ __forceinline__ void for_own_vectors(const Arrays<T>& a, Body&& body) {
    const std::int64_t own = std::int64_t{blockIdx.x} * kThreads + threadIdx.x, stride = std::int64_t{gridDim.x} * kThreads;
    for (std::int64_t range = 0; range < a.count; ++range) {
        const std::int64_t start = a.ranges[2 * range], length = a.ranges[2 * range + 1];
        const std::int64_t head = min((N - start % N) % N, length), tail = (length - head) % N;
        if (own < head) body(Width<1>(), start + own);
        for (std::int64_t i = own * N; i < length - head - tail; i += stride * N) body(Width<N>(), start + head + i);
        if (own < tail) body(Width<1>(), start + length - tail + own);
    }
}

template <int N, class T>
__device__ __forceinline__ void put_parameters(const Arrays<T>& a, std::int64_t at, const Vector<T, N>& p) {
    store_vector(a.parameters + at, p);
    if (a.copy == nullptr) return;
    Vector<bf16, N> rounded;
#pragma unroll
    for (int i = 0; i < N; ++i) rounded[i] = store<bf16>(static_cast<float>(p[i]));
    store_vector_whole(a.copy + at, rounded);
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) adam_kernel(Arrays<T> a, AdamCoefficients<T> c) {
    if (!take_factor(a, c.gradient_factor)) return;
    if (a.numbers != nullptr) take_numbers(a.numbers, c);
    for_own_vectors<N>(a, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> p = load_vector<M>(a.parameters + at), m = load_vector<M>(a.first + at), v = load_vector<M>(a.second + at);
        const Vector<T, M> gradient = load_vector<M>(a.gradients + at);
#pragma unroll
        for (int i = 0; i < M; ++i) {
            const T g = gradient[i] * c.gradient_factor + c.l2 * p[i];
            m[i] = without_subnormals(c.beta1 * m[i] + c.rest1 * g);
            v[i] = without_subnormals(c.beta2 * v[i] + c.rest2 * g * g);
            p[i] = updated(p[i], c.keep * p[i] - c.rate * m[i] / (root(v[i]) * c.root + c.eps));
        }
        store_vector(a.first + at, m);
        store_vector(a.second + at, v);
        put_parameters<M>(a, at, p);
    });
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) sgd_kernel(Arrays<T> a, SgdCoefficients<T> c) {
    if (!take_factor(a, c.gradient_factor)) return;
    if (a.numbers != nullptr) take_numbers(a.numbers, c);
    for_own_vectors<N>(a, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> p = load_vector<M>(a.parameters + at), m = load_vector<M>(a.first + at);
        const Vector<T, M> gradient = load_vector<M>(a.gradients + at);
#pragma unroll
        for (int i = 0; i < M; ++i) {
            m[i] = without_subnormals(c.momentum * m[i] + (gradient[i] * c.gradient_factor + c.l2 * p[i]));
            p[i] = updated(p[i], p[i] - c.lr * m[i]);
        }
        store_vector(a.first + at, m);
        put_parameters<M>(a, at, p);
    });
}

template <class T>
Arrays<T> arrays(Tensor& parameters, const Tensor& gradients, Tensor& first, Tensor second, const Tensor& ranges,
                 std::int64_t count, UpdateInMemory& memory) {
    return {.parameters = parameters.mutable_data<T>(),
            .gradients = gradients.data<T>(),
            .first = first.mutable_data<T>(),
            .second = second.defined() ? second.mutable_data<T>() : nullptr,
            .copy = memory.bf16_copy.defined() ? memory.bf16_copy.mutable_data<bf16>() : nullptr,
            .ranges = ranges.data<std::int32_t>(),
            .count = count,
            .measured = memory.measured.defined() ? memory.measured.data<double>() : nullptr,
            .numbers = memory.numbers.defined() ? memory.numbers.data<double>() : nullptr};
}

// Whether every array begins at a whole vector of N.
template <class T>
bool all_fit(const Arrays<T>& a, int n) {
    const auto fit = [n](const auto* pointer) { return pointer == nullptr || vectors_fit(pointer, n, n); };
    return fit(a.parameters) && fit(a.gradients) && fit(a.first) && fit(a.second) && fit(a.copy);
}

LaunchConfig geometry(const Spans& active, int n) {
    return {.grid = static_cast<unsigned>(std::min<std::int64_t>(kMostBlocks, blocks_for(active.longest(), kThreads * n))),
            .block = kThreads};
}

// body(type tag) for the two types that parameters have: master weights are never bf16.
template <class Body>
void dispatch_parameters(const char* op, DType dtype, Body&& body) {
    if (dtype == DType::f32) return body(TypeTag<float>{});
    if (dtype == DType::f64) return body(TypeTag<double>{});
    fail(std::string(op) + ": parameters are f32 or f64, but were given as " + std::string(name(dtype)));
}

}  // namespace

void adam_step_cuda(Tensor& parameters, const Tensor& gradients, Tensor& first_moment, Tensor& second_moment, const Spans& active,
                    const AdamStep& step, UpdateInMemory& memory) {
    if (active.tokens() == 0) return;
    const Tensor ranges = active.on_device();
    dispatch_parameters("adam", parameters.dtype(), [&]<class T>(TypeTag<T>) {
        const Arrays<T> a = arrays<T>(parameters, gradients, first_moment, second_moment, ranges, active.size(), memory);
        constexpr int N = kVector<T>;
        if (all_fit(a, N))
            launch(geometry(active, N), adam_kernel<T, N>, a, adam_coefficients<T>(step));
        else
            launch(geometry(active, 1), adam_kernel<T, 1>, a, adam_coefficients<T>(step));
    });
}

void sgd_step_cuda(Tensor& parameters, const Tensor& gradients, Tensor& momentum, const Spans& active, const SgdStep& step,
                   UpdateInMemory& memory) {
    if (active.tokens() == 0) return;
    const Tensor ranges = active.on_device();
    dispatch_parameters("sgd", parameters.dtype(), [&]<class T>(TypeTag<T>) {
        const Arrays<T> a = arrays<T>(parameters, gradients, momentum, {}, ranges, active.size(), memory);
        constexpr int N = kVector<T>;
        if (all_fit(a, N))
            launch(geometry(active, N), sgd_kernel<T, N>, a, sgd_coefficients<T>(step));
        else
            launch(geometry(active, 1), sgd_kernel<T, 1>, a, sgd_coefficients<T>(step));
    });
}

}  // namespace heddle::kernels
