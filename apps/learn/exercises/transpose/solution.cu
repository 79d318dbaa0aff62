//: Exercise transpose: y[c, r] = x[r, c]. The page is transpose.md.
#include "exercise.h"

//: x [rows, cols], y [cols, rows]; a block of 32 x 8 threads for each tile of 32 x 32.
__global__ void transpose(const float* x, float* y, int rows, int cols) {
#ifndef STARTER
    constexpr int kPitch = 33;  // one more than the tile is wide: its columns lie in different banks, too
    SharedArena arena;
    float* tile = arena.take<float>(32 * kPitch);
    const int lane = static_cast<int>(threadIdx.x);
    const int first_row = static_cast<int>(blockIdx.y * 32), first_column = static_cast<int>(blockIdx.x * 32);
    for (int r = static_cast<int>(threadIdx.y); r < 32; r += 8)
        if (first_row + r < rows && first_column + lane < cols)
            tile[r * kPitch + lane] = x[(first_row + r) * cols + first_column + lane];
    __syncthreads();  // the tile is there
    for (int r = static_cast<int>(threadIdx.y); r < 32; r += 8)
        if (first_column + r < cols && first_row + lane < rows)
            y[(first_column + r) * rows + first_row + lane] = tile[lane * kPitch + r];
#else
    const int column = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
    for (int k = static_cast<int>(threadIdx.y); k < 32; k += 8) {
        const int row = static_cast<int>(blockIdx.y * 32) + k;
        if (row < rows && column < cols) y[column * rows + row] = x[row * cols + column];
    }
#endif
}
