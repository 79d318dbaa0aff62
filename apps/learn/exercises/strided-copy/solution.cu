//: Exercise strided-copy: y[r, c] = x[r, first + c]. The page is strided-copy.md.
#include "exercise.h"

//: x [rows, pitch], y [rows, cols]; one block of 64 threads for each row.
__global__ void take_columns(const float* x, float* y, int pitch, int first, int cols) {
#ifndef STARTER
    const int row = static_cast<int>(blockIdx.x), threads = static_cast<int>(blockDim.x);
    for (int column = static_cast<int>(threadIdx.x); column < cols; column += threads)
        y[row * cols + column] = x[row * pitch + first + column];
#else
    // Your code: the loop of this block over the columns of its row.
#endif
}
