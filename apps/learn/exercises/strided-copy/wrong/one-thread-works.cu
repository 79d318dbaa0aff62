// verdict: cost line 8: of the 32 lanes
#include "exercise.h"

__global__ void take_columns(const float* x, float* y, int pitch, int first, int cols) {
    const int row = static_cast<int>(blockIdx.x), threads = static_cast<int>(blockDim.x);
    if (threadIdx.x == 0)
        for (int column = 0; column < cols; ++column)
            y[row * cols + column] = x[row * pitch + first + column];
}
