// verdict: cost line 13: none is on its way while a tile is used
#include "exercise.h"

__global__ void reverse_tiles(const float* x, float* y, int tiles) {
    SharedArena arena;
    float* tile = arena.take<float>(256);
    const int t = static_cast<int>(threadIdx.x);
    Pipeline<1> pipeline;
    for (int s = 0; s < tiles; ++s) {
        copy_async<16>(tile + 4 * t, x + s * 256 + 4 * t);
        pipeline.commit();

        pipeline.wait();
        __syncthreads();
        for (int j = t; j < 256; j += 64) y[s * 256 + j] = tile[255 - j];
        __syncthreads();
    }
}
