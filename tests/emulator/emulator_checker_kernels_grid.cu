// Races between blocks, and atomics that are mistaken for synchronisation.
#include "kernels/device/mma.h"
#include "kernels/device/shared.h"
#include "tests/emulator/emulator_bugs.h"

namespace heddle::bugs {
namespace {

using device::thread_in_block;

template <bool Broken>
__global__ void blocks_write_kernel(int* out) {  // out [4]
    if (thread_in_block() == 0)
        out[Broken ? 0 : blockIdx.x] = static_cast<int>(blockIdx.x);  // BUG two blocks write the same place
}

// A block reads what another one writes. (If the reader runs first, the writer is reported.)
template <bool Broken>
__global__ void blocks_read_kernel(int* out) {  // out [4]
    const unsigned own = blockIdx.x, other = Broken ? (own + 1) % gridDim.x : own;
    out[own] = 1;                       // BUG a block reads what another writes
    if (out[other] == 2) out[own] = 3;  // BUG a block reads what another writes
}

enum class LastBlock { correct, no_barrier, no_release, no_acquire, block_release, block_acquire };

// last_block of kernels/device/fence.h with one step missing. Thread 33 writes, thread 0 draws the ticket, all threads
// read.
template <LastBlock Way>
__global__ void last_block_kernel(int* partial, unsigned* ticket, int* out) {  // partial [gridDim.x], out [64]
    int* const flag = device::shared<int>(1);
    const int t = thread_in_block();
    if (t == 33) partial[blockIdx.x] = 1;  // BUG last block
    if constexpr (Way != LastBlock::no_barrier) __syncthreads();
    if (t == 0) {
        if constexpr (Way == LastBlock::block_release)
            __threadfence_block();
        else if constexpr (Way != LastBlock::no_release)
            __threadfence();
        const bool last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        if constexpr (Way == LastBlock::block_acquire)
            __threadfence_block();
        else if constexpr (Way != LastBlock::no_acquire)
            __threadfence();
        *flag = last;
    }
    __syncthreads();
    if (*flag == 0) return;
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];  // BUG last block
    out[t] = sum;
}

enum class Flag { none, both, no_release, no_acquire, for_block };

template <Flag Fences>
__device__ void set_flag(unsigned* flag) {
    if constexpr (Fences == Flag::both || Fences == Flag::no_acquire) __threadfence();
    if constexpr (Fences == Flag::for_block) __threadfence_block();
    atomicExch(flag, 1u);
}
template <Flag Fences>
__device__ void wait_for_flag(unsigned* flag) {
    while (atomicAdd(flag, 0u) == 0) {
    }
    if constexpr (Fences == Flag::both || Fences == Flag::no_release) __threadfence();
    if constexpr (Fences == Flag::for_block) __threadfence_block();
}

// Warp 0 passes a value to warp 1.
template <Flag Fences>
__global__ void flag_kernel(int* value, unsigned* flag) {  // value [2]
    const int t = thread_in_block();
    if (t == 0) {
        value[0] = 1;  // BUG atomic as a flag
        set_flag<Fences>(flag);
    } else if (t == 32) {
        wait_for_flag<Fences>(flag);
        value[1] = value[0];  // BUG atomic as a flag
    }
}

// Block 0 passes a value to block 1; both are resident.
template <Flag Fences>
__global__ void flag_between_blocks_kernel(int* value, unsigned* flag) {  // value [2]
    if (thread_in_block() != 0) return;
    if (blockIdx.x == 0) {
        value[0] = 1;  // BUG flag between blocks
        set_flag<Fences>(flag);
    } else {
        wait_for_flag<Fences>(flag);
        value[1] = value[0];  // BUG flag between blocks
    }
}

template <bool Broken>
__global__ void counter_read_kernel(int* counter) {  // counter [2]
    atomicAdd(counter, 1);                           // BUG plain read of an atomic counter
    if constexpr (!Broken) __syncthreads();
    if (thread_in_block() == 0) counter[1] = counter[0];  // BUG plain read of an atomic counter
}

template <bool Broken>
__global__ void counter_reset_kernel(int* counter) {  // counter [1]
    if (thread_in_block() == 40) *counter = 0;        // BUG plain write of an atomic counter
    if constexpr (!Broken) __syncthreads();
    atomicAdd(counter, 1);  // BUG plain write of an atomic counter
}

template <bool Broken>
__global__ void grid_barrier_kernel(int* out) {       // out [gridDim.x + 1]
    if (thread_in_block() == 0) out[blockIdx.x] = 1;  // BUG missing grid barrier
    if constexpr (!Broken)
        emulator::grid_barrier(emulator::Place::current());
    else
        __syncthreads();
    if (blockIdx.x == 0 && thread_in_block() == 7) {
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += out[b];  // BUG missing grid barrier
        out[gridDim.x] = sum;
    }
}

constexpr BugsOf bug{"tests/emulator/emulator_checker_kernels_grid.cu"};

std::function<void()> on_ints(void (*kernel)(int*), unsigned blocks, unsigned threads, bool cooperative = false) {
    return [=] {
        const Buffer<int> data(64, 0);
        run({.grid = blocks, .block = threads, .cooperative = cooperative}, kernel, data.data());
    };
}
std::function<void()> with_ticket(void (*kernel)(int*, unsigned*, int*)) {
    return [=] {
        const Buffer<int> partial(5), out(64);
        const Buffer<unsigned> ticket(1, 0u);
        run({.grid = 5, .block = 64, .shared = 4}, kernel, partial.data(), ticket.data(), out.data());
    };
}
std::function<void()> with_flag(void (*kernel)(int*, unsigned*), unsigned blocks) {
    return [=] {
        const Buffer<int> value(2, 0);
        const Buffer<unsigned> flag(1, 0u);
        run({.grid = blocks, .block = 64, .cooperative = blocks > 1}, kernel, value.data(), flag.data());
    };
}

}  // namespace

std::vector<Bug> grid_bugs() {
    const std::string blocks = "nothing orders the two blocks", barrier = "without a barrier between",
                      atomics = "by itself orders nothing";
    std::vector<Bug> bugs = {
        bug("two blocks write the same place", on_ints(blocks_write_kernel<true>, 4, 32),
            on_ints(blocks_write_kernel<false>, 4, 32), {blocks}),
        bug("a block reads what another writes", on_ints(blocks_read_kernel<true>, 4, 1),
            on_ints(blocks_read_kernel<false>, 4, 1), {blocks}),
        bug("plain read of an atomic counter", on_ints(counter_read_kernel<true>, 1, 64),
            on_ints(counter_read_kernel<false>, 1, 64), {atomics}),
        bug("plain write of an atomic counter", on_ints(counter_reset_kernel<true>, 1, 64),
            on_ints(counter_reset_kernel<false>, 1, 64), {atomics}),
        bug("missing grid barrier", on_ints(grid_barrier_kernel<true>, 3, 32, true),
            on_ints(grid_barrier_kernel<false>, 3, 32, true), {blocks}),
    };
    const auto correct_last = with_ticket(last_block_kernel<LastBlock::correct>);
    const auto last_block = [&](const char* name, void (*kernel)(int*, unsigned*, int*)) {
        bugs.push_back(bug(name, with_ticket(kernel), correct_last, {blocks}, "last block"));
    };
    last_block("last block without the release fence", last_block_kernel<LastBlock::no_release>);
    last_block("last block without the acquire fence", last_block_kernel<LastBlock::no_acquire>);
    last_block("last block, release fence for the block", last_block_kernel<LastBlock::block_release>);
    last_block("last block, acquire fence for the block", last_block_kernel<LastBlock::block_acquire>);
    last_block("last block without the barrier before", last_block_kernel<LastBlock::no_barrier>);
    const auto flag = [&](const char* name, void (*kernel)(int*, unsigned*), void (*correct)(int*, unsigned*), unsigned grid,
                          const char* mark) {
        bugs.push_back(bug(name, with_flag(kernel, grid), with_flag(correct, grid), {grid > 1 ? blocks : barrier}, mark));
    };
    flag("relaxed atomic as a flag", flag_kernel<Flag::none>, flag_kernel<Flag::both>, 1, "atomic as a flag");
    flag("flag without the release fence", flag_kernel<Flag::no_release>, flag_kernel<Flag::for_block>, 1, "atomic as a flag");
    flag("flag without the acquire fence", flag_kernel<Flag::no_acquire>, flag_kernel<Flag::for_block>, 1, "atomic as a flag");
    flag("flag to a block, fences for the block", flag_between_blocks_kernel<Flag::for_block>,
         flag_between_blocks_kernel<Flag::both>, 2, "flag between blocks");
    flag("flag to a block without fences", flag_between_blocks_kernel<Flag::none>, flag_between_blocks_kernel<Flag::both>, 2,
         "flag between blocks");
    return bugs;
}

}  // namespace heddle::bugs
