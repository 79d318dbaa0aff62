// Kernels that look as if they had a race, and have none.
#include "kernels/device/fence.h"
#include "kernels/device/mma.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/reduce.h"
#include "kernels/device/vector.h"
#include "tests/emulator/emulator_bugs.h"

namespace heddle::bugs {
namespace {

using device::thread_in_block;

__global__ void warp_exchange_kernel(float* out) {  // out [64]
    float* const s = device::shared<float>(64);
    const int t = thread_in_block();
    for (int step = 1; step < 32; step *= 2) {
        s[t] = static_cast<float>(t);
        __syncwarp();
        out[t] = s[t ^ step];
        __syncwarp();
    }
}

// Each half warp exchanges values by itself, at its own pace.
__global__ void half_warps_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    const unsigned mask = t < 16 ? 0x0000ffffu : 0xffff0000u;
    for (int i = 0; i < (t < 16 ? 2 : 3); ++i) {
        s[t] = static_cast<float>(t + i);
        __syncwarp(mask);
        out[t] = s[t ^ 5];
        __syncwarp(mask);
    }
}

// A lane passes on what it learned from its warp at the block's barrier; and two named barriers in a row pass it on, too.
__global__ void chain_kernel(float* out) {  // out [96]
    float* const s = device::shared<float>(96);
    const int t = thread_in_block(), warp = device::warp();
    s[t] = static_cast<float>(t);
    __syncwarp();
    if (warp <= 1) emulator::named_barrier(1, 64);
    if (warp >= 1) emulator::named_barrier(2, 64);
    if (warp == 2) out[t] = s[t - 64];  // warp 0 -> warp 1 -> warp 2
    __syncthreads();
    out[95 - t] = s[t];
}

__global__ void double_buffer_kernel(const float* x, float* y) {  // x [4, 256], y [64]
    float* const s = device::shared<float>(2 * 256);
    const int t = thread_in_block();
    device::Pipeline<2> pipeline;
    device::copy_async(s + 4 * t, x + 4 * t);
    pipeline.commit();
    float sum = 0;
    for (int tile = 0; tile < 4; ++tile) {
        if (tile + 1 < 4) device::copy_async(s + (tile + 1) % 2 * 256 + 4 * t, x + (tile + 1) * 256 + 4 * t);
        pipeline.commit();
        pipeline.wait();
        __syncthreads();
        for (int i = 0; i < 4; ++i) sum += s[tile % 2 * 256 + 64 * i + t];
        __syncthreads();
    }
    y[t] = sum;
}

// Zero-filled copies: the source beyond `valid` may be written by others, or not exist.
__global__ void zero_fill_kernel(const float* x, float* y) {  // x [6], y [8]
    float* const s = device::shared<float>(8);
    const int t = thread_in_block();
    device::Pipeline<1> pipeline;
    device::copy_async<16>(s + 4 * t, x + 4 * t, t == 0 ? 16 : 8);
    pipeline.commit();
    pipeline.wait();
    for (int i = 0; i < 4; ++i) y[4 * t + i] = s[4 * t + i];
}

__global__ void last_block_kernel(const float* x, float* partial, unsigned* ticket,
                                  float* out) {  // x [6, 64], partial [6], out [1]
    device::SharedArena arena;
    float* const scratch = arena.take<float>(device::kBlockReduce);
    int* const flag = arena.take<int>(1);
    const int t = thread_in_block();
    const float sum = device::block_sum(x[blockIdx.x * 64 + static_cast<unsigned>(t)], scratch);
    if (t == 0) partial[blockIdx.x] = sum;
    if (!device::last_block(ticket, gridDim.x, flag)) return;
    const float all = device::block_sum(t < static_cast<int>(gridDim.x) ? partial[t] : 0.0f, scratch);
    if (t == 0) *out = all;
}

__global__ void reductions_kernel(const double* x, double* out) {  // x [256], out [256]
    double* const scratch = device::shared<double>(device::kBlockReduce);
    double value = x[thread_in_block()];
    for (int i = 0; i < 3; ++i) value = device::block_sum(value, scratch) / 256 + device::block_max(value, scratch);
    out[thread_in_block()] = value;
}

// bf16 and u8: neighbours in one word, written by different threads, warps and blocks.
template <class T>
__global__ void neighbours_kernel(T* out, T value) {  // out [4 * gridDim.x]
    T* const s = device::shared<T>(64);
    const int t = thread_in_block();
    s[t] = value;
    s[t] = s[t];
    if (t == 0) out[blockIdx.x] = s[0];
    if (t == 33) out[gridDim.x + blockIdx.x] = s[t];
    __syncthreads();
    s[63 - t] = s[63 - t];
}

__global__ void broadcast_kernel(const float* x, float* out) {  // x [1], out [gridDim.x, 64]
    float* const s = device::shared<float>(1);
    const int t = thread_in_block();
    for (int i = 0; i < 3; ++i) {
        if (t == 0) s[0] = x[0];
        __syncthreads();
        out[blockIdx.x * 64 + static_cast<unsigned>(t)] = s[0] + x[0];
        __syncthreads();
    }
}

__global__ void atomics_kernel(int* counter, int* largest, int* out) {  // counter [4], largest [1], out [gridDim.x]
    int* const local = device::shared<int>(4);
    const int t = thread_in_block();
    if (t < 4) local[t] = 0;
    __syncthreads();
    atomicAdd(local + t % 4, 1);
    atomicAdd(counter + t % 4, 1);
    atomicMax(largest, t);
    __syncthreads();
    if (t == 0) out[blockIdx.x] = local[0] + local[3];
}

__global__ void grid_barrier_kernel(int* a, int* b) {  // a [gridDim.x], b [gridDim.x]
    const unsigned own = blockIdx.x, blocks = gridDim.x;
    for (int i = 0; i < 3; ++i) {
        if (thread_in_block() == 0) a[own] = i;
        emulator::grid_barrier(emulator::Place::current());
        if (thread_in_block() == 9) b[own] = a[(own + 1) % blocks];
        emulator::grid_barrier(emulator::Place::current());
    }
}

struct Large {
    float values[40];
    int count;
};
// Parameters passed by value, local arrays indexed at run time, constants.
__global__ void own_memory_kernel(Large large, float* out) {  // out [32]
    static constexpr float kTable[] = {1, 2, 4, 8, 16};
    const int t = thread_in_block();
    float local[8];
    for (int i = 0; i < 8; ++i) local[(i + t) % 8] = large.values[(i * 5 + t) % large.count];
    const float* const table = t % 2 == 0 ? kTable : local;
    out[t] = local[t % 8] + table[t % 5];
}

// Accesses after an earlier launch's writes need no further synchronisation.
__global__ void fill_kernel(float* x) { x[blockIdx.x * 32 + static_cast<unsigned>(thread_in_block())] = 1; }
__global__ void reverse_kernel(const float* x, float* y, int n) {
    for (int i = thread_in_block(); i < n; i += 32) y[i] = x[n - 1 - i];
}

}  // namespace

std::vector<Sound> sound_kernels() {
    const auto on_floats = [](auto kernel, unsigned blocks, unsigned threads, std::size_t shared) {
        return [=] {
            const Buffer<float> out(512);
            run({.grid = blocks, .block = threads, .shared = shared}, kernel, out.data());
        };
    };
    return {
        {"lanes exchange values between two __syncwarp", on_floats(warp_exchange_kernel, 1, 64, 256)},
        {"half warps", on_floats(half_warps_kernel, 1, 32, 128)},
        {"chains of barriers", on_floats(chain_kernel, 1, 96, 384)},
        {"double buffering",
         [] {
             const Buffer<float> x(1024, 1.0f), y(64);
             run({.block = 64, .shared = 2048}, double_buffer_kernel, x.data(), y.data());
         }},
        {"copies filled with zeros",
         [] {
             const Buffer<float> x(6, 1.0f), y(8);
             run({.block = 2, .shared = 32}, zero_fill_kernel, x.data(), y.data());
         }},
        {"last block",
         [] {
             const Buffer<float> x(6 * 64, 1.0f), partial(6), out(1);
             const Buffer<unsigned> ticket(1, 0u);
             for (int i = 0; i < 2; ++i)
                 run({.grid = 6, .block = 64, .shared = 132}, last_block_kernel, x.data(), partial.data(), ticket.data(),
                     out.data());
         }},
        {"reductions of a block",
         [] {
             const Buffer<double> x(256, 1.0), y(256);
             run({.block = 256, .shared = 256}, reductions_kernel, x.data(), y.data());
         }},
        {"neighbours of bf16",
         [] {
             const Buffer<bf16> x(10);
             run({.grid = 5, .block = 64, .shared = 128}, neighbours_kernel<bf16>, x.data(), bf16(1.0f));
         }},
        {"neighbours of u8",
         [] {
             const Buffer<unsigned char> x(14);
             run({.grid = 7, .block = 64, .shared = 64}, neighbours_kernel<unsigned char>, x.data(),
                 static_cast<unsigned char>(1));
         }},
        {"broadcasts",
         [] {
             const Buffer<float> x(1, 1.0f), y(192);
             run({.grid = 3, .block = 64, .shared = 4}, broadcast_kernel, x.data(), y.data());
         }},
        {"atomics by everybody",
         [] {
             const Buffer<int> counter(4, 0), largest(1, 0), out(3);
             run({.grid = 3, .block = 64, .shared = 16}, atomics_kernel, counter.data(), largest.data(), out.data());
         }},
        {"grid barriers",
         [] {
             const Buffer<int> a(3), b(3);
             run({.grid = 3, .block = 32, .cooperative = true}, grid_barrier_kernel, a.data(), b.data());
         }},
        {"parameters, locals and constants",
         [] {
             Large large{};
             large.count = 37;
             const Buffer<float> out(32);
             run({.block = 32}, own_memory_kernel, large, out.data());
         }},
        {"two launches",
         [] {
             const Buffer<float> x(128), y(128);
             run({.grid = 4, .block = 32}, fill_kernel, x.data());
             run({.block = 32}, reverse_kernel, x.data(), y.data(), 128);
             run({.grid = 4, .block = 32}, fill_kernel, y.data());
         }},
    };
}

}  // namespace heddle::bugs
