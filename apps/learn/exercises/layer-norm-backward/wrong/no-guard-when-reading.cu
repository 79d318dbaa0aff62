// verdict: bounds
#include "exercise.h"

__global__ void layer_norm_backward(const float* x, const float* gamma, const float* mean, const float* rstd, const float* dy, float* dx,
                                    int cols) {
    const int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.x), first = row * cols;
    const float center = mean[row], scale = rstd[row];
    float n[4], g[4], mean_g = 0, mean_gn = 0;
    for (int k = 0; k < 4; ++k) {
        const int c = lane + 32 * k;
        n[k] = (x[first + c] - center) * scale;
        g[k] = dy[first + c] * gamma[c];
        mean_g += g[k] / static_cast<float>(cols);
        mean_gn += g[k] * n[k] / static_cast<float>(cols);
    }
    for (int bit = 16; bit > 0; bit /= 2) {
        mean_g += __shfl_xor_sync(0xffffffffu, mean_g, bit);
        mean_gn += __shfl_xor_sync(0xffffffffu, mean_gn, bit);
    }
    for (int k = 0; k < 4; ++k)
        if (const int c = lane + 32 * k; c < cols) dx[first + c] = scale * (g[k] - mean_g - n[k] * mean_gn);
}
