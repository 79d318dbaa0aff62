// verdict: cost:  is read 
#include "exercise.h"

__global__ void layer_norm_backward(const float* x, const float* gamma, const float* mean, const float* rstd, const float* dy, float* dx,
                                    int cols) {
    const int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.x), first = row * cols;
    const float center = mean[row], scale = rstd[row];
    float mean_g = 0, mean_gn = 0;
    for (int c = lane; c < cols; c += 32) {
        const float g = dy[first + c] * gamma[c] / static_cast<float>(cols);
        mean_g += g;
        mean_gn += g * (x[first + c] - center) * scale;
    }
    for (int bit = 16; bit > 0; bit /= 2) {
        mean_g += __shfl_xor_sync(0xffffffffu, mean_g, bit);
        mean_gn += __shfl_xor_sync(0xffffffffu, mean_gn, bit);
    }
    for (int c = lane; c < cols; c += 32)
        dx[first + c] = scale * (dy[first + c] * gamma[c] - mean_g - (x[first + c] - center) * scale * mean_gn);
}
