// The counts of traffic, for kernels whose accesses are known: bytes of threads, accesses and sectors of warps, cycles of banks,
// meetings.
#include <cstring>

#include "kernels/device/element.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "kernels/emulator/trace/traffic.h"
#include "tests/emulator/emulator_support.h"

namespace heddle::emulator {
namespace {

constexpr std::size_t kFloats = 1 << 14;
struct Memory {
    alignas(256) float x[kFloats] = {};
    alignas(256) float y[kFloats] = {};
};

template <class Work>
void expect_traffic(const Traffic& wanted, const Work& work) {
    for (std::uint64_t order = 0; order < 10; ++order) {
        set_seed(order);
        begin_traffic();
        work();
        const Traffic got = end_traffic();
        ASSERT_EQ(got.accesses, wanted.accesses) << "seed " << order;
        ASSERT_EQ(got.bytes, wanted.bytes);
        ASSERT_EQ(got.sectors, wanted.sectors);
        ASSERT_EQ(got.shared_accesses, wanted.shared_accesses);
        ASSERT_EQ(got.shared_cycles, wanted.shared_cycles);
        ASSERT_EQ(got.least_shared_cycles, wanted.least_shared_cycles);
        ASSERT_EQ(got.barriers, wanted.barriers);
        ASSERT_EQ(got.collectives, wanted.collectives);
    }
}

// y[t] = x[stride t + first]
__global__ void strided_copy_kernel(const float* x, float* y, int stride, int first) {
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const auto one = device::load_vector<1>(x + stride * t + first);
    device::store_vector(y + t, one);
}

TEST(EmulatorTraffic, CountsTheSectorsThatAWarpTouches) {
    const auto memory = std::make_unique<Memory>();
    const auto copy = [&](int stride, int first) {
        return [&memory, stride, first] { run_kernel({}, strided_copy_kernel, memory->x, memory->y, stride, first); };
    };
    expect_traffic({2, 256, 4 + 4}, copy(1, 0));   // 128 bytes in a row
    expect_traffic({2, 256, 5 + 4}, copy(1, 1));   // not aligned to a sector
    expect_traffic({2, 256, 8 + 4}, copy(2, 0));   // every other number
    expect_traffic({2, 256, 32 + 4}, copy(8, 0));  // each lane in a sector of its own
    expect_traffic({2, 256, 1 + 4}, copy(0, 0));   // all lanes read the same
}

TEST(EmulatorTraffic, CountsEachWarpAndBlockByItself) {
    const auto memory = std::make_unique<Memory>();
    // Three blocks of 33 threads: a warp of 32, and one of 1.
    expect_traffic({12, 3 * 33 * 8, 3 * (1 + 1) + (4 + 5 + 5) + 3},
                   [&] { run_kernel({.grid = {3}, .block = {33}}, strided_copy_kernel, memory->x, memory->y, 0, 0); });
}

// Each lane repeats the loop as often as its number says, and copies vectors of four through shared memory.
__global__ void vectors_kernel(const float* x, float* y, int valid) {
    auto* const tile = device::shared<float>(128);
    const int t = static_cast<int>(threadIdx.x);
    for (int i = 0; i < t % 2 + 1; ++i) {
        const auto four = device::load_vector<4>(x + 128 * i + 4 * t);
        device::store_vector(tile + 4 * t, four);
    }
    device::copy_async<16>(tile + 4 * t, x + 4 * t, valid);
    device::Pipeline<1> pipeline;
    pipeline.commit();
    pipeline.wait();
    device::store_vector(y + 4 * t, device::load_vector<4>(tile + 4 * t));
}

TEST(EmulatorTraffic, CountsVectorsAndCopies) {
    const auto memory = std::make_unique<Memory>();
    const auto run_with = [&](int valid) {
        return [&memory, valid] { run_kernel({.shared = 128 * sizeof(float)}, vectors_kernel, memory->x, memory->y, valid); };
    };
    // 16 sectors for all lanes; the odd lanes' second vectors touch each sector of the next 512 bytes; the copy; the store. In
    // shared memory two stores of which the second has half of the lanes, what the copy writes, and the load, each in four parts.
    expect_traffic({4, 512 + 256 + 512 + 512, 16 + 16 + 16 + 16, 4, 16, 16}, run_with(16));
    expect_traffic({4, 512 + 256 + 128 + 512, 16 + 16 + 16 + 16, 4, 16, 16}, run_with(4));
    expect_traffic({3, 512 + 256 + 512, 16 + 16 + 16, 4, 16, 16}, run_with(0));
}

// Two warps write numbers with a stride of `stride`, meet, read them in another order, and sum neighbours.
__global__ void banks_kernel(float* y, int stride) {
    auto* const tile = device::shared<float>(64 * 33);
    const int t = static_cast<int>(threadIdx.x);
    device::write_one(tile + t * stride, static_cast<float>(t));
    __syncthreads();
    const float mine = device::read_one(tile + (63 - t) * stride);
    device::write_one(y + t, mine + __shfl_xor_sync(device::kAllLanes, mine, 1));
}

TEST(EmulatorTraffic, CountsCyclesOfBanksAndMeetings) {
    const auto memory = std::make_unique<Memory>();
    const auto run_with = [&](int stride) {
        return [&memory, stride] {
            run_kernel({.block = {64}, .shared = 64 * 33 * sizeof(float)}, banks_kernel, memory->y, stride);
        };
    };
    for (const auto& [stride, ways] : {std::pair{1, 1u}, {2, 2u}, {8, 8u}, {32, 32u}, {33, 1u}})
        expect_traffic({2, 256, 8, 4, 4 * ways, 4, 2, 2}, run_with(stride));
    EXPECT_EQ(memory->y[0], 63 + 62);
}

// Each lane does as many rounds as its number says, and meets the others after each: their reads in one round are one access.
__global__ void rounds_kernel(const float* x, float* y) {
    const int t = static_cast<int>(threadIdx.x);
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
        if (t >= 8 * i) sum += device::read_one(x + t);
        __syncwarp();
    }
    device::write_one(y + t, sum);
}

TEST(EmulatorTraffic, AlignsLanesAtTheirWaits) {
    const auto memory = std::make_unique<Memory>();
    expect_traffic({4 + 1, 4 * (32 + 24 + 16 + 8 + 32), 4 + 3 + 2 + 1 + 4, 0, 0, 0, 0, 4},
                   [&] { run_kernel({}, rounds_kernel, memory->x, memory->y); });
}

TEST(EmulatorTraffic, CountsNothingOutsideOfACount) {
    const auto memory = std::make_unique<Memory>();
    run_kernel({}, strided_copy_kernel, memory->x, memory->y, 1, 0);
    begin_traffic();
    EXPECT_EQ(end_traffic().bytes, 0u);
}

}  // namespace
}  // namespace heddle::emulator
