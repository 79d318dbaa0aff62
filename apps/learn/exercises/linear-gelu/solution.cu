//: Exercise linear-gelu: y = gelu(x weight^T + bias), without bank conflicts. The page is linear-gelu.md.
#include "exercise.h"

//: x [rows, depth], weight [cols, depth], bias [cols], y [rows, cols]; a block of 16 x 16 threads for each tile of y.
__global__ void linear_gelu(const float* x, const float* weight, const float* bias, float* y, int rows, int cols, int depth) {
    SharedArena arena;
    float* x_tile = arena.take<float>(16 * 16);  // [row, k]
#ifndef STARTER
    float* w_tile = arena.take<float>(16 * 17);  // [column, k], one unused: its columns lie in 16 banks
#else
    float* w_tile = arena.take<float>(16 * 16);  // [column, k]
#endif
    const int r = static_cast<int>(threadIdx.y), c = static_cast<int>(threadIdx.x);
    const int row = static_cast<int>(blockIdx.y * 16) + r, column = static_cast<int>(blockIdx.x * 16) + c;
    const int weight_row = static_cast<int>(blockIdx.x * 16) + r;  // whose weights this thread loads
    float sum = 0;
    for (int k0 = 0; k0 < depth; k0 += 16) {
        x_tile[r * 16 + c] = row < rows && k0 + c < depth ? x[row * depth + k0 + c] : 0.0f;
#ifndef STARTER
        w_tile[r * 17 + c] = weight_row < cols && k0 + c < depth ? weight[weight_row * depth + k0 + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += x_tile[r * 16 + k] * w_tile[c * 17 + k];
#else
        w_tile[r * 16 + c] = weight_row < cols && k0 + c < depth ? weight[weight_row * depth + k0 + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += x_tile[r * 16 + k] * w_tile[c * 16 + k];
#endif
        __syncthreads();
    }
    if (row >= rows || column >= cols) return;
    const float z = sum + bias[column];
    y[row * cols + column] = 0.5f * z * (1.0f + erff(z * 0.70710678f));
}
