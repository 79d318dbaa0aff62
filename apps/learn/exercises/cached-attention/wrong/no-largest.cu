// verdict: values
#include "exercise.h"

__global__ void attend(const float* query, const float* keys, const float* values, float* out, int length, int capacity) {
    const int lane = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.x);
    const float q = query[head * 32 + lane] * rsqrtf(32.0f);
    float largest = -INFINITY, sum = 0, mix = 0;
    for (int k = 0; k < length; ++k) {
        const int at = (head * capacity + k) * 32 + lane;
        float score = q * keys[at];
        for (int bit = 16; bit > 0; bit /= 2) score += __shfl_xor_sync(0xffffffffu, score, bit);
        const float weight = __expf(10 * score);
        sum += weight;
        mix += weight * values[at];
    }
    out[head * 32 + lane] = mix / sum;
}
