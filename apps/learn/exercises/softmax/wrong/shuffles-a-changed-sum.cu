// verdict: values
#include "exercise.h"

__global__ void masked_softmax(const float* x, const int* lengths, float* y, int cols) {
    const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * cols, length = lengths[blockIdx.x];
    float largest = -INFINITY, sum = 0;
    for (int c = lane; c < length; c += 32) {
        const float value = x[first + c], most = value > largest ? value : largest;
        sum = sum * __expf(largest - most) + __expf(value - most);
        largest = most;
    }
    for (int bit = 16; bit > 0; bit /= 2) {
        const float before = largest, other_largest = __shfl_xor_sync(0xffffffffu, largest, bit);
        if (other_largest > largest) largest = other_largest;
        if (largest > -INFINITY) sum *= __expf(before - largest);
        sum += __shfl_xor_sync(0xffffffffu, sum, bit) * (largest > -INFINITY ? __expf(other_largest - largest) : 0.0f);
    }
    for (int c = lane; c < cols; c += 32) y[first + c] = c < length ? __expf(x[first + c] - largest) / sum : 0.0f;
}
