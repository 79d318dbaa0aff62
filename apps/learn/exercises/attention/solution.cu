//: Exercise attention: causal attention over a whole sentence, in tiles of keys. The page is attention.md.
#include "exercise.h"

//: queries, keys, values and out [length, 32]; blocks of 32 x 8 threads, one warp for each query.
__global__ void attention(const float* queries, const float* keys, const float* values, float* out, int length) {
#ifndef STARTER
    SharedArena arena;
    float* key_tile = arena.take<float>(32 * 32);
    float* value_tile = arena.take<float>(32 * 32);
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const int query = static_cast<int>(blockIdx.x) * 8 + warp, last = static_cast<int>(blockIdx.x) * 8 + 7;
    const float q = query < length ? queries[query * 32 + lane] * rsqrtf(32.0f) : 0.0f;
    float largest = -INFINITY, sum = 0, mix = 0;
    // Tiles behind the last query are seen by nobody. All threads take the same steps: barriers may stand in this loop.
    for (int begin = 0; begin < length && begin <= last; begin += 32) {
        for (int r = warp; r < 32; r += 8) {
            if (begin + r >= length) continue;
            key_tile[r * 32 + lane] = keys[(begin + r) * 32 + lane];
            value_tile[r * 32 + lane] = values[(begin + r) * 32 + lane];
        }
        __syncthreads();  // the tile is there
        for (int k = begin; k < begin + 32 && k <= query && k < length; ++k) {
            float score = q * key_tile[(k - begin) * 32 + lane];
            for (int bit = 16; bit > 0; bit /= 2) score += __shfl_xor_sync(0xffffffffu, score, bit);
            const float most = score > largest ? score : largest;
            const float factor = __expf(largest - most), weight = __expf(score - most);
            sum = sum * factor + weight;
            mix = mix * factor + weight * value_tile[(k - begin) * 32 + lane];
            largest = most;
        }
        __syncthreads();  // nobody reads it any more
    }
    if (query < length) out[query * 32 + lane] = mix / sum;
#else
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
#endif
}
