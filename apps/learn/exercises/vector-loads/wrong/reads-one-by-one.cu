// verdict: cost line 8
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n / 4) return;
    Vector<float, 4> group;
    for (int k = 0; k < 4; ++k) group[k] = a * x[4 * i + k];
    store_vector<4>(y + 4 * i, group);
}
