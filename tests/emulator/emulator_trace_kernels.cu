#include "tests/emulator/emulator_trace_kernels.h"

#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "kernels/emulator/launch.h"

namespace heddle::emulator {
namespace {

constexpr int kTile = 32 * 32;

__device__ int lane() { return static_cast<int>(threadIdx.x); }

constexpr int kStridedLine = __LINE__ + 1;
__global__ void strided_kernel(const float* x, float* y, int stride, int first) { y[lane()] = x[stride * lane() + first]; }

__global__ void float4_kernel(const float* x, float* y) {
    device::store_vector(y + 4 * lane(), device::load_vector<4>(x + 4 * lane()));
}

__global__ void transposed_kernel(const float* x, float* y) {
    for (int i = 0; i < 4; ++i) y[32 * i + lane()] = x[32 * lane() + i];
}

// s [kTile] = x, coalesced and without conflicts.
__device__ float* filled(const float* x) {
    float* const s = device::shared<float>(kTile);
    for (int i = lane(); i < kTile; i += 32) s[i] = x[i];
    __syncthreads();
    return s;
}

__global__ void banks_kernel(const float* x, float* y, int stride) {
    const float* const s = filled(x);
    y[lane()] = s[stride * lane()];
}

__global__ void swizzled_kernel(const float* x, float* y, int column) {
    float* const s = device::shared<float>(kTile);
    for (int row = 0; row < 32; ++row) s[32 * row + (lane() ^ row)] = x[32 * row + lane()];
    __syncthreads();
    y[lane()] = s[32 * lane() + (column ^ lane())];
}

__global__ void shared_float4_kernel(const float* x, float* y, int stride) {
    const float* const s = filled(x);
    device::store_vector(y + 4 * lane(), device::load_vector<4>(s + stride * lane()));
}

__global__ void divergent_kernel(const float* x, float* y) {
    if (lane() % 2 == 1)
        y[lane()] = x[lane()];
    else
        y[lane()] = 2 * x[64 + lane()];
    if (lane() < 8) y[32 + lane()] = 3 * x[lane()];
}

__global__ void reversed_kernel(const float* x, float* y) {
    float* const s = device::shared<float>(64);
    s[lane()] = x[lane()];
    __syncthreads();
    y[lane()] = s[63 - lane()];
}

constexpr int kRacingLine = __LINE__ + 5;
__global__ void racing_kernel(const float* x, float* y) {
    float* const s = device::shared<float>(64);
    s[lane()] = x[lane()];
    __syncthreads();
    s[lane()] = 2 * s[63 - lane()];
    y[lane()] = 0;
}

__global__ void used_early_kernel(const float* x, float* y) {
    float* const s = device::shared<float>(32);
    device::copy_async<4>(s + lane(), x + lane(), 4);
    y[lane()] = s[lane()];
}

__global__ void copied_kernel(const float* x, float* y) {
    device::SharedArena arena;
    arena.take<float>(128);
    float* const s = arena.take<float>(128);
    device::copy_async<16>(s + 4 * lane(), x + 4 * lane(), 16);
    device::Pipeline<1> pipeline;
    pipeline.commit();
    pipeline.wait();
    __syncthreads();
    y[lane()] = s[lane()];
}

__global__ void half_shuffle_kernel(const float* x, float* y) {
    float value = 0;
    if (lane() < 16) value = __shfl_xor_sync(0xffffu, static_cast<float>(lane()), 1);
    __syncwarp();
    y[lane()] = x[lane()] + value;
}

template <class... Parameters, class... Arguments>
Pattern pattern(void (*kernel)(const float*, float*, Parameters...), unsigned threads, std::size_t floats,
                Arguments... arguments) {
    return [=](const float* x, float* y) {
        launch({.grid = 1, .block = threads, .shared = floats * sizeof(float)}, kernel, x, y, arguments...);
    };
}

}  // namespace

Pattern strided_pattern(int stride, int first) { return pattern(strided_kernel, 32, 0, stride, first); }
Pattern float4_pattern() { return pattern(float4_kernel, 32, 0); }
Pattern transposed_pattern() { return pattern(transposed_kernel, 32, 0); }
Pattern banks_pattern(int stride) { return pattern(banks_kernel, 32, kTile, stride); }
Pattern swizzled_pattern(int column) { return pattern(swizzled_kernel, 32, kTile, column); }
Pattern shared_float4_pattern(int stride) { return pattern(shared_float4_kernel, 32, kTile, stride); }
Pattern divergent_pattern() { return pattern(divergent_kernel, 32, 0); }
Pattern reversed_pattern() { return pattern(reversed_kernel, 64, 64); }
Pattern copied_pattern() { return pattern(copied_kernel, 32, 256); }
Pattern half_shuffle_pattern() { return pattern(half_shuffle_kernel, 32, 0); }
Pattern racing_pattern() { return pattern(racing_kernel, 64, 64); }
Pattern used_early_pattern() { return pattern(used_early_kernel, 32, 32); }
int racing_line() { return kRacingLine; }
int strided_line() { return kStridedLine; }

}  // namespace heddle::emulator
