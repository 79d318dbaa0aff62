//: Exercise cross-entropy: the loss of each row, and its gradient. The page is cross-entropy.md.
#include "exercise.h"

//: x [rows, cols], targets [rows], losses [rows], dx [rows, cols]; one warp for each row.
__global__ void cross_entropy(const float* x, const int* targets, float* losses, float* dx, int cols) {
    const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * cols;
#ifndef STARTER
    const int target = targets[blockIdx.x];
    float largest = -INFINITY, sum = 0;
    for (int c = lane; c < cols; c += 32)
        if (const float value = x[first + c]; value > largest) largest = value;
    for (int bit = 16; bit > 0; bit /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, bit);
        if (other > largest) largest = other;
    }
    for (int c = lane; c < cols; c += 32) sum += __expf(x[first + c] - largest);
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bit);
    if (lane == 0) losses[blockIdx.x] = target < 0 ? 0.0f : logf(sum) + largest - x[first + target];  // x[-1] is not read
    for (int c = lane; c < cols; c += 32)
        dx[first + c] = target < 0 ? 0.0f : __expf(x[first + c] - largest) / sum - (c == target ? 1.0f : 0.0f);
#else
    // Your code.
#endif
}
