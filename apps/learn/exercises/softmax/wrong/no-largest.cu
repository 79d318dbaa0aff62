// verdict: values
#include "exercise.h"

__global__ void masked_softmax(const float* x, const int* lengths, float* y, int cols) {
    const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * cols, length = lengths[blockIdx.x];
    float largest = -INFINITY, sum = 0;
    for (int c = lane; c < length; c += 32) sum += __expf(x[first + c]);
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bit);
    for (int c = lane; c < cols; c += 32) y[first + c] = c < length ? __expf(x[first + c]) / sum : 0.0f;
}
