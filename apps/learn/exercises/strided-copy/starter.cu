// Exercise strided-copy: y[r, c] = x[r, first + c]. The page is strided-copy.md.
#include "exercise.h"

// x [rows, pitch], y [rows, cols]; one block of 64 threads for each row.
__global__ void take_columns(const float* x, float* y, int pitch, int first, int cols) {
    // Your code: the loop of this block over the columns of its row.
}
