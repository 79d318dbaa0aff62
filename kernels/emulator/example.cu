// y = x reversed, through shared memory. BUG: between the write and the read a barrier is missing.
#include <cstdio>

__global__ void reverse(const float* x, float* y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

int main() {
    float *x = nullptr, *y = nullptr;
    cudaMalloc(&x, 64 * sizeof(float));
    cudaMalloc(&y, 64 * sizeof(float));
    cudaMemset(x, 0, 64 * sizeof(float));
    reverse<<<1, 64>>>(x, y);
    const cudaError_t error = cudaDeviceSynchronize();
    std::puts(error == cudaSuccess ? "finished" : cudaGetErrorString(error));
}
