// verdict: race line 8
#include "exercise.h"

__global__ void take_columns(const float* x, float* y, int pitch, int first, int cols) {
    const int row = static_cast<int>(blockIdx.x), threads = static_cast<int>(blockDim.x);
    for (int begin = 0; begin < cols; begin += threads) {
        const int column = begin + static_cast<int>(threadIdx.x);
        y[row * cols + column] = x[row * pitch + first + column];
    }
}
