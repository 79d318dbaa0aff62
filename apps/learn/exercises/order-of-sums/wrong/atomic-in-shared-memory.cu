// verdict: bits
#include "exercise.h"

__global__ void total(const float* x, float* sum, int n) {
    const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    float own = 0;
    for (int i = t; i < n; i += threads) own += x[i];
    SharedArena arena;
    float* tile = arena.take<float>(1);
    if (t == 0) tile[0] = 0;
    __syncthreads();
    auto* const bits = reinterpret_cast<unsigned*>(tile);
    for (unsigned old = atomicAdd(bits, 0u), read = old + 1; old != read;) {
        read = old;
        old = atomicCAS(bits, read, __float_as_uint(__uint_as_float(read) + own));  // writes if *bits is still `read`
    }
    __syncthreads();
    if (t == 0) *sum += tile[0];
}
