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
/// A launch that no chip allows: grid.y of 70,000.
int launch_too_many(cudaStream_t stream);

}  // namespace heddle::emulator
