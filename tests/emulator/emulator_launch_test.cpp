// Launches: geometry, groups of blocks that are resident together, orders, chosen blocks, and records for reports.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/sanitizers.h"
#include "kernels/device/cuda.h"
#include "kernels/device/fence.h"
#include "kernels/device/shared.h"
#include "tests/emulator/emulator_support.h"

namespace heddle::emulator {
namespace {

using device::thread_in_block;

__global__ void nothing_kernel() {}

// ---- geometry ----

std::string refusal(const Geometry& geometry, std::size_t parameter_bytes = 0) {
    LaunchRequest request = request_for(geometry, nothing_kernel);
    request.parameter_bytes = parameter_bytes;
    return geometry_error(request);
}
void expect_refused(const std::string& part, const Geometry& geometry, std::size_t parameter_bytes = 0) {
    const std::string text = refusal(geometry, parameter_bytes);
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" without \"" << part << "\"";
}

TEST(EmulatorLaunch, GeometryHasLimits) {
    EXPECT_EQ(refusal({.grid = {2147483647, 65535, 65535}, .block = {1024}}), "");
    expect_refused("x goes up to 2,147,483,647", {.grid = {2147483648u}});
    expect_refused("y and z go up to 65,535", {.grid = {1, 65536}});
    expect_refused("y and z go up to 65,535", {.grid = {1, 1, 65536}});
    expect_refused("the grid is empty", {.grid = {1, 0}});
    expect_refused("the block is empty", {.block = {32, 1, 0}});
    EXPECT_EQ(refusal({.block = {16, 1, 64}}), "");
    expect_refused("z goes up to 64", {.block = {1, 1, 65}});
    expect_refused("x and y go up to 1,024", {.block = {1025}});
    expect_refused("1,024 are the most", {.block = {32, 33}});
    EXPECT_EQ(refusal({}, profile().parameter_bytes), "");
    expect_refused("the kernel's parameters are", {}, profile().parameter_bytes + 1);
    EXPECT_EQ(refusal({.shared = profile().shared_per_block}), "");
    expect_refused("bytes of shared memory, but", {.shared = profile().shared_per_block + 1});
    EXPECT_THROW(run_kernel({.block = {2000}}, nothing_kernel), std::invalid_argument);
}

TEST(EmulatorLaunch, ChipsDiffer) {
    const std::string chip = profile().name;
    const std::size_t shared = profile().shared_per_block / 1024;
    EXPECT_EQ(shared, chip == "sm_80" ? 163u : chip == "sm_90" ? 227u : 99u) << chip;
    if (profile().clusters) {
        EXPECT_EQ(refusal({.grid = {8}, .cluster = 8}), "");
        expect_refused("wanted 1 to 8", {.grid = {16}, .cluster = 16});
        expect_refused("is not a multiple of the cluster's 4", {.grid = {6}, .cluster = 4});
    } else {
        expect_refused("there are no clusters", {.grid = {8}, .cluster = 8});
    }
    // A multiprocessor has threads for two blocks of 1024 (one, with 1536 threads).
    const auto fit = static_cast<unsigned>(profile().multiprocessors * (profile().threads_per_multiprocessor / 1024));
    EXPECT_EQ(refusal({.grid = {fit}, .block = {1024}, .cooperative = true}), "");
    expect_refused("fit at once", {.grid = {fit + 1}, .block = {1024}, .cooperative = true});
    expect_refused("fit at once", {.grid = {static_cast<unsigned>(profile().multiprocessors) + 1},
                                   .block = {32},
                                   .shared = profile().shared_per_block,
                                   .cooperative = true});
}

// ---- blocks that are resident together ----

// Every block writes its number; after the barrier each reads its right neighbour's within the group.
__global__ void neighbours_kernel(int* values, int* seen, int group, bool whole_grid) {
    const int block = static_cast<int>(blockIdx.x);
    for (int round = 0; round < 3; ++round) {
        if (threadIdx.x == 0) values[block] = 100 * round + block;
        whole_grid ? grid_barrier(Place::current()) : cluster_barrier(Place::current());
        const int neighbour = block / group * group + (block + 1) % group;
        if (threadIdx.x == 33) seen[3 * block + round] = values[neighbour];
        whole_grid ? grid_barrier(Place::current()) : cluster_barrier(Place::current());
    }
}

TEST(EmulatorLaunch, ClustersAndGridsMeet) {
    for (const int group : {1, 2, 4, 8, 24}) {
        if (group > 1 && group < 24 && !profile().clusters) continue;
        for (std::uint64_t order = 0; order < 20; ++order) {
            set_seed(order);
            int values[24], seen[72] = {};
            const bool whole_grid = group == 24;
            run_kernel({.grid = {24}, .block = {64}, .cluster = whole_grid ? 1 : group, .cooperative = whole_grid},
                       neighbours_kernel, values, seen, group, whole_grid);
            for (int block = 0; block < 24; ++block)
                for (int round = 0; round < 3; ++round)
                    ASSERT_EQ(seen[3 * block + round], 100 * round + block / group * group + (block + 1) % group);
        }
    }
}

__global__ void one_block_leaves_kernel() {
    if (blockIdx.x != 2) grid_barrier(Place::current());
}
TEST(EmulatorLaunch, AGridBarrierThatABlockNeverReaches) {
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        const std::string text = violation_of({.grid = {4}, .cooperative = true}, one_block_leaves_kernel);
        EXPECT_NE(text.find("grid_barrier"), std::string::npos) << text;
        EXPECT_TRUE(text.find("of block (2, 0, 0) has left the kernel") != std::string::npos ||
                    text.find("deadlock") != std::string::npos)
            << text;
    }
}

// Shared memory is separate for each block, even if several are resident at once.
__global__ void own_shared_kernel(int* out) {
    auto* const x = device::shared<int>(32);
    x[threadIdx.x] = static_cast<int>(100 * blockIdx.x + threadIdx.x);
    grid_barrier(Place::current());
    out[32 * blockIdx.x + threadIdx.x] = x[31 - threadIdx.x];
}
TEST(EmulatorLaunch, ResidentBlocksHaveTheirOwnSharedMemory) {
    int out[8 * 32];
    run_kernel({.grid = {8}, .shared = 128, .cooperative = true}, own_shared_kernel, out);
    for (int i = 0; i < 256; ++i) EXPECT_EQ(out[i], i / 32 * 100 + 31 - i % 32);
}

// ---- the last block ----

__global__ void last_block_kernel(const int* x, int* partial, unsigned* ticket, int* sum, int* lasts) {
    auto* const flag = device::shared<int>(1);
    if (threadIdx.x == 0) partial[blockIdx.x] = x[blockIdx.x];
    if (!device::last_block(ticket, gridDim.x, flag)) return;
    if (threadIdx.x != 0) return;
    for (unsigned i = 0; i < gridDim.x; ++i) *sum += partial[i];
    ++*lasts;
}
TEST(EmulatorLaunch, OneBlockIsTheLast) {
    std::vector<int> x(100), partial(100);
    std::iota(x.begin(), x.end(), 1);
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        unsigned ticket = 0;
        int sum = 0, lasts = 0;
        run_kernel({.grid = {100}, .block = {64}, .shared = 4}, last_block_kernel, x.data(), partial.data(), &ticket, &sum,
                   &lasts);
        EXPECT_EQ(sum, 5050);
        EXPECT_EQ(lasts, 1);
        EXPECT_EQ(ticket, 0u);
    }
}

// ---- waiting without a signal ----

__global__ void spin_kernel(int* flag, int* order) {
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) != 31) {
        }
        *order = 1;
    } else {
        atomicAdd(flag, 1);
    }
}
TEST(EmulatorLaunch, AThreadMaySpinUntilOthersHaveCome) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        set_seed(seed);
        int flag = 0, order = 0;
        run_kernel({}, spin_kernel, &flag, &order);
        EXPECT_EQ(order, 1);
    }
}

template <class T>
__global__ void atomics_kernel(T* cells) {
    const T t = static_cast<T>(threadIdx.x);
    atomicAdd(&cells[0], t);
    atomicMin(&cells[1], static_cast<T>(t - 5));
    atomicMax(&cells[2], t);
    atomicOr(&cells[3], static_cast<T>(T{1} << (t % 31)));
    if (atomicCAS(&cells[4], T{0}, static_cast<T>(t + 1)) == 0) atomicAdd(&cells[5], T{1});
    if (atomicExch(&cells[6], T{1}) == 0) atomicAdd(&cells[7], T{1});
}
template <class T>
void check_atomics() {
    T cells[8] = {};
    cells[1] = 3;
    run_kernel({.grid = {4}, .block = {64}}, atomics_kernel<T>, cells);
    EXPECT_EQ(cells[0], T{4 * 2016});
    EXPECT_EQ(cells[1], std::is_signed_v<T> ? static_cast<T>(-5) : T{0});
    EXPECT_EQ(cells[2], T{63});
    EXPECT_EQ(cells[3], T{0x7fffffff});
    EXPECT_TRUE(cells[4] >= 1 && cells[4] <= 64);
    EXPECT_EQ(cells[5], T{1});
    EXPECT_EQ(cells[7], T{1});
}
TEST(EmulatorLaunch, AtomicsLoseNothing) {
    check_atomics<int>();
    check_atomics<unsigned>();
    check_atomics<long long>();
    check_atomics<unsigned long long>();
}

// ---- orders and seeds ----

__global__ void order_kernel(int* next, int* order) {
    __syncthreads();
    order[atomicAdd(next, 1)] = thread_in_block();
}
std::vector<int> order_of(std::uint64_t seed) {
    set_seed(seed);
    int next = 0;
    std::vector<int> order(64);
    run_kernel({.block = {64}}, order_kernel, &next, order.data());
    return order;
}
TEST(EmulatorLaunch, ThreadsRunInRandomOrderThatASeedRepeats) {
    std::set<std::vector<int>> orders;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        orders.insert(order_of(seed));
        EXPECT_EQ(order_of(seed), order_of(seed));
    }
    EXPECT_EQ(orders.size(), 20u);
    EXPECT_EQ(seed(), 19u);
}

// ---- CPU threads ----

std::atomic<int> on_other_threads{0};
std::thread::id launching;
__global__ void where_kernel() {
    if (std::this_thread::get_id() != launching) ++on_other_threads;
    __syncthreads();
}
TEST(EmulatorLaunch, BlocksSpreadOverCpuThreads) {
    if (std::thread::hardware_concurrency() < 2 || std::getenv("HEDDLE_EMULATOR_THREADS") != nullptr) GTEST_SKIP();
    launching = std::this_thread::get_id();
    for (int attempt = 0; attempt < 50 && on_other_threads == 0; ++attempt)
        run_kernel({.grid = {2000}, .block = {64}}, where_kernel);
    EXPECT_GT(on_other_threads, 0);
}

TEST(EmulatorLaunch, SeveralCpuThreadsMayLaunch) {
    std::vector<int> sums(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&sums, i] {
            for (int repeat = 0; repeat < 50; ++repeat) {
                int next = 0;
                int order[64] = {};
                run_kernel({.block = {64}}, order_kernel, &next, order);
                sums[static_cast<std::size_t>(i)] += std::accumulate(order, order + 64, 0);
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const int sum : sums) EXPECT_EQ(sum, 50 * 2016);
}

// ---- chosen blocks ----

__global__ void far_kernel(std::uint64_t* seen, int* count) {
    if (threadIdx.x == 0)
        seen[atomicAdd(count, 1)] = blockIdx.x + std::uint64_t{gridDim.x} * (blockIdx.y + std::uint64_t{gridDim.y} * blockIdx.z);
}
TEST(EmulatorLaunch, BlocksCanBeChosen) {
    const std::vector<std::uint64_t> blocks = {0, 2147483646, 2147483647, 2147483647ull * 65535 * 3 - 1};
    std::vector<std::uint64_t> seen(4);
    int count = 0;
    {
        const ChosenBlocks chosen(blocks);
        ASSERT_NE(chosen_blocks(), nullptr);
        run_kernel({.grid = {2147483647, 65535, 3}}, far_kernel, seen.data(), &count);
    }
    EXPECT_EQ(chosen_blocks(), nullptr);
    ASSERT_EQ(count, 4);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, blocks);
    const ChosenBlocks outside({7});
    EXPECT_THROW(run_kernel({.grid = {7}}, nothing_kernel), std::invalid_argument);
}

// ---- records for reports ----

constexpr int kBarrier = __LINE__ + 2;
__global__ void skip_kernel(int* order, int* next) {
    __syncthreads();
    __threadfence();
    __syncwarp();
    if (threadIdx.x == 0) order[0] = atomicAdd(next, 1);
    if (threadIdx.x == 32) order[1] = atomicAdd(next, 1);
}
TEST(EmulatorLaunch, SynchronisationIsListedAndSkipped) {
    int order[2], next = 0;
    static_cast<void>(synchronisation_places());
    run_kernel({.block = {64}}, skip_kernel, order, &next);
    const std::string file = "tests/emulator/emulator_launch_test.cpp:";
    const std::vector<std::string> wanted = {file + std::to_string(kBarrier) + " __syncthreads",
                                             file + std::to_string(kBarrier + 1) + " __threadfence",
                                             file + std::to_string(kBarrier + 2) + " __syncwarp"};
    EXPECT_EQ(synchronisation_places(), wanted);
    EXPECT_TRUE(synchronisation_places().empty());
}

// Without its barrier, in some order a thread reads before another one has written.
constexpr int kSkipped = __LINE__ + 4;
__global__ void needs_barrier_kernel(int* out) {
    auto* const x = device::shared<int>(64);
    x[threadIdx.x] = 7;
    __syncthreads();
    out[threadIdx.x] = x[63 - threadIdx.x];
}
TEST(EmulatorLaunch, ASkippedBarrierDoesNothing) {
#if defined(HEDDLE_THREAD_SANITIZER)
    GTEST_SKIP() << "ThreadSanitizer reports the race, as it should";
#endif
    const auto good = [] {
        int out[64];
        run_kernel({.block = {64}, .shared = 256}, needs_barrier_kernel, out);
        return std::count(out, out + 64, 7);
    };
    EXPECT_EQ(good(), 64);
    skip_synchronisation("tests/emulator/emulator_launch_test.cpp:" + std::to_string(kSkipped));
    std::ptrdiff_t fewest = 64;
    if (violation_of({.block = {64}, .shared = 256}, needs_barrier_kernel, std::vector<int>(64).data()).empty()) fewest = good();
    skip_synchronisation("");
    EXPECT_LT(fewest, 64);
    EXPECT_EQ(good(), 64);
}

TEST(EmulatorLaunch, KernelsAreRemembered) {
    run_kernel({}, nothing_kernel);
    const std::vector<std::string> names = launched_kernels();
    EXPECT_NE(std::find(names.begin(), names.end(), "nothing_kernel"), names.end());
    EXPECT_EQ(std::find(names.begin(), names.end(), "one_never_launched_kernel"), names.end());
}

}  // namespace
}  // namespace heddle::emulator
