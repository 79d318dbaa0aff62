// verdict: cost
#include "exercise.h"

__global__ void column_sums(const float* x, float* sums, int rows, int cols) {
    const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (column >= cols) return;
    for (int row = 0; row < rows; ++row) {
        if (row == 0) sums[column] = 0;
        sums[column] += x[row * cols + column];
    }
}
