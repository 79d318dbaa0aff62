//: Exercise attention-backward: the gradients of causal attention, in tiles. The page is attention-backward.md.
#include "exercise.h"

//: queries, keys, values, dout and the three gradients [length, 32], logsum and delta [length]; blocks of 32 x 8 threads, one warp
//: for each row.
__global__ void attention_backward(const float* queries, const float* keys, const float* values, const float* dout,
                                   const float* logsum, const float* delta, float* dqueries, float* dkeys, float* dvalues,
                                   int length) {
    SharedArena arena;
    float* tile = arena.take<float>(32 * 32);
    float* other_tile = arena.take<float>(32 * 32);
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const int row = static_cast<int>(blockIdx.x) * 8 + warp, last = static_cast<int>(blockIdx.x) * 8 + 7;
    const float scale = rsqrtf(32.0f);

    // The row as a query: it goes through the keys before it, and collects dqueries[row].
    const float q = row < length ? queries[row * 32 + lane] : 0.0f, dy = row < length ? dout[row * 32 + lane] : 0.0f;
    const float own_logsum = row < length ? logsum[row] : 0.0f, own_delta = row < length ? delta[row] : 0.0f;
    float dq = 0;
    for (int begin = 0; begin < length && begin <= last; begin += 32) {
        for (int r = warp; r < 32; r += 8) {
            if (begin + r >= length) continue;
            tile[r * 32 + lane] = keys[(begin + r) * 32 + lane];
            other_tile[r * 32 + lane] = values[(begin + r) * 32 + lane];
        }
        __syncthreads();
        for (int k = begin; k < begin + 32 && k <= row && row < length; ++k) {
            float score = q * tile[(k - begin) * 32 + lane], dweight = dy * other_tile[(k - begin) * 32 + lane];
            for (int bit = 16; bit > 0; bit /= 2) {
                score += __shfl_xor_sync(0xffffffffu, score, bit);
                dweight += __shfl_xor_sync(0xffffffffu, dweight, bit);
            }
            const float weight = __expf(score * scale - own_logsum);
            dq += weight * (dweight - own_delta) * tile[(k - begin) * 32 + lane];
        }
        __syncthreads();
    }
    if (row < length) dqueries[row * 32 + lane] = dq * scale;

#ifdef STARTER
    // The row as a key: dkeys[row] and dvalues[row]. Your code.
#else
    // The row as a key: it goes through the queries from itself on.
    float* logsums = arena.take<float>(32);
    float* deltas = arena.take<float>(32);
    const float key = row < length ? keys[row * 32 + lane] : 0.0f, value = row < length ? values[row * 32 + lane] : 0.0f;
    float dk = 0, dv = 0;
    // From the tile of the block's first row on. All threads take the same steps: barriers may stand in this loop.
    for (int begin = (last - 7) / 32 * 32; begin < length; begin += 32) {
        for (int r = warp; r < 32; r += 8) {
            if (begin + r >= length) continue;
            tile[r * 32 + lane] = queries[(begin + r) * 32 + lane];
            other_tile[r * 32 + lane] = dout[(begin + r) * 32 + lane];
        }
        if (warp == 0 && begin + lane < length) {
            logsums[lane] = logsum[begin + lane];
            deltas[lane] = delta[begin + lane];
        }
        __syncthreads();  // the tile is there
        for (int i = row > begin ? row : begin; i < begin + 32 && i < length; ++i) {
            float score = key * tile[(i - begin) * 32 + lane], dweight = value * other_tile[(i - begin) * 32 + lane];
            for (int bit = 16; bit > 0; bit /= 2) {
                score += __shfl_xor_sync(0xffffffffu, score, bit);
                dweight += __shfl_xor_sync(0xffffffffu, dweight, bit);
            }
            const float weight = __expf(score * scale - logsums[i - begin]);
            dv += weight * other_tile[(i - begin) * 32 + lane];
            dk += weight * (dweight - deltas[i - begin]) * tile[(i - begin) * 32 + lane];
        }
        __syncthreads();  // nobody reads it any more
    }
    if (row < length) {
        dkeys[row * 32 + lane] = dk * scale;
        dvalues[row * 32 + lane] = dv;
    }
#endif
}
