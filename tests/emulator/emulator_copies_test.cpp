// Asynchronous copies: in flight until their own thread waits; the bytes move early or late at random.
#include <cstring>
#include <set>

#include "kernels/device/cuda.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"
#include "tests/emulator/emulator_support.h"

namespace heddle::emulator {
namespace {

using device::Pipeline;

constexpr int kThreads = 64;

// Each thread copies its own float of x. Sums tiles 0 .. tiles - 1 through a pipeline of two stages.
__global__ void pipelined_sum_kernel(const float* x, float* sums, int tiles) {
    auto* const tile = device::shared<float>(2 * kThreads);
    const int t = static_cast<int>(threadIdx.x);
    Pipeline<2> pipeline;
    device::copy_async<4>(&tile[t], &x[t]);
    pipeline.commit();
    float sum = 0;
    for (int i = 0; i < tiles; ++i) {
        if (i + 1 < tiles) device::copy_async<4>(&tile[(i + 1) % 2 * kThreads + t], &x[(i + 1) * kThreads + t]);
        pipeline.commit();
        pipeline.wait();
        __syncthreads();  // all threads' copies of tile i have landed
        sum += tile[i % 2 * kThreads + (t + 7) % kThreads];
        __syncthreads();  // all threads have read tile i
    }
    pipeline.wait_all();
    sums[t] = sum;
}

TEST(EmulatorCopies, APipelineOfTwoStages) {
    std::vector<float> x(7 * kThreads), sums(kThreads);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 101);
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        run_kernel({.block = {kThreads}, .shared = 2 * kThreads * sizeof(float)}, pipelined_sum_kernel, x.data(), sums.data(), 7);
        for (int t = 0; t < kThreads; ++t) {
            float wanted = 0;
            for (int i = 0; i < 7; ++i) wanted += x[static_cast<std::size_t>(i * kThreads + (t + 7) % kThreads)];
            ASSERT_EQ(sums[static_cast<std::size_t>(t)], wanted);
        }
    }
}

// The bytes that a thread sees of its own copy before and after its wait.
__global__ void peek_kernel(const int* x, int* before, int* after) {
    auto* const cell = device::shared<int>(32);
    const auto t = threadIdx.x;
    cell[t] = 5;
    Pipeline<1> pipeline;
    device::copy_async<4>(&cell[t], &x[t]);
    pipeline.commit();
    before[t] = static_cast<volatile int*>(cell)[t];
    pipeline.wait();
    after[t] = cell[t];
}

TEST(EmulatorCopies, LandEarlyOrLate) {
    int x[32], before[32], after[32];
    int early = 0, late = 0;
    for (int i = 0; i < 32; ++i) x[i] = 100 + i;
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        run_kernel({.shared = 128}, peek_kernel, x, before, after);
        for (int i = 0; i < 32; ++i) {
            EXPECT_TRUE(before[i] == 5 || before[i] == x[i]);
            EXPECT_EQ(after[i], x[i]);
            ++(before[i] == 5 ? late : early);
        }
    }
    EXPECT_GT(early, 200);  // of 640
    EXPECT_GT(late, 200);
}

// The source is read when the bytes move: a late copy sees later writes (a race, which the checker reports).
__global__ void changed_source_kernel(int* x, int* out) {
    auto* const cell = device::shared<int>(32);
    const auto t = threadIdx.x;
    Pipeline<1> pipeline;
    device::copy_async<4>(&cell[t], &x[t]);
    pipeline.commit();
    static_cast<volatile int*>(x)[t] = -1;
    pipeline.wait();
    out[t] = cell[t];
}

TEST(EmulatorCopies, ReadTheirSourceEarlyOrLate) {
    std::set<int> seen;
    for (std::uint64_t order = 0; order < 5; ++order) {
        set_seed(order);
        int x[32], out[32];
        std::fill(x, x + 32, 7);
        run_kernel({.shared = 128}, changed_source_kernel, x, out);
        seen.insert(out, out + 32);
    }
    EXPECT_EQ(seen, (std::set<int>{-1, 7}));
}

__global__ void groups_kernel(const int* x, int* out) {
    auto* const cell = device::shared<int>(4);
    if (threadIdx.x != 0) return;
    for (int i = 0; i < 4; ++i) cell[i] = -1;
    for (int i = 0; i < 4; ++i) {
        device::copy_async<4>(&cell[i], &x[i]);
        copy_commit();
    }
    volatile int* const seen = cell;
    for (int pending = 3; pending >= 0; --pending) {
        copy_wait(pending, Place::current());
        for (int i = 0; i < 4; ++i) out[(3 - pending) * 4 + i] = seen[i];
    }
}

TEST(EmulatorCopies, GroupsLandInOrder) {
    const int x[4] = {10, 11, 12, 13};
    int late = 0;
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        int out[16];
        run_kernel({.shared = 16}, groups_kernel, static_cast<const int*>(x), out);
        for (int step = 0; step < 4; ++step) {
            for (int i = 0; i < 4; ++i) {
                const int got = out[step * 4 + i];
                if (i <= step)
                    EXPECT_EQ(got, x[i]) << "seed " << order << " step " << step;
                else
                    late += got == -1;
            }
        }
    }
    EXPECT_GT(late, 10);
}

template <int Bytes>
__global__ void zero_fill_kernel(const unsigned char* x, unsigned char* out, int valid) {
    auto* const cell = device::shared<unsigned char>(Bytes);
    if (threadIdx.x != 0) return;
    Pipeline<1> pipeline;
    device::copy_async<Bytes>(cell, x, valid);
    pipeline.commit();
    pipeline.wait();
    for (int i = 0; i < Bytes; ++i) out[i] = cell[i];
}

template <int Bytes>
void check_zero_fill() {
    alignas(16) unsigned char x[Bytes];
    for (int i = 0; i < Bytes; ++i) x[i] = static_cast<unsigned char>(i + 1);
    for (int valid = 0; valid <= Bytes; ++valid) {
        unsigned char out[Bytes];
        run_kernel({.shared = Bytes}, zero_fill_kernel<Bytes>, static_cast<const unsigned char*>(x), out, valid);
        for (int i = 0; i < Bytes; ++i) EXPECT_EQ(out[i], i < valid ? x[i] : 0) << Bytes << " bytes, " << valid << " valid";
    }
}

TEST(EmulatorCopies, FillWithZeros) {
    check_zero_fill<4>();
    check_zero_fill<8>();
    check_zero_fill<16>();
    // With no valid bytes nothing is read: any aligned address is allowed.
    unsigned char out[16];
    run_kernel({.shared = 16}, zero_fill_kernel<16>, reinterpret_cast<const unsigned char*>(16), out, 0);
    for (const unsigned char byte : out) EXPECT_EQ(byte, 0);
}

}  // namespace
}  // namespace heddle::emulator
