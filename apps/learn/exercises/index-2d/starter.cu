// Exercise index-2d: y[r, c] = x[r, c] + bias[c]. The page is index-2d.md.
#include "exercise.h"

// x [rows, cols], bias [cols], y [rows, cols]; blocks of 32 x 8 threads, x along the columns.
__global__ void add_bias(const float* x, const float* bias, float* y, int rows, int cols) {
    // Your code: this thread's row and column, the guard, and the sum.
}
