// verdict: bounds line 7
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    Vector<float, 4> group = load_vector<4>(x + 4 * i);
    for (int k = 0; k < 4; ++k) group[k] *= a;
    store_vector<4>(y + 4 * i, group);
}
