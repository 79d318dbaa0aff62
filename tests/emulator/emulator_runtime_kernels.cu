#include "tests/emulator/emulator_runtime_kernels.h"

#include <memory>
#include <tuple>
#include <utility>

#include "kernels/device/cuda.h"
#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/cuda/texture.h"
#include "kernels/emulator/launch_request.h"

namespace heddle::emulator {
namespace {

__global__ void add_kernel(float* x, float value, int n) {
    const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) x[i] += value;
}

__global__ void copy_kernel(const float* from, float* to, int n) {
    const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) to[i] = from[i];
}

__global__ void append_kernel(int* list, int value) {
    const int count = list[0] + 1;
    list[count] = value;
    list[0] = count;
}

__global__ void number_blocks_kernel(float* x, std::int64_t stride) {
    x[stride * blockIdx.x + threadIdx.x] = static_cast<float>(blockIdx.x);
}

__global__ void store_kernel(float* x, std::int64_t at) { x[at] = 1; }

__global__ void copy_through_kernel(Places places) { *places.second = *places.first; }

__global__ void require_even_kernel(int number) { device::require(number % 2 == 0, "the number must be even"); }

__global__ void sample_kernel(cudaTextureObject_t texture, int dimensions, bool fetches, const float2* x, float* y, int n) {
    const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (fetches)
        y[i] = tex1Dfetch<float>(texture, static_cast<int>(x[i].x));
    else
        y[i] = dimensions == 1 ? tex1D<float>(texture, x[i].x) : tex2D<float>(texture, x[i].x, x[i].y);
}

__global__ void sample_bytes_kernel(cudaTextureObject_t texture, unsigned char* y, int n) {
    const auto i = static_cast<int>(threadIdx.x);
    if (i < n) y[i] = tex1D<unsigned char>(texture, static_cast<float>(i));
}

/// Like device::launch, but returns errors.
template <class... Parameters>
int launch(dim3 grid, dim3 block, cudaStream_t stream, void (*kernel)(Parameters...),
           std::type_identity_t<Parameters>... arguments) {
    struct Call {
        void (*kernel)(Parameters...);
        std::tuple<Parameters...> arguments;
    };
    const auto call = std::make_shared<const Call>(Call{kernel, {arguments...}});
    LaunchRequest request;
    request.kernel = reinterpret_cast<const void*>(kernel);
    request.grid = grid;
    request.block = block;
    request.parameter_bytes = (std::size_t{0} + ... + sizeof(Parameters));
    request.arguments = call;
    request.argument_bytes = sizeof(Call);
    request.thread = [c = call.get()] { std::apply(c->kernel, c->arguments); };
    return enqueue(std::move(request), stream);
}

unsigned blocks_of(int n) { return static_cast<unsigned>(n + 31) / 32; }

}  // namespace

int add(float* x, float value, int n, cudaStream_t stream) { return launch(blocks_of(n), 32, stream, add_kernel, x, value, n); }
const void* add_kernel_address() { return reinterpret_cast<const void*>(&add_kernel); }
int copy(const float* from, float* to, int n, cudaStream_t stream) {
    return launch(blocks_of(n), 32, stream, copy_kernel, from, to, n);
}
int append(int* list, int value, cudaStream_t stream) { return launch(1, 1, stream, append_kernel, list, value); }
int number_blocks(float* x, std::int64_t stride, unsigned blocks, cudaStream_t stream) {
    return launch(blocks, 32, stream, number_blocks_kernel, x, stride);
}
int store(float* x, std::int64_t at, cudaStream_t stream) { return launch(1, 1, stream, store_kernel, x, at); }
int copy_through(Places places, cudaStream_t stream) { return launch(1, 1, stream, copy_through_kernel, places); }
int require_even(int number, cudaStream_t stream) { return launch(1, 1, stream, require_even_kernel, number); }
void scale_kernel(float* x, float factor, int n) {
    return cuda::launch("scale_kernel", cuda::Kernel<&scale_kernel>::registration(), [=]() mutable {
        const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
        if (i < n) x[i] *= factor;
    });
}
void bounded_kernel(int* x) {
    return cuda::launch("bounded_kernel", cuda::Kernel<&bounded_kernel, 64>::registration(),
                        [=]() mutable { x[threadIdx.x] = static_cast<int>(threadIdx.x); });
}
int sample(cudaTextureObject_t texture, int dimensions, bool fetches, const float2* x, float* y, int n, cudaStream_t stream) {
    return launch(dim3((static_cast<unsigned>(n) + 31) / 32), dim3(32), stream, sample_kernel, texture, dimensions, fetches, x, y,
                  n);
}
int sample_bytes(cudaTextureObject_t texture, unsigned char* y, int n, cudaStream_t stream) {
    return launch(dim3(1), dim3(static_cast<unsigned>(n)), stream, sample_bytes_kernel, texture, y, n);
}

int launch_too_many(cudaStream_t stream) { return launch(dim3(1, 70000), 1, stream, require_even_kernel, 2); }

}  // namespace heddle::emulator
