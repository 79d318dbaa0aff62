// verdict: cost line 9: ordinary loads
#include "exercise.h"

__global__ void reverse_tiles(const float* x, float* y, int tiles) {
    SharedArena arena;
    float* tile = arena.take<float>(256);
    const int t = static_cast<int>(threadIdx.x);
    for (int s = 0; s < tiles; ++s) {
        for (int j = 4 * t; j < 4 * t + 4; ++j) tile[j] = x[s * 256 + j];
        __syncthreads();
        for (int j = t; j < 256; j += 64) y[s * 256 + j] = tile[255 - j];
        __syncthreads();
    }
}
