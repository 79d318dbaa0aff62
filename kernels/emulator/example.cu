// y = x reversed, through shared memory. BUG: between the write and the read a barrier is missing.
#include <cstdio>

#include "kernels/emulator/launch.h"

__global__ void reverse_kernel(const float* x, float* y) {
    auto* tile = static_cast<float*>(heddle::emulator::shared_memory(0, 64 * sizeof(float), 0));
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

int main() {
    float *x = nullptr, *y = nullptr;
    cudaMalloc(&x, 64 * sizeof(float));
    cudaMalloc(&y, 64 * sizeof(float));
    cudaMemset(x, 0, 64 * sizeof(float));
    heddle::emulator::launch({.grid = 1, .block = 64, .shared = 64 * sizeof(float)}, reverse_kernel, x, y);
    const cudaError_t error = cudaDeviceSynchronize();
    std::puts(error == cudaSuccess ? "no mistake found" : cudaGetErrorString(error));
    return error == cudaSuccess ? 0 : 1;
}
