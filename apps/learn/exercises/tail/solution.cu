//: Exercise tail: y[i] = -x[i] for every n. Find the mistake. The page is tail.md.
#include "exercise.h"

//: x [n], y [n]; blocks of 64 threads, n / 4 + 3 threads or more.
__global__ void negate(const float* x, float* y, int n) {
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), groups = n / 4;
    if (t < groups) {
        Vector<float, 4> group = load_vector<4>(x + 4 * t);
        for (int k = 0; k < 4; ++k) group[k] = -group[k];
        store_vector<4>(y + 4 * t, group);
        return;
    }
    const int i = 4 * groups + t - groups;  // the tail, one element for each thread
#ifndef STARTER
    if (i < n) y[i] = -x[i];
#else
    if (i <= n) y[i] = -x[i];
#endif
}
