// verdict: race line 11 and 14: without a barrier (__syncthreads) between
#include "exercise.h"

__global__ void transpose(const float* x, float* y, int rows, int cols) {
    SharedArena arena;
    float* tile = arena.take<float>(32 * 33);
    const int lane = static_cast<int>(threadIdx.x);
    const int first_row = static_cast<int>(blockIdx.y * 32), first_column = static_cast<int>(blockIdx.x * 32);
    for (int r = static_cast<int>(threadIdx.y); r < 32; r += 8)
        if (first_row + r < rows && first_column + lane < cols)
            tile[r * 33 + lane] = x[(first_row + r) * cols + first_column + lane];
    for (int r = static_cast<int>(threadIdx.y); r < 32; r += 8)
        if (first_column + r < cols && first_row + lane < rows)
            y[(first_column + r) * rows + first_row + lane] = tile[lane * 33 + r];
}
