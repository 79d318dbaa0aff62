// Mistakes detected while a kernel runs: each broken kernel must be reported in each of 20 random orders, with kernel, block,
// thread and source line, its correct twin in none.
#include <algorithm>
#include <stdexcept>

#include "core/sanitizers.h"
#include "kernels/device/cuda.h"
#include "kernels/device/mma.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "tests/emulator/emulator_support.h"

namespace heddle::emulator {
namespace {

using device::kAllLanes;
using device::lane;
using device::SharedArena;

std::string line(int number) { return "tests/emulator/emulator_errors_test.cpp:" + std::to_string(number); }

// Expects the violation from kernel(true), and none from its twin kernel(false), in 20 orders each.
void expect_broken(const std::vector<std::string>& parts, const Geometry& geometry, void (*kernel)(bool)) {
    expect_violation(parts, geometry, kernel, true);
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        EXPECT_EQ(violation_of(geometry, kernel, false), "") << "seed " << order;
    }
}

// ---- barriers ----

constexpr int kTwoPlaces = __LINE__ + 3;
__global__ void two_places_kernel(bool broken) {
    if (broken && threadIdx.x >= 70)
        __syncthreads();
    else
        __syncthreads();
}
TEST(EmulatorErrors, BarriersAtTwoPlaces) {
    expect_broken({"kernel two_places_kernel, block (", ", 0, 0), thread (", "comes to __syncthreads at ", line(kTwoPlaces),
                   line(kTwoPlaces + 2), ", while thread (", "waits in __syncthreads at ",
                   "not every thread comes to the same barrier", "(HEDDLE_EMULATOR_SEED="},
                  {.grid = {2}, .block = {100}}, two_places_kernel);
}

__global__ void leaves_early_kernel(bool broken) {
    if (broken && threadIdx.x == 33) return;
    __syncthreads();
}
TEST(EmulatorErrors, ABarrierThatSomeLeaveBefore) {
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        const std::string text = violation_of({.block = {64}}, leaves_early_kernel, true);
        // The second thread to arrive reports it.
        EXPECT_TRUE(text.find("thread (33, 0, 0) has left the kernel and never will") != std::string::npos ||
                    text.find("thread (33, 0, 0): leaves the kernel, while thread (") != std::string::npos)
            << text;
    }
    EXPECT_EQ(violation_of({.block = {64}}, leaves_early_kernel, false), "");
}

__global__ void named_kernel(bool broken) {
    if (threadIdx.x < 64) named_barrier(1, broken ? 96 : 64);
}
TEST(EmulatorErrors, ANamedBarrierThatTooFewComeTo) {
    expect_broken({"deadlock: no thread can go on", "threads (0, 0, 0) to (63, 0, 0): each waits in named_barrier(1) at tests/",
                   "threads (64, 0, 0) to (127, 0, 0): each has left the kernel"},
                  {.block = {128}}, named_kernel);
}

__global__ void named_counts_kernel(bool broken) {
    if (threadIdx.x < 64) named_barrier(3, broken && threadIdx.x >= 32 ? 96 : 64);
}
TEST(EmulatorErrors, ANamedBarrierWithTwoCounts) {
    expect_broken({"named_barrier(3, ", "waits at tests/", " threads"}, {.block = {128}}, named_counts_kernel);
}

__global__ void named_half_kernel(bool broken) {
    if (broken ? threadIdx.x % 2 == 0 : threadIdx.x < 32) named_barrier(2, 32);
}
TEST(EmulatorErrors, ANamedBarrierOfHalfWarps) {
    expect_broken({"named_barrier(2, 32)", "only a part of warp 0"}, {.block = {64}}, named_half_kernel);
}

__global__ void named_id_kernel(bool broken) { named_barrier(broken ? 16 : 15, 32); }
TEST(EmulatorErrors, ANamedBarrierThatDoesNotExist) { expect_broken({"must lie in 1 to 15"}, {}, named_id_kernel); }

__global__ void named_odd_kernel(bool broken) { named_barrier(1, broken ? 33 : 32); }
TEST(EmulatorErrors, ANamedBarrierOfNoWholeWarps) { expect_broken({"a multiple of 32"}, {}, named_odd_kernel); }

__global__ void waits_for_all_kernel(bool broken) {
    if (threadIdx.x < 32 && broken) named_barrier(1, 64);
    __syncthreads();
}
TEST(EmulatorErrors, ADeadlockSaysWhereEachWaits) {
    expect_broken({"deadlock", "threads (0, 0, 0) to (31, 0, 0): each waits in named_barrier(1)",
                   "threads (32, 0, 0) to (63, 0, 0): each waits in __syncthreads at "},
                  {.block = {64}}, waits_for_all_kernel);
}

__global__ void grid_barrier_kernel(bool) { grid_barrier(Place::current()); }
TEST(EmulatorErrors, AGridBarrierWithoutACooperativeLaunch) {
    expect_violation({"grid_barrier at ", "not cooperative"}, {}, grid_barrier_kernel, true);
}

// ---- collectives ----

__global__ void absent_lane_kernel(bool broken) {
    if (lane() < 31 || !broken) __shfl_xor_sync(kAllLanes, 1, 1);
}
TEST(EmulatorErrors, AShuffleWithAnAbsentLane) {
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        const std::string text = violation_of({}, absent_lane_kernel, true);
        EXPECT_TRUE(text.find("__shfl_xor_sync at tests/") != std::string::npos &&
                    (text.find("lanes 31 have left the kernel") != std::string::npos ||
                     text.find("leaves the kernel, while thread (") != std::string::npos))
            << text;
    }
    EXPECT_EQ(violation_of({}, absent_lane_kernel, false), "");
}

__global__ void outside_mask_kernel(bool broken) {
    if (lane() < 16) __ballot_sync(broken ? 0xfffcu : 0xffffu, 1);
}
TEST(EmulatorErrors, ACallingLaneOutsideOfTheMask) {
    expect_broken({"__ballot_sync at ", "with mask 0x0000fffc: the calling lane ", " is not in it"}, {}, outside_mask_kernel);
}

__global__ void reads_outside_kernel(bool broken) {
    if (lane() < 16) __shfl_down_sync(0xffffu, 1, 4, broken ? 32 : 16);
}
TEST(EmulatorErrors, AShuffleThatReadsOutsideOfTheMask) {
    expect_broken({"__shfl_down_sync at ", "with mask 0x0000ffff: reads lane 1", "which is not in it"}, {}, reads_outside_kernel);
}

__global__ void two_masks_kernel(bool broken) { __syncwarp(broken && lane() == 7 ? 0xffu : kAllLanes); }
TEST(EmulatorErrors, OneCallWithTwoMasks) {
    expect_broken({"comes to __syncwarp at ", "with mask 0x", "waits in __syncwarp at ", "0x000000ff", "0xffffffff"}, {},
                  two_masks_kernel);
}

__global__ void two_calls_kernel(bool broken) {
    if (broken && lane() < 16)
        __any_sync(kAllLanes, 1);
    else
        __any_sync(kAllLanes, 1);
}
TEST(EmulatorErrors, LanesAtTwoPlaces) {
    expect_broken({"comes to __ballot_sync at ", "waits in __ballot_sync at ", "must come to the same call"}, {},
                  two_calls_kernel);
}

__global__ void width_kernel(bool broken) { __shfl_sync(kAllLanes, 1, 0, broken ? 12 : 8); }
TEST(EmulatorErrors, AShuffleOfNoPowerOfTwo) { expect_broken({"the width is 12"}, {}, width_kernel); }

__global__ void part_of_a_warp_kernel(bool) { __syncwarp(); }
TEST(EmulatorErrors, AFullMaskInAPartOfAWarp) {
    expect_violation({"do not exist"}, {.block = {40}}, part_of_a_warp_kernel, true);
    EXPECT_EQ(violation_of({.block = {64}}, part_of_a_warp_kernel, true), "");
}

// ---- memory ----

__global__ void ldmatrix_kernel(bool broken) {
    auto* const tile = device::shared<bf16>(16 * 16 + 8);
    device::FragmentA a;
    device::load_a(a, tile + 16 * (lane() % 16) + 8 * (lane() / 16) + (broken ? 4 : 0));
}
TEST(EmulatorErrors, AMisalignedRowOfAMatrix) {
    expect_broken({"ldmatrix_x4 at ", "not a multiple of 16"}, {.shared = 528}, ldmatrix_kernel);
}

__global__ void ldmatrix_outside_kernel(bool broken) {
    auto* const tile = device::shared<bf16>(16 * 16);
    device::FragmentA a;
    ldmatrix_x4(a.a, tile + 16 * (lane() % 16) + 8 * (lane() / 16) + (broken ? 16 : 0), true);
}
TEST(EmulatorErrors, AMatrixOutsideOfItsPiece) {
    expect_broken({"thread (", "ldmatrix_x4_trans at ", "does not lie in one piece"}, {.shared = 1024}, ldmatrix_outside_kernel);
}

__global__ void vector_load_kernel(bool broken) {
    auto* const x = device::shared<float>(8);
    if (threadIdx.x < 8) x[threadIdx.x] = 0;
    __syncthreads();
    device::load_vector<4>(x + (broken ? 1 : 4));
}
TEST(EmulatorErrors, AMisalignedVectorLoad) {
    expect_broken({"loads 16 bytes at ", "not a multiple"}, {.shared = 32}, vector_load_kernel);
}

__global__ void vector_store_kernel(bool broken) {
    auto* const x = device::shared<float>(8);
    if (threadIdx.x == 5) device::store_vector(x + (broken ? 1 : 2), device::Vector<float, 2>{{1, 2}});
}
TEST(EmulatorErrors, AMisalignedVectorStore) {
    expect_broken({"thread (5, 0, 0): stores 8 bytes at ", "not a multiple"}, {.shared = 32}, vector_store_kernel);
}

__global__ void too_much_kernel(bool broken) {
    SharedArena arena;
    arena.take<float>(30);
    arena.take<double>(broken ? 10 : 9, 64);
}
TEST(EmulatorErrors, MoreSharedMemoryThanTheLaunchGave) {
    expect_broken({"takes the bytes 128 to 208 of shared memory", "gave its blocks 200"}, {.shared = 200}, too_much_kernel);
}

__global__ void takes_differ_kernel(bool broken) { device::shared<float>(broken ? static_cast<int>(threadIdx.x / 16) + 1 : 2); }
TEST(EmulatorErrors, TakesThatDiffer) { expect_broken({"all takes of a block must agree"}, {.shared = 64}, takes_differ_kernel); }

__global__ void past_the_end_kernel(bool broken) {
    auto* const x = device::shared<float>(32);
    static_cast<volatile float*>(x)[threadIdx.x + (broken ? 1 : 0)] = 1;
}
TEST(EmulatorErrors, AWriteBehindSharedMemory) {
#if defined(HEDDLE_ADDRESS_SANITIZER)
    GTEST_SKIP() << "AddressSanitizer ends the program at the write itself: red zones are poisoned";
#endif
    expect_broken({"block (1, 0, 0): the byte ", "behind the 128 bytes of shared memory taken as piece 0 was written"},
                  {.grid = {2}, .shared = 128}, [](bool broken) { past_the_end_kernel(broken && blockIdx.x == 1); });
}

__global__ void overflow_kernel(bool broken) {
    // Each call keeps 4 KB; 1024 of them are more than any stack here.
    struct Deep {
        static int down(int n) {
            volatile char room[4096];
            room[static_cast<std::size_t>(n) % 4096] = 1;
            return n == 0 ? 0 : down(n - 1) + room[static_cast<std::size_t>(n) % 4096];
        }
    };
    if (threadIdx.x == 9) Deep::down(broken ? 1024 : 3);
}
TEST(EmulatorErrors, AStackThatOverflows) {
    expect_broken({"thread (9, 0, 0): needs more stack than a thread has", "HEDDLE_EMULATOR_STACK"}, {}, overflow_kernel);
}

// UndefinedBehaviorSanitizer checks each access and division and ends the program before the emulator detects them.
#if defined(HEDDLE_ADDRESS_SANITIZER)
constexpr bool sanitizer_comes_first = true;
#else
constexpr bool sanitizer_comes_first = false;
#endif

__global__ void null_kernel(bool broken) {
    float x = 0;
    volatile float* const p = broken ? nullptr : &x;
    *p = 1;
}
TEST(EmulatorErrors, ANullPointer) {
    if (sanitizer_comes_first) GTEST_SKIP() << "the sanitizer reports it";
    expect_broken({"thread (", "touches the address ", "no memory of the device"}, {}, null_kernel);
}

__global__ void divide_kernel(bool broken) {
    volatile int zero = broken ? 0 : 1;
    volatile int x = 7 / zero;
    static_cast<void>(x);
}
TEST(EmulatorErrors, ADivisionByZero) {
#if defined(__aarch64__)
    GTEST_SKIP() << "this processor takes 0 for the quotient and says nothing";
#endif
    if (sanitizer_comes_first) GTEST_SKIP() << "the sanitizer reports it";
    expect_broken({"thread (", "divides an integer by zero"}, {}, divide_kernel);
}

// ---- asynchronous copies ----

alignas(16) float global_row[8];

__global__ void not_waited_kernel(bool broken) {
    auto* const x = device::shared<float>(4);
    device::Pipeline<1> pipeline;
    if (threadIdx.x == 3) {
        device::copy_async(x, global_row);
        pipeline.commit();
    }
    if (!broken) pipeline.wait();
}
TEST(EmulatorErrors, ACopyThatNobodyWaitsFor) {
    expect_broken({"thread (3, 0, 0): leaves the kernel without having waited for its asynchronous copy of tests/"},
                  {.shared = 16}, not_waited_kernel);
}

__global__ void not_committed_kernel(bool broken) {
    auto* const x = device::shared<float>(4);
    device::Pipeline<1> pipeline;
    if (threadIdx.x == 3) device::copy_async(x, global_row);
    if (!broken) pipeline.commit();
    pipeline.wait_all();
}
TEST(EmulatorErrors, ACopyThatIsNotCommitted) {
    expect_broken({"without having waited for its asynchronous copy"}, {.shared = 16}, not_committed_kernel);
}

// Copies with invalid arguments: `which` selects the wrong one.
__global__ void copy_kernel(int which) {
    auto* const x = device::shared<float>(12);
    float local[4];
    if (which == 0) copy_async(x, global_row, 12, 12, Place::current());
    if (which == 1) device::copy_async<8>(x, global_row, 9);
    if (which == 2) device::copy_async<8>(x, global_row, -1);
    if (which == 3) device::copy_async<16>(x + 1, global_row);
    if (which == 4) device::copy_async<16>(x, global_row + 1);
    if (which == 5) device::copy_async<16>(x + 12, global_row);
    if (which == 6) device::copy_async<16>(x, x + 4);
    if (which == 7) device::copy_async<4>(local, global_row);
}
TEST(EmulatorErrors, CopiesWithWrongArguments) {
    const char* const texts[] = {"copies 12 bytes at ",
                                 "copies 8 bytes at",
                                 "of which -1 are valid",
                                 "to an address that is not a multiple",
                                 "from an address that is not a multiple",
                                 "does not lie in one piece",
                                 "from shared memory: the source must be global",
                                 "does not lie in one piece"};
    for (int which = 0; which < 8; ++which) expect_violation({texts[which]}, {.shared = 48}, copy_kernel, which);
}

// ---- everything else ----

__global__ void throws_kernel(bool broken) {
    if (broken && threadIdx.x == 2) throw std::runtime_error("the kernel's own words");
}
TEST(EmulatorErrors, AnExceptionThatLeavesAKernel) {
    expect_broken({"thread (2, 0, 0): an exception leaves the kernel: the kernel's own words"}, {}, throws_kernel);
}

constexpr int kRequirement = __LINE__ + 1;
__global__ void requires_kernel(bool broken) { device::require(!broken || threadIdx.x != 4, "embedding: a token lies outside"); }
TEST(EmulatorErrors, ARequirementThatFails) {
    expect_broken({"kernel requires_kernel, block (0, 0, 0), thread (4, 0, 0): embedding: a token lies outside (required at " +
                   line(kRequirement) + ")"},
                  {}, requires_kernel);
}

__global__ void launches_kernel(bool broken) {
    if (broken) run_kernel({}, requires_kernel, false);
}
TEST(EmulatorErrors, ALaunchInsideAKernel) { expect_broken({"launches another kernel"}, {}, launches_kernel); }

TEST(EmulatorErrors, HostCodeIsNoKernel) {
    EXPECT_THROW(__syncthreads(), std::logic_error);
    EXPECT_THROW(device::shared<float>(1), std::logic_error);
    EXPECT_THROW(violate("nothing runs"), Violation);
}

template <class T, int N>
__global__ void template_kernel(T* values) {
    device::require(values != nullptr, "no values");
}
TEST(EmulatorErrors, NamesHaveTheirTemplateArguments) {
    const std::string text = violation_of({}, template_kernel<bf16, 4>, static_cast<bf16*>(nullptr));
    EXPECT_EQ(text.find("kernel template_kernel<bf16, 4>, block (0, 0, 0), thread ("), 0u) << text;
    const std::vector<std::string> names = launched_kernels();
    EXPECT_NE(std::find(names.begin(), names.end(), "template_kernel<bf16, 4>"), names.end());
}

// An abandoned launch leaves nothing behind: the next one on the same fibers works.
TEST(EmulatorErrors, TheNextLaunchIsFresh) {
    EXPECT_NE(violation_of({.grid = {16}, .block = {256}}, two_places_kernel, true), "");
    EXPECT_EQ(violation_of({.grid = {16}, .block = {256}}, two_places_kernel, false), "");
}

}  // namespace
}  // namespace heddle::emulator
