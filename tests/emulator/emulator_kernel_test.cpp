// The emulator's threads, blocks, barriers and warp collectives, compared with their definitions.
#include "core/sanitizers.h"
#include "tests/emulator/emulator_support.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <set>

#include "kernels/device/cuda.h"
#include "kernels/device/fence.h"
#include "kernels/device/reduce.h"
#include "kernels/device/shared.h"

namespace heddle::emulator {
namespace {

using device::thread_in_block;

// ---- indices ----

__global__ void indices_kernel(int* seen) {
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    atomicAdd(&seen[block * threads + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)], 1);
}

TEST(EmulatorKernel, EveryThreadOfEveryBlockRunsOnce) {
    const Geometry geometry{.grid = {5, 3, 2}, .block = {7, 3, 2}};
    std::vector<int> seen(5 * 3 * 2 * 7 * 3 * 2);
    run_kernel(geometry, indices_kernel, seen.data());
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
}

TEST(EmulatorKernel, LaunchesAMillionThreads) {
    std::vector<int> seen(1 << 20);
    run_kernel({.grid = {4096}, .block = {256}}, indices_kernel, seen.data());
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
}

// ---- barriers ----

__global__ void reverse_kernel(const int* x, int* y) {
    auto* const tile = device::shared<int>(static_cast<int>(blockDim.x));
    tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

TEST(EmulatorKernel, ABarrierIsMetByTheWholeBlock) {
    const int blocks = 9, threads = 100;
    std::vector<int> x(blocks * threads), y(x.size());
    std::iota(x.begin(), x.end(), 0);
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        run_kernel({.grid = {blocks}, .block = {threads}, .shared = threads * sizeof(int)}, reverse_kernel, x.data(), y.data());
        for (int b = 0; b < blocks; ++b)
            for (int t = 0; t < threads; ++t) ASSERT_EQ(y[b * threads + t], x[b * threads + threads - 1 - t]) << "seed " << order;
    }
}

__global__ void count_kernel(int* counts, int* ors, int* ands) {
    const int t = static_cast<int>(threadIdx.x);
    counts[t] = __syncthreads_count(t % 3 == 0 ? 5 : 0);
    ors[t] = __syncthreads_or(t == 40) + 2 * __syncthreads_or(0);
    ands[t] = __syncthreads_and(t != 40) + 2 * __syncthreads_and(7);
}

TEST(EmulatorKernel, BarriersCountPredicates) {
    int counts[50], ors[50], ands[50];
    run_kernel({.block = {50}}, count_kernel, counts, ors, ands);
    for (int t = 0; t < 50; ++t) {
        EXPECT_EQ(counts[t], 17);
        EXPECT_EQ(ors[t], 1);
        EXPECT_EQ(ands[t], 2);
    }
}

// ---- warp collectives ----

__global__ void shuffles_kernel(int* out, int argument, int width) {
    const int lane = device::lane();
    out[lane] = __shfl_sync(device::kAllLanes, 100 + lane, argument, width);
    out[32 + lane] = __shfl_xor_sync(device::kAllLanes, 100 + lane, argument, width);
    out[64 + lane] = __shfl_down_sync(device::kAllLanes, 100 + lane, static_cast<unsigned>(argument), width);
    out[96 + lane] = __shfl_up_sync(device::kAllLanes, 100 + lane, static_cast<unsigned>(argument), width);
}

TEST(EmulatorKernel, ShufflesAreThoseOfTheManual) {
    int out[128];
    for (const int width : {1, 2, 4, 8, 16, 32}) {
        for (int argument = 0; argument < 32; ++argument) {
            run_kernel({}, shuffles_kernel, out, argument, width);
            for (int lane = 0; lane < 32; ++lane) {
                const int base = lane / width * width, end = base + width;
                const int other = lane ^ argument;
                EXPECT_EQ(out[lane], 100 + base + argument % width);
                EXPECT_EQ(out[32 + lane], 100 + (other < end ? other : lane));
                EXPECT_EQ(out[64 + lane], 100 + (lane + argument < end ? lane + argument : lane));
                EXPECT_EQ(out[96 + lane], 100 + (lane - argument >= base ? lane - argument : lane));
            }
        }
    }
}

// Each half of the warp computes its own sum, the lower one more often.
__global__ void halves_kernel(int* out) {
    const int lane = device::lane();
    int sum = lane;
    if (lane < 16) {
        for (int i = 0; i < 3; ++i) {
            int all = sum;
            for (int o = 8; o > 0; o /= 2) all += __shfl_xor_sync(0x0000ffffu, all, o);
            sum = all;
        }
    } else {
        for (int o = 8; o > 0; o /= 2) sum += __shfl_xor_sync(0xffff0000u, sum, o);
    }
    __syncwarp();
    out[lane] = sum;
    out[32 + lane] = static_cast<int>(__ballot_sync(device::kAllLanes, lane % 5 == 0));
    if (lane % 2 == 0) out[64 + lane] = static_cast<int>(__ballot_sync(0x55555555u, lane % 5 == 0));
    out[96 + lane] = __any_sync(device::kAllLanes, lane == 3) + 2 * __any_sync(device::kAllLanes, 0) +
                     4 * __all_sync(device::kAllLanes, lane) + 8 * __all_sync(device::kAllLanes, 9);
}

TEST(EmulatorKernel, PartsOfAWarpWorkApart) {
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        int out[128] = {};
        run_kernel({}, halves_kernel, out);
        for (int lane = 0; lane < 32; ++lane) {
            EXPECT_EQ(out[lane], lane < 16 ? 120 * 16 * 16 : 16 * 16 + 120);
            EXPECT_EQ(out[32 + lane], 0b01000010000100001000010000100001);
            if (lane % 2 == 0) {
                EXPECT_EQ(out[64 + lane], 0b01000000000100000000010000000001);
            }
            EXPECT_EQ(out[96 + lane], 1 + 8);
        }
    }
}

__global__ void block_sum_kernel(const double* x, double* sums, int n) {
    auto* const scratch = device::shared<double>(device::kBlockReduce);
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) sum += x[i];
    for (int repeat = 0; repeat < 3; ++repeat) sums[threadIdx.x] = device::block_sum(sum, scratch);
}

TEST(EmulatorKernel, BlocksReduce) {
    std::vector<double> x(1025), sums(1024);
    std::iota(x.begin(), x.end(), 1.0);
    for (const unsigned threads : {32u, 64u, 256u, 1024u}) {
        run_kernel({.block = {threads}, .shared = 32 * sizeof(double)}, block_sum_kernel, x.data(), sums.data(), 1025);
        for (unsigned t = 0; t < threads; ++t) ASSERT_EQ(sums[t], 1025 * 1026 / 2);
    }
}

// ---- costs ----

constexpr int kRounds = 500;
__global__ void many_barriers_kernel() {
    for (int i = 0; i < kRounds; ++i) __syncthreads();
}
__global__ void many_shuffles_kernel(int* out) {
    int value = thread_in_block();
    for (int i = 0; i < kRounds; ++i) value ^= __shfl_xor_sync(device::kAllLanes, value, 1 << i % 5);
    out[threadIdx.x] = value;
}

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
/// Nanoseconds of CPU time per thread and call, best of five.
template <class... Arguments>
double cost(unsigned threads, void (*kernel)(Arguments...), Arguments... arguments) {
    double best = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const double start = cpu_seconds();
        run_kernel({.block = {threads}}, kernel, arguments...);
        best = std::min(best, (cpu_seconds() - start) * 1e9 / kRounds / threads);
    }
    return best;
}

// Prints the figures in the README; fails only if they are far too high (a system call instead of a switch would take 300 ns and
// more).
TEST(EmulatorKernel, ASwitchIsCheap) {
#if defined(HEDDLE_THREAD_SANITIZER)
    GTEST_SKIP() << "TSan takes its time for each switch";
#endif
    int out[1024];
    for (const unsigned threads : {32u, 128u, 256u, 1024u}) {
        const double barrier = cost(threads, many_barriers_kernel), shuffle = cost(threads, many_shuffles_kernel, +out);
        std::printf("%4u threads: %.0f ns a barrier, %.0f ns a shuffle, each thread\n", threads, barrier, shuffle);
        EXPECT_LT(barrier, 2000);
        EXPECT_LT(shuffle, 2000);
    }
}

}  // namespace
}  // namespace heddle::emulator
