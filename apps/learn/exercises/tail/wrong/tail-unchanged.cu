// verdict: values: y[256] is
#include "exercise.h"

__global__ void negate(const float* x, float* y, int n) {
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), groups = n / 4;
    if (t < groups) {
        Vector<float, 4> group = load_vector<4>(x + 4 * t);
        for (int k = 0; k < 4; ++k) group[k] = -group[k];
        store_vector<4>(y + 4 * t, group);
        return;
    }
    const int i = 4 * groups + t - groups;
    if (i < n) y[i] = x[i];
}
