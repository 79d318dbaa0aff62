//: Exercise softmax: a softmax with a mask, in two passes over the row. The page is softmax.md.
#include "exercise.h"

//: x [rows, cols], lengths [rows], y [rows, cols]; one warp for each row.
__global__ void masked_softmax(const float* x, const int* lengths, float* y, int cols) {
    const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * cols, length = lengths[blockIdx.x];
    float largest = -INFINITY, sum = 0;
#ifndef STARTER
    // The largest number so far, and the sum for it
    for (int c = lane; c < length; c += 32) {
        const float value = x[first + c], most = value > largest ? value : largest;
        sum = sum * __expf(largest - most) + __expf(value - most);
        largest = most;
    }
    // The same for two lanes; joined only if one of them has seen a number
    for (int bit = 16; bit > 0; bit /= 2) {
        const float other_largest = __shfl_xor_sync(0xffffffffu, largest, bit);
        const float other_sum = __shfl_xor_sync(0xffffffffu, sum, bit);
        const float most = other_largest > largest ? other_largest : largest;
        if (most > -INFINITY) sum = sum * __expf(largest - most) + other_sum * __expf(other_largest - most);
        largest = most;
    }
#else
    for (int c = lane; c < length; c += 32)
        if (const float value = x[first + c]; value > largest) largest = value;
    for (int bit = 16; bit > 0; bit /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, bit);
        if (other > largest) largest = other;
    }
    for (int c = lane; c < length; c += 32) sum += __expf(x[first + c] - largest);
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bit);
#endif
    for (int c = lane; c < cols; c += 32) y[first + c] = c < length ? __expf(x[first + c] - largest) / sum : 0.0f;
}
