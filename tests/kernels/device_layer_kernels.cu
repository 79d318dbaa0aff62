#include "tests/kernels/device_layer_kernels.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "core/device.h"
#include "core/error.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/division.h"
#include "kernels/device/launch.h"
#include "kernels/device/random.h"
#include "kernels/device/reduce.h"
#include "kernels/device/swizzle.h"

namespace heddle::testing_kernels {
namespace {

using namespace heddle::device;

// y [n]: first, first + 1, .. divided
__global__ void quotients_kernel(std::int64_t first, Divisor by, double* y, std::int64_t n) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = static_cast<double>((first + i) / by);
}

__global__ void to_bf16_kernel(const float* x, bf16* y, std::int64_t n) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = store<bf16>(x[i]);
}

__global__ void from_bf16_kernel(const bf16* x, float* y, std::int64_t n) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = load(x[i]);
}

template <class T>
__global__ void functions_kernel(const T* x, T* y, std::int64_t n) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    const T magnitude = x[i] < 0 ? -x[i] : x[i];
    y[i] = exponential(x[i]);
    y[n + i] = logarithm(magnitude);
    y[2 * n + i] = inverse_root(magnitude);
    y[3 * n + i] = larger(x[i], T(0.5));
}

__global__ void nothing_kernel(float*) {}

__global__ void lanes_of_two_axes_kernel() { require(lane() >= 0, "a lane is negative"); }

__global__ void require_positive_kernel(const float* x) { require(x[threadIdx.x] >= 0, "a number is negative"); }

}  // namespace

void to_bf16(const Tensor& x, Tensor& y) {
    launch({.grid = blocks_for(x.numel(), 128), .block = 128}, to_bf16_kernel, x.data<float>(), y.mutable_data<bf16>(),
           x.numel());
}

void from_bf16(const Tensor& x, Tensor& y) {
    launch({.grid = blocks_for(x.numel(), 128), .block = 128}, from_bf16_kernel, x.data<bf16>(), y.mutable_data<float>(),
           x.numel());
}

void functions(const Tensor& x, Tensor& y) {
    const LaunchConfig config{.grid = blocks_for(x.numel(), 128), .block = 128};
    if (x.dtype() == DType::f64)
        launch(config, functions_kernel<double>, x.data<double>(), y.mutable_data<double>(), x.numel());
    else
        launch(config, functions_kernel<float>, x.data<float>(), y.mutable_data<float>(), x.numel());
}

void on_another_stream(const std::function<void()>& body) {
    // Never destroyed: memory that was taken in its order is given back in it.
    static const cudaStream_t stream = [] {
        cudaStream_t made = nullptr;
        if (cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking) != cudaSuccess) throw Error("no stream");
        return made;
    }();
    const device::WithStream with(stream);
    body();
    device::synchronize();
}

void quotients(std::int64_t first, std::int64_t by, Tensor& y) {
    launch({.grid = blocks_for(y.numel(), 64), .block = 64}, quotients_kernel, first, by, y.mutable_data<double>(), y.numel());
}

void launch_with(Tensor& y, unsigned grid_y, unsigned threads, std::size_t shared) {
    launch({.grid = dim3(1, grid_y), .block = threads, .shared = shared}, nothing_kernel, y.mutable_data<float>());
}

void lanes_of_two_axes() { launch({.grid = 1, .block = dim3(16, 2)}, lanes_of_two_axes_kernel); }

void require_positive(const Tensor& x) {
    launch({.grid = 1, .block = static_cast<unsigned>(x.numel())}, require_positive_kernel, x.data<float>());
}

std::int64_t stale_bytes_of_a_dropout_rule() {
    alignas(DropoutRule) std::byte memory[sizeof(DropoutRule)];
    std::memset(memory, 0xa5, sizeof memory);
    asm volatile("" : : "r"(memory) : "memory");  // keeps the compiler from dropping these bytes
    new (memory) DropoutRule(DropoutMask(0.1, 0));
    asm volatile("" : : "r"(memory) : "memory");
    return std::count(std::begin(memory), std::end(memory), std::byte{0xa5});
}

int swizzled_place(int row, int col, int rows) { return swizzled<bf16, 128>(row, col, rows); }

}  // namespace heddle::testing_kernels
