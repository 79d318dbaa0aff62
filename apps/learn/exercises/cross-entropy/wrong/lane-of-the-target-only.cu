// verdict: unwritten: losses[1] was never written
#include "exercise.h"

__global__ void cross_entropy(const float* x, const int* targets, float* losses, float* dx, int cols) {
    const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * cols;
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
    if (lane == target % 32) losses[blockIdx.x] = logf(sum) + largest - x[first + target];
    for (int c = lane; c < cols; c += 32)
        dx[first + c] = target < 0 ? 0.0f : __expf(x[first + c] - largest) / sum - (c == target ? 1.0f : 0.0f);
}
