// Exercise cached-attention: attention of one query over a cache. The page is cached-attention.md.
#include "exercise.h"

// query [heads, 32], keys and values [heads, capacity, 32], out [heads, 32]; one warp for each head.
__global__ void attend(const float* query, const float* keys, const float* values, float* out, int length, int capacity) {
    const int lane = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.x);
    // Your code.
}
