//: Exercise vector-loads: y[i] = a x[i], four floats in one access. The page is vector-loads.md.
#include "exercise.h"

//: x [n], y [n], n a multiple of 4; blocks of 64 threads, n / 4 threads or more.
__global__ void scale(const float* x, float* y, float a, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
#ifndef STARTER
    if (i >= n / 4) return;  // groups of four
    Vector<float, 4> group = load_vector<4>(x + 4 * i);
    for (int k = 0; k < 4; ++k) group[k] *= a;
    store_vector<4>(y + 4 * i, group);
#else
    if (i >= n / 4) return;
    for (int k = 0; k < 4; ++k) y[4 * i + k] = a * x[4 * i + k];  // eight accesses; two would do
#endif
}
