//: Exercise layer-norm-backward: the gradient of a layer norm. The page is layer-norm-backward.md.
#include "exercise.h"

//: x [rows, cols], gamma [cols], mean [rows], rstd [rows], dy [rows, cols], dx [rows, cols], cols <= 128; one warp for each row.
__global__ void layer_norm_backward(const float* x, const float* gamma, const float* mean, const float* rstd, const float* dy,
                                    float* dx, int cols) {
    const int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.x), first = row * cols;
    const float center = mean[row], scale = rstd[row];
#ifndef STARTER
    float n[4], g[4], mean_g = 0, mean_gn = 0;
#else
    float n[4], g[4], mean_g = 0;
#endif
    for (int k = 0; k < 4; ++k) {
        const int c = lane + 32 * k;
        n[k] = c < cols ? (x[first + c] - center) * scale : 0.0f;
        g[k] = c < cols ? dy[first + c] * gamma[c] : 0.0f;
        mean_g += g[k] / static_cast<float>(cols);
#ifndef STARTER
        mean_gn += g[k] * n[k] / static_cast<float>(cols);
#endif
    }
    for (int bit = 16; bit > 0; bit /= 2) {
        mean_g += __shfl_xor_sync(0xffffffffu, mean_g, bit);
#ifndef STARTER
        mean_gn += __shfl_xor_sync(0xffffffffu, mean_gn, bit);
#endif
    }
#ifdef STARTER
    // Your code: the part of g that would scale the row must be taken out, too.
#endif
    for (int k = 0; k < 4; ++k)
#ifndef STARTER
        if (const int c = lane + 32 * k; c < cols) dx[first + c] = scale * (g[k] - mean_g - n[k] * mean_gn);
#else
        if (const int c = lane + 32 * k; c < cols) dx[first + c] = scale * (g[k] - mean_g);
#endif
}
