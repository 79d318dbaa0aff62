// Exercise attention: causal attention over a whole sentence, in tiles of keys. The page is attention.md.
#include "exercise.h"

// queries, keys, values and out [length, 32]; blocks of 32 x 8 threads, one warp for each query.
__global__ void attention(const float* queries, const float* keys, const float* values, float* out, int length) {
    const int lane = static_cast<int>(threadIdx.x), query = static_cast<int>(blockIdx.x * 8 + threadIdx.y);
    if (query >= length) return;
    const float q = queries[query * 32 + lane] * rsqrtf(32.0f);
    float largest = -INFINITY, sum = 0, mix = 0;
    for (int k = 0; k <= query; ++k) {
        float score = q * keys[k * 32 + lane];
        for (int bit = 16; bit > 0; bit /= 2) score += __shfl_xor_sync(0xffffffffu, score, bit);
        const float most = score > largest ? score : largest;
        const float factor = __expf(largest - most), weight = __expf(score - most);
        sum = sum * factor + weight;
        mix = mix * factor + weight * values[k * 32 + lane];
        largest = most;
    }
    out[query * 32 + lane] = mix / sum;
}
