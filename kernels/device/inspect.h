// Measures kernels' demands on the chip, and the chip's limits, for teaching and benchmarks. Host code.
#pragma once

#include <cstdint>
#include <functional>

#include "core/dtype.h"
#include "kernels/device/declare.h"

namespace heddle::device {

/// Memory traffic through the device layer's vectors, ldmatrix and asynchronous copies, before any cache, and where threads
/// meet.
struct Traffic {
    std::int64_t accesses = 0;                                ///< of warps to global memory
    std::int64_t bytes = 0;                                   ///< that threads ask for there
    std::int64_t sectors = 0;                                 ///< of 32 bytes, that these accesses touch
    std::int64_t shared_accesses = 0;                         ///< of warps
    std::int64_t shared_cycles = 0, least_shared_cycles = 0;  ///< of the banks: as they are, and without conflicts
    std::int64_t barriers = 0;                                ///< once for each warp
    std::int64_t collectives = 0;                             ///< of warps: shuffles, votes, ldmatrix, mma
};

/// Runs `work`, waits for the device and returns what it asked for. Error on a GPU, which does not count that.
HEDDLE_CUDA_FUNCTION(Traffic traffic_of(const std::function<void()>& work))

/// The most operations a second at the highest clock, two for a multiply-add: f32 outside of tensor cores, bf16 with f32 sums on
/// them. 0 for chips and dtypes of which it is not known here, and for the emulated device.
HEDDLE_CUDA_FUNCTION(double peak_operations(DType dtype))

/// Registers of a thread of this kernel; 0 on the emulated device.
HEDDLE_CUDA_FUNCTION(int registers_of(const void* kernel))
template <class... Parameters>
int registers_of(void (*kernel)(Parameters...)) {
    return registers_of(reinterpret_cast<const void*>(kernel));
}

}  // namespace heddle::device
