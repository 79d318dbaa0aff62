// verdict: cost line 7: of the 32 lanes
#include "exercise.h"

__global__ void total(const float* x, float* sum, int n) {
    const int t = static_cast<int>(threadIdx.x);
    float own = 0;
    for (int i = 0; i < n && t == 0; ++i) own += x[i];
    if (t == 0) *sum += own;
}
