// Exercise transpose: y[c, r] = x[r, c]. The page is transpose.md.
#include "exercise.h"

// x [rows, cols], y [cols, rows]; a block of 32 x 8 threads for each tile of 32 x 32.
__global__ void transpose(const float* x, float* y, int rows, int cols) {
    const int column = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
    for (int k = static_cast<int>(threadIdx.y); k < 32; k += 8) {
        const int row = static_cast<int>(blockIdx.y * 32) + k;
        if (row < rows && column < cols) y[column * rows + row] = x[row * cols + column];
    }
}
