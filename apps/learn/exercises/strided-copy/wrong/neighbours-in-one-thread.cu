// verdict: cost line 8: sectors of 32 bytes where
#include "exercise.h"

__global__ void take_columns(const float* x, float* y, int pitch, int first, int cols) {
    const int row = static_cast<int>(blockIdx.x), threads = static_cast<int>(blockDim.x);
    const int each = (cols + threads - 1) / threads, begin = static_cast<int>(threadIdx.x) * each;
    for (int column = begin; column < begin + each && column < cols; ++column)
        y[row * cols + column] = x[row * pitch + first + column];
}
