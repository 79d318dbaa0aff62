// verdict: cost line 10: sectors of 32 bytes where
#include "exercise.h"

__global__ void add_bias(const float* x, const float* bias, float* y, int rows, int cols) {
    // The 256 threads of the block in another order: neighbours are in one column.
    const int number = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    const int column = static_cast<int>(blockIdx.x * 32) + number / 8;
    const int row = static_cast<int>(blockIdx.y * 8) + number % 8;
    if (row >= rows || column >= cols) return;
    y[row * cols + column] = x[row * cols + column] + bias[column];
}
