// verdict: bounds line 7: reads
#include "exercise.h"

__global__ void add_bias(const float* x, const float* bias, float* y, int rows, int cols) {
    const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    const float b = bias[column];
    if (row >= rows || column >= cols) return;
    y[row * cols + column] = x[row * cols + column] + b;
}
