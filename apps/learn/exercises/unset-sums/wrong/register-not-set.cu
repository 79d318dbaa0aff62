// verdict: values: the compiler warns: 'sum' may be used uninitialized
#include "exercise.h"

__global__ void column_sums(const float* x, float* sums, int rows, int cols) {
    const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (column >= cols) return;
    float sum;
    for (int row = 0; row < rows; ++row) sum = x[row * cols + column];
    sums[column] = sum;
}
