// verdict: race line 8
#include "exercise.h"

__global__ void total(const float* x, float* sum, int n) {
    const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    float own = 0;
    for (int i = t; i < n; i += threads) own += x[i];
    *sum += own;
}
