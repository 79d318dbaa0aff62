// Barriers and collectives that some threads do not reach, and launches that no chip allows. The scheduler detects these without
// instrumentation.
#include "kernels/device/shared.h"
#include "tests/emulator/emulator_bugs.h"

namespace heddle::bugs {
namespace {

using device::thread_in_block;

template <bool Broken>
__global__ void divergent_barrier_kernel() {
    if (Broken && thread_in_block() % 2 == 0)
        __syncthreads();  // BUG divergent barrier
    else
        __syncthreads();  // BUG divergent barrier
}
template <bool Broken>
__global__ void early_exit_kernel() {
    if (Broken && thread_in_block() == 5) return;
    __syncthreads();  // BUG early exit before a barrier
}
template <bool Broken>
__global__ void absent_lane_kernel(int* out) {  // out [32]
    const int t = thread_in_block();
    if (!Broken || t < 30) out[t] = __shfl_xor_sync(device::kAllLanes, t, 1);  // BUG shuffle with absent lanes
}
template <bool Broken>
__global__ void outside_mask_kernel(int* out) {  // out [32]
    const int t = thread_in_block();
    if (t < 16) out[t] = __shfl_xor_sync(0xffffu, t, Broken ? 16 : 8);  // BUG shuffle from a lane outside its mask
}
template <bool Broken>
__global__ void not_in_mask_kernel() {
    __syncwarp(Broken ? 0x7fffffffu : device::kAllLanes);  // BUG __syncwarp by a lane outside its mask
}
template <bool Broken>
__global__ void short_warp_kernel() {
    if (!Broken || thread_in_block() >= 32)
        __syncwarp(Broken ? device::kAllLanes : thread_in_block() < 32 ? ~0u : 0xffu);  // BUG mask of a warp that is not whole
}
template <bool Broken>
__global__ void too_much_arena_kernel() {
    device::SharedArena arena;
    arena.take<float>(Broken ? 33 : 32);
}
__global__ void empty_kernel() {}

constexpr const char* kFile = "tests/emulator/emulator_checker_kernels_collectives.cu";

template <class Kernel>
std::function<void()> bare(Kernel kernel, unsigned threads = 64) {
    return [=] { run({.block = threads, .shared = 128}, kernel); };
}
template <class Kernel>
std::function<void()> with_output(Kernel kernel) {
    return [=] {
        const Buffer<int> out(32);
        run({.block = 32}, kernel, out.data());
    };
}
std::function<void()> empty(emulator::LaunchConfig config) {
    return [=] { run(config, empty_kernel); };
}

}  // namespace

std::vector<Bug> collective_bugs() {
    return {
        {"divergent barrier",
         "scheduler",
         kFile,
         bare(divergent_barrier_kernel<true>),
         bare(divergent_barrier_kernel<false>),
         {"not every thread comes to the same barrier"}},
        {"early exit before a barrier",
         "scheduler",
         kFile,
         bare(early_exit_kernel<true>),
         bare(early_exit_kernel<false>),
         {"has left the kernel", "leaves the kernel"}},
        {"shuffle with absent lanes",
         "scheduler",
         kFile,
         with_output(absent_lane_kernel<true>),
         with_output(absent_lane_kernel<false>),
         {"have left the kernel", "leaves the kernel"}},
        {"shuffle from a lane outside its mask",
         "scheduler",
         kFile,
         with_output(outside_mask_kernel<true>),
         with_output(outside_mask_kernel<false>),
         {"which is not in it"}},
        {"__syncwarp by a lane outside its mask",
         "scheduler",
         kFile,
         bare(not_in_mask_kernel<true>, 32),
         bare(not_in_mask_kernel<false>, 32),
         {"is not in it", "leaves the kernel", "deadlock"}},
        {"mask of a warp that is not whole",
         "scheduler",
         kFile,
         bare(short_warp_kernel<true>, 40),
         bare(short_warp_kernel<false>, 40),
         {"do not exist"}},
        {"more of the arena than was asked for",
         "scheduler",
         kFile,
         bare(too_much_arena_kernel<true>),
         bare(too_much_arena_kernel<false>),
         {"but the launch gave its blocks 128"},
         ""},
        {"grid.y of 70,000",
         "limits",
         kFile,
         empty({.grid = {1, 70'000, 1}}),
         empty({.grid = {70'000, 1, 1}}),
         {"65,535", "65535"},
         ""},
        {"block of 1,025 threads", "limits", kFile, empty({.block = 1025}), empty({.block = 1024}), {"1024", "1,024"}, ""},
        {"too much shared memory", "limits", kFile, empty({.shared = 228 * 1024}), empty({.shared = 227 * 1024}), {"shared"}, ""},
    };
}

}  // namespace heddle::bugs
