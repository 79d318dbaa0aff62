// verdict: race line 10 and 17
#include "exercise.h"

__global__ void subtract_mean(const float* x, float* y, int rows, int cols) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x);
    for (int row = static_cast<int>(blockIdx.x); row < rows; row += static_cast<int>(gridDim.x)) {
        const float value = t < cols ? x[row * cols + t] : 0.0f;
        tile[t] = value;
        __syncthreads();
        __syncthreads();
        for (int stride = 64; stride > 0; stride /= 2) {
            if (t < stride) tile[t] += tile[t + stride];
            __syncthreads();
        }
        if (t < cols) y[row * cols + t] = value - tile[0] / static_cast<float>(cols);
    }
}
