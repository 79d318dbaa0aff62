// CUDA's own vocabulary for a kernel file: __global__, threadIdx, __syncthreads, __shfl_xor_sync, ...
//
// Built into nvcc; other compilers get it from the emulator, which runs the same kernels on the CPU. Kernel files include this
// header (directly or not) and do not depend on which of the two it is.
#pragma once

#if defined(__CUDACC__)
#include <cuda_runtime.h>

// What a failed assert calls; CUDA's headers declare it for code that is compiled at run time only.
extern "C" __device__ void __assertfail(const char* message, const char* file, unsigned line, const char* function,
                                        std::size_t size_of_char);
#else
#include "kernels/emulator/kernel.h"
#endif

namespace heddle::device {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

/// The place of this thread in its block, for blocks along x alone: no register is spent on two more axes. (In a block with a
/// second axis the emulator ends the kernel here.)
__device__ __forceinline__ int thread_in_block() {
#if !defined(__CUDACC__)
    if (blockDim.y * blockDim.z != 1)
        emulator::failed_requirement("lane(), warp() and thread_in_block() want a block along x alone",
                                     emulator::Place::current());
#endif
    return static_cast<int>(threadIdx.x);
}
/// The place of this thread in its warp, and of the warp in its block.
__device__ __forceinline__ int lane() { return thread_in_block() % kWarp; }
__device__ __forceinline__ int warp() { return thread_in_block() / kWarp; }

/// Ends the kernel with the message unless `good`: for data that host code cannot check without waiting for the device. The
/// emulator reports kernel, block and thread. On a GPU the driver prints them with the message when the device is waited for
/// next, as for a failed assert, and the context ends (cudaErrorAssert). A printf before __trap() would be lost with the context.
#if defined(__CUDACC__)
__device__ __forceinline__ void require(bool good, const char* message, const char* file = __builtin_FILE(),
                                        unsigned line = __builtin_LINE()) {
    if (!good) ::__assertfail(message, file, line, "require", sizeof(char));
}
#else
inline void require(bool good, const char* message, emulator::Place place = emulator::Place::current()) {
    if (!good) emulator::failed_requirement(message, place);
}
#endif

}  // namespace heddle::device
