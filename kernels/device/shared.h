// Shared memory: one arena per block, allocated in the order of the calls.
//
//     device::SharedArena arena;                       every thread of the block makes the same calls
//     float* sums = arena.take<float>(32);             32 numbers
//     bf16* tile = arena.take<bf16>(64 * 64, 128);     aligned to 128 bytes
//
// The host counts the bytes with the same calls on a SharedSize and gives them to LaunchConfig::shared. Kernels never use
// __shared__: the emulator could neither poison such an array for each block nor surround it with red zones.
#pragma once

#include <cstddef>

#include "kernels/device/cuda.h"

#if defined(__CUDACC__)
namespace heddle::device {
extern __shared__ __align__(1024) unsigned char shared_arena[];
}
#endif

namespace heddle::device {

/// The bytes of shared memory that a sequence of take() calls needs.
class SharedSize {
  public:
    template <class T>
    constexpr SharedSize& take(int count, int alignment = 16) {
        bytes_ = (bytes_ + alignment - 1) / alignment * alignment + count * static_cast<int>(sizeof(T));
        return *this;
    }
    constexpr std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }

  private:
    int bytes_ = 0;
};

class SharedArena {
  public:
    /// The next `count` elements, aligned to `alignment` bytes (a power of two up to 1024). Uninitialised.
    template <class T>
    __device__ __forceinline__ T* take(int count, int alignment = 16) {
        const int start = (next_ + alignment - 1) / alignment * alignment;
        next_ = start + count * static_cast<int>(sizeof(T));
#if defined(__CUDACC__)
        return reinterpret_cast<T*>(shared_arena + start);
#else
        return reinterpret_cast<T*>(emulator::shared_memory(start, next_ - start, part_++));
#endif
    }

  private:
    int next_ = 0;
#if !defined(__CUDACC__)
    int part_ = 0;
#endif
};

/// `count` elements at the start of the arena, for kernels that need one array.
template <class T>
__device__ __forceinline__ T* shared(int count) {
    return SharedArena().take<T>(count);
}

}  // namespace heddle::device
