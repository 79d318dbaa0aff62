// Kernels for the tests of the emulated runtime, in a .cu file so that checked builds instrument them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace heddle::emulator {

// Each function launches its kernel in the stream and returns the launch's error.

/// x[i] += value for the first n.
int add(float* x, float value, int n, cudaStream_t stream);
const void* add_kernel_address();
/// to[i] = from[i] for the first n.
int copy(const float* from, float* to, int n, cudaStream_t stream);
/// Appends value to `list`, whose first element counts the others.
int append(int* list, int value, cudaStream_t stream);
/// x[i] = blockIdx.x at i = stride blockIdx.x + threadIdx.x, with blocks of 32.
int number_blocks(float* x, std::int64_t stride, unsigned blocks, cudaStream_t stream);
/// x[at] = 1 by one thread.
int store(float* x, std::int64_t at, cudaStream_t stream);
/// A structure of pointers: *places.second = *places.first.
struct Places {
    int number;
    const float* first;
    float* second;
};
int copy_through(Places places, cudaStream_t stream);
/// Fails with "the number must be even" unless it is.
int require_even(int number, cudaStream_t stream);
/// Kernels as the front end writes them: they are launched by their address. x[i] *= factor for the first n.
void scale_kernel(float* x, float factor, int n);
/// At most 64 threads.
void bounded_kernel(int* x);
/// y[i] = the texture at (x[i].x, x[i].y); with one dimension only x counts, and with `fetches` it is an element's index.
int sample(cudaTextureObject_t texture, int dimensions, bool fetches, const float2* x, float* y, int n, cudaStream_t stream);
/// y[i] = the texture at i, of unsigned bytes read as integers.
int sample_bytes(cudaTextureObject_t texture, unsigned char* y, int n, cudaStream_t stream);
/// A launch that no chip allows: grid.y of 70,000.
int launch_too_many(cudaStream_t stream);

}  // namespace heddle::emulator
