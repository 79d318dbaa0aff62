// verdict: cost line 9: sums is
#include "exercise.h"

__global__ void column_sums(const float* x, float* sums, int rows, int cols) {
    const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (column >= cols) return;
    sums[column] = 0;
    for (int row = 0; row < rows; ++row)
        sums[column] += x[row * cols + column];
}
