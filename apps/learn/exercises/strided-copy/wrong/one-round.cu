// verdict: unwritten: y[0, 64] was never written
#include "exercise.h"

__global__ void take_columns(const float* x, float* y, int pitch, int first, int cols) {
    const int row = static_cast<int>(blockIdx.x), threads = static_cast<int>(blockDim.x);
    const int column = static_cast<int>(threadIdx.x);
    if (column < cols) y[row * cols + column] = x[row * pitch + first + column];
}
