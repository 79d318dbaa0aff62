//: Exercise index-2d: y[r, c] = x[r, c] + bias[c]. The page is index-2d.md.
#include "exercise.h"

//: x [rows, cols], bias [cols], y [rows, cols]; blocks of 32 x 8 threads, x along the columns.
__global__ void add_bias(const float* x, const float* bias, float* y, int rows, int cols) {
#ifndef STARTER
    // x runs along the columns: a warp reads 32 neighbouring elements of one row.
    const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    if (row >= rows || column >= cols) return;
    const int i = row * cols + column;
    y[i] = x[i] + bias[column];
#else
    // Your code: this thread's row and column, the guard, and the sum.
#endif
}
