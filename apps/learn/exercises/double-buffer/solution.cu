//: Exercise double-buffer: c = a b with one barrier in each step. The page is double-buffer.md.
#include "exercise.h"

//: a [m, depth], b [depth, n], c [m, n]; a block of 16 x 16 threads for each tile of c.
__global__ void product(const float* a, const float* b, float* c, int m, int n, int depth) {
    SharedArena arena;
#ifndef STARTER
    float* a_tiles = arena.take<float>(2 * 256);
    float* b_tiles = arena.take<float>(2 * 256);
    const int y = static_cast<int>(threadIdx.y), x = static_cast<int>(threadIdx.x);
    const int row = static_cast<int>(blockIdx.y * 16) + y, column = static_cast<int>(blockIdx.x * 16) + x;
    const auto fill = [&](int k0, int p) {
        a_tiles[p * 256 + y * 16 + x] = row < m && k0 + x < depth ? a[row * depth + k0 + x] : 0.0f;
        b_tiles[p * 256 + y * 16 + x] = k0 + y < depth && column < n ? b[(k0 + y) * n + column] : 0.0f;
    };
    float sum = 0;
    fill(0, 0);
    for (int k0 = 0, p = 0; k0 < depth; k0 += 16, p = 1 - p) {
        __syncthreads();  // step k0 is there, and nobody reads the other buffer any more
        if (k0 + 16 < depth) fill(k0 + 16, 1 - p);
        for (int k = 0; k < 16; ++k) sum += a_tiles[p * 256 + y * 16 + k] * b_tiles[p * 256 + k * 16 + x];
#else
    float* a_tile = arena.take<float>(16 * 16);  // [row, k]
    float* b_tile = arena.take<float>(16 * 16);  // [k, column]
    const int y = static_cast<int>(threadIdx.y), x = static_cast<int>(threadIdx.x);
    const int row = static_cast<int>(blockIdx.y * 16) + y, column = static_cast<int>(blockIdx.x * 16) + x;
    float sum = 0;
    for (int k0 = 0; k0 < depth; k0 += 16) {
        a_tile[y * 16 + x] = row < m && k0 + x < depth ? a[row * depth + k0 + x] : 0.0f;
        b_tile[y * 16 + x] = k0 + y < depth && column < n ? b[(k0 + y) * n + column] : 0.0f;
        __syncthreads();  // both tiles are full
        for (int k = 0; k < 16; ++k) sum += a_tile[y * 16 + k] * b_tile[k * 16 + x];
        __syncthreads();  // nobody reads them any more
#endif
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
