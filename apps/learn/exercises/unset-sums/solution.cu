//: Exercise unset-sums: sums[c] = the sum of column c. Find the mistake. The page is unset-sums.md.
#include "exercise.h"

//: x [rows, cols], sums [cols]; blocks of 64 threads, cols threads or more.
__global__ void column_sums(const float* x, float* sums, int rows, int cols) {
    const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (column >= cols) return;
#ifndef STARTER
    float sum = 0;  // in a register
    for (int row = 0; row < rows; ++row) sum += x[row * cols + column];
    sums[column] = sum;
#else
    for (int row = 0; row < rows; ++row) sums[column] += x[row * cols + column];
#endif
}
