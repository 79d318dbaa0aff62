// verdict: unwritten: dx[0, 32] was never written
#include "exercise.h"

__global__ void softmax_gradient(const float* y, const float* dy, float* dx, int cols) {
    const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * cols;
    float sum = 0;
    if (lane < cols) sum += dy[first + lane] * y[first + lane];
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bit);
    if (lane < cols) dx[first + lane] = y[first + lane] * (dy[first + lane] - sum);
}
