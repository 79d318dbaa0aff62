// Exercise tiled-product: c = a b, in tiles of 16 x 16. The page is tiled-product.md.
#include "exercise.h"

// a [m, depth], b [depth, n], c [m, n]; a block of 16 x 16 threads for each tile of c.
__global__ void product(const float* a, const float* b, float* c, int m, int n, int depth) {
    const int row = static_cast<int>(blockIdx.y * 16 + threadIdx.y);
    const int column = static_cast<int>(blockIdx.x * 16 + threadIdx.x);
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * n + column];
    c[row * n + column] = sum;
}
