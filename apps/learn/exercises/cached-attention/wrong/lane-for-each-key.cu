// verdict: cost
#include "exercise.h"

__global__ void attend(const float* query, const float* keys, const float* values, float* out, int length, int capacity) {
    const int lane = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.x);
    float largest = -INFINITY, sum = 0, mix = 0;
    for (int begin = 0; begin < length; begin += 32) {
        const int mine = begin + lane;
        float own = -INFINITY;  // the score of this lane's key
        if (mine < length) {
            own = 0;
            for (int d = 0; d < 32; ++d) own += query[head * 32 + d] * keys[(head * capacity + mine) * 32 + d];
            own *= rsqrtf(32.0f);
        }
        for (int k = begin; k < begin + 32 && k < length; ++k) {
            const float score = __shfl_sync(0xffffffffu, own, k - begin);
            const int at = (head * capacity + k) * 32 + lane;
        const float most = score > largest ? score : largest;
        const float factor = __expf(largest - most), weight = __expf(score - most);
        sum = sum * factor + weight;
        mix = mix * factor + weight * values[at];
        largest = most;
        }
    }
    out[head * 32 + lane] = mix / sum;
}
