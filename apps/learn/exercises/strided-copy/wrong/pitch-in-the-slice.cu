// verdict: bounds line 7
#include "exercise.h"

__global__ void take_columns(const float* x, float* y, int pitch, int first, int cols) {
    const int row = static_cast<int>(blockIdx.x), threads = static_cast<int>(blockDim.x);
    for (int column = static_cast<int>(threadIdx.x); column < cols; column += threads)
        y[row * pitch + column] = x[row * pitch + first + column];
}
