// Asynchronous copies without a wait, or with a source or destination that is accessed too early.
#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"
#include "tests/emulator/emulator_bugs.h"

namespace heddle::bugs {
namespace {

using device::copy_async;
using device::Pipeline;
using device::thread_in_block;

template <bool Broken>
__global__ void read_before_wait_kernel(const float* x, float* y) {  // x [32], y [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    copy_async<4>(s + t, x + t);  // BUG copy read before the wait
    pipeline.commit();
    if constexpr (!Broken) pipeline.wait();
    y[t] = s[t];  // BUG copy read before the wait
    pipeline.wait_all();
}

// Each thread has waited for its own copy, but not for its neighbour's.
template <bool Broken>
__global__ void read_without_barrier_kernel(const float* x, float* y) {  // x [64], y [64]
    float* const s = device::shared<float>(64);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    copy_async<4>(s + t, x + t);  // BUG another's copy read without a barrier
    pipeline.commit();
    pipeline.wait();
    if constexpr (!Broken) __syncthreads();
    y[t] = s[63 - t];  // BUG another's copy read without a barrier
}

// The barrier precedes the wait: it orders the issue of the copies, not their completion.
template <bool Broken>
__global__ void barrier_before_wait_kernel(const float* x, float* y) {  // x [64], y [64]
    float* const s = device::shared<float>(64);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    copy_async<4>(s + t, x + t);  // BUG barrier before the wait
    pipeline.commit();
    if constexpr (Broken) __syncthreads();
    pipeline.wait();
    if constexpr (!Broken) __syncthreads();
    y[t] = s[63 - t];  // BUG barrier before the wait
}

template <bool Broken>
__global__ void source_kernel(float* x, float* y) {  // x [32], y [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    copy_async<4>(s + t, x + t);  // BUG source overwritten before the wait
    pipeline.commit();
    if constexpr (!Broken) pipeline.wait();
    x[t] = 0;  // BUG source overwritten before the wait
    if constexpr (Broken) pipeline.wait();
    y[t] = s[t];
}

template <bool Broken>
__global__ void destination_kernel(const float* x, float* y) {  // x [32], y [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    copy_async<4>(s + t, x + t);  // BUG destination overwritten before the wait
    pipeline.commit();
    if constexpr (!Broken) pipeline.wait();
    s[t] = 0;  // BUG destination overwritten before the wait
    if constexpr (Broken) pipeline.wait();
    y[t] = s[t];
}

// The next tile is fetched into memory that others may still be reading.
template <bool Broken>
__global__ void overwritten_tile_kernel(const float* x, float* y) {  // x [2 * 64], y [64]
    float* const s = device::shared<float>(64);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    float sum = 0;
    for (int tile = 0; tile < 2; ++tile) {
        copy_async<4>(s + t, x + 64 * tile + t);  // BUG copy over a tile that is being read
        pipeline.commit();
        pipeline.wait();
        __syncthreads();
        sum += s[63 - t];  // BUG copy over a tile that is being read
        if constexpr (!Broken) __syncthreads();
    }
    y[t] = sum;
}

// Two buffers, but the pipeline allows `Stages` groups in flight.
template <int Stages, bool EndBarrier = true>
__global__ void double_buffer_kernel(const float* x, float* y) {  // x [4, 256], y [64]
    device::SharedArena arena;
    float* const s = arena.take<float>(2 * 256);
    const int t = thread_in_block();
    Pipeline<Stages> pipeline;
    pipeline.acquire();
    copy_async(s + 4 * t, x + 4 * t);  // BUG pipeline one stage too few
    pipeline.commit();
    float sum = 0;
    for (int tile = 0; tile < 4; ++tile) {
        if (tile + 1 < 4) {
            pipeline.acquire();
            copy_async(s + (tile + 1) % 2 * 256 + 4 * t, x + (tile + 1) * 256 + 4 * t);  // BUG pipeline one stage too few
        }
        pipeline.commit();
        pipeline.wait();
        __syncthreads();
        for (int i = 0; i < 4; ++i) sum += s[tile % 2 * 256 + 64 * i + t];  // BUG pipeline one stage too few
        if constexpr (EndBarrier) __syncthreads();
        pipeline.release();
    }
    pipeline.wait_all();
    y[t] = sum;
}

template <bool Broken>
__global__ void never_waited_kernel(const float* x) {  // x [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    copy_async<4>(s + t, x + t);  // BUG copy never waited for
    pipeline.commit();
    if constexpr (!Broken) pipeline.wait();
}

template <bool Broken>
__global__ void unwritten_source_kernel(const float* x, float* y) {  // x [32], y [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    if (!Broken || t != 9) copy_async<4>(s + t, x + t);
    pipeline.commit();
    pipeline.wait();
    y[t] = s[t];  // BUG tile with a hole
}

__global__ void copy_all_kernel(const float* x, float* y) {  // x [32], y [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    Pipeline<1> pipeline;
    copy_async<4>(s + t, x + t);  // BUG copy from behind the end
    pipeline.commit();
    pipeline.wait();
    y[t] = s[t];
}

template <bool Broken>
__global__ void misaligned_copy_kernel(const float* x) {  // x [64]
    float* const s = device::shared<float>(64);
    Pipeline<1> pipeline;
    copy_async<16>(s, x + (Broken ? 1 : 4));  // BUG misaligned copy
    pipeline.commit();
    pipeline.wait();
}

constexpr BugsOf bug{"tests/emulator/emulator_checker_kernels_copies.cu"};

template <class Kernel>
std::function<void()> copying(Kernel kernel, unsigned threads, std::size_t count, std::size_t shared) {
    return [=] {
        const Buffer<float> x(count, 1.0f), y(64);
        run({.block = threads, .shared = shared}, kernel, x.data(), y.data());
    };
}
template <class Kernel>
std::function<void()> only_reading(Kernel kernel, unsigned threads) {
    return [=] {
        const Buffer<float> x(64, 1.0f);
        run({.block = threads, .shared = 256}, kernel, x.data());
    };
}

}  // namespace

std::vector<Bug> copy_bugs() {
    const std::string not_waited = "issued at tests/emulator/emulator_checker_kernels_copies.cu", barrier = "barrier between";
    const auto small = [](auto kernel) { return copying(kernel, 32, 32, 128); };
    const auto wide = [](auto kernel) { return copying(kernel, 64, 128, 256); };
    const auto tiles = [](auto kernel) { return copying(kernel, 64, 1024, 2048); };
    return {
        bug("copy read before the wait", small(read_before_wait_kernel<true>), small(read_before_wait_kernel<false>),
            {not_waited}),
        bug("another's copy read without a barrier", wide(read_without_barrier_kernel<true>),
            wide(read_without_barrier_kernel<false>), {not_waited, barrier, "that no thread of this block has written"}),
        bug("barrier before the wait", wide(barrier_before_wait_kernel<true>), wide(barrier_before_wait_kernel<false>),
            {not_waited, barrier}),
        bug("source overwritten before the wait", small(source_kernel<true>), small(source_kernel<false>), {not_waited}),
        bug("destination overwritten before the wait", small(destination_kernel<true>), small(destination_kernel<false>),
            {not_waited}),
        bug("copy over a tile that is being read", wide(overwritten_tile_kernel<true>), wide(overwritten_tile_kernel<false>),
            {barrier, not_waited}),
        bug("pipeline one stage too few", tiles(double_buffer_kernel<3>), tiles(double_buffer_kernel<2>), {not_waited}),
        bug("double buffer without its second barrier", tiles(double_buffer_kernel<2, false>), tiles(double_buffer_kernel<2>),
            {barrier, not_waited}, "pipeline one stage too few"),
        bug("tile with a hole", small(unwritten_source_kernel<true>), small(unwritten_source_kernel<false>),
            {"that no thread of this block has written"}),
        bug("copy from behind the end", copying(copy_all_kernel, 32, 31, 128), copying(copy_all_kernel, 32, 32, 128),
            {"4 bytes past the end of the 124 bytes allocated at"}),
        bug("misaligned copy", only_reading(misaligned_copy_kernel<true>, 1), only_reading(misaligned_copy_kernel<false>, 1),
            {"not a multiple"}, nullptr, "scheduler"),
        bug("copy never waited for", only_reading(never_waited_kernel<true>, 32), only_reading(never_waited_kernel<false>, 32),
            {"without having waited for its asynchronous copy"}, nullptr, "scheduler"),
    };
}

}  // namespace heddle::bugs
