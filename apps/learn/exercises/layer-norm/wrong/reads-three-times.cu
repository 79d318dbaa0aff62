// verdict: cost: x is read 3 times
#include "exercise.h"

__global__ void layer_norm(const float* x, const float* gamma, const float* beta, float* y, int cols, float eps) {
    const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * cols;
    const auto warp_sum = [](float v) {
        for (int bit = 16; bit > 0; bit /= 2) v += __shfl_xor_sync(0xffffffffu, v, bit);
        return v;
    };
    float sum = 0, squares = 0;
    for (int c = lane; c < cols; c += 32) sum += x[first + c];
    const float mean = warp_sum(sum) / static_cast<float>(cols);
    for (int c = lane; c < cols; c += 32) squares += (x[first + c] - mean) * (x[first + c] - mean);
    const float scale = rsqrtf(warp_sum(squares) / static_cast<float>(cols) + eps);
    for (int c = lane; c < cols; c += 32) y[first + c] = (x[first + c] - mean) * scale * gamma[c] + beta[c];
}
