//: Exercise gradient-of-ones: dx = y (dy - the sum of dy y). Find the mistake. The page is gradient-of-ones.md.
#include "exercise.h"

//: y [rows, cols], dy [rows, cols], dx [rows, cols]; one warp for each row.
__global__ void softmax_gradient(const float* y, const float* dy, float* dx, int cols) {
    const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * cols;
    float sum = 0;
#ifndef STARTER
    for (int c = lane; c < cols; c += 32) sum += dy[first + c] * y[first + c];
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bit);  // in every lane
#else
    for (int c = lane; c < cols; c += 32) sum += y[first + c];
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bit);
#endif
    for (int c = lane; c < cols; c += 32) dx[first + c] = y[first + c] * (dy[first + c] - sum);
}
