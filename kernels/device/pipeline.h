// Asynchronous copies from global to shared memory, in stages: the next tile is copied while the current one is used.
//
//     Pipeline<2> pipeline;
//     pipeline.acquire();  copy tile 0;  pipeline.commit();
//     for (tile = 0; tile < tiles; ++tile) {   // one stage ahead
//         if (tile + 1 < tiles) { pipeline.acquire();  copy tile + 1 into the other half;  pipeline.commit(); }
//         else pipeline.commit();                    // an empty stage keeps the count
//         pipeline.wait();                           // this thread's copies of `tile` have landed
//         __syncthreads();                           // and everybody else's, too
//         compute with `tile`
//         __syncthreads();                           // no thread reads it any more: acquire may overwrite it
//         pipeline.release();
//     }
//
// Today a stage is a group of cp.async (sm_80 and later): each thread waits for its own copies, so other threads see them only
// behind a barrier. The calls are those of a pipeline on the bulk copy engine with an mbarrier a stage, which may replace it
// unseen.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/ptx.h"

namespace heddle::device {

/// Begins to copy `Bytes` (4, 8 or 16) from global to shared memory, both aligned to it; the last Bytes - `valid` are filled with
/// zeros and not read. With valid = 0 `from` is not touched, but must be aligned.
#if defined(__CUDACC__)
template <int Bytes = 16>
__device__ __forceinline__ void copy_async(void* to, const void* from, int valid = Bytes) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    ptx::cp_async<Bytes>(to, from, valid);
}
#else
template <int Bytes = 16>
inline void copy_async(void* to, const void* from, int valid = Bytes, emulator::Place place = emulator::Place::current()) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    emulator::copy_async(to, from, Bytes, valid, place);
}
#endif

template <int Stages>
class Pipeline {
  public:
    static_assert(Stages >= 1);
    /// Before the copies of a stage: its memory is free. (With cp.async the barrier after the last reading ensures this.)
    __device__ __forceinline__ void acquire() {}
    /// After the copies of a stage. A stage may be empty.
    __device__ __forceinline__ void commit() {
#if defined(__CUDACC__)
        ptx::cp_async_commit_group();
#else
        emulator::copy_commit();
#endif
    }
    /// Until all but the last Stages - 1 committed stages of this thread have landed.
#if defined(__CUDACC__)
    __device__ __forceinline__ void wait() { ptx::cp_async_wait_group<Stages - 1>(); }
    /// Until everything that this thread committed has landed.
    __device__ __forceinline__ void wait_all() { ptx::cp_async_wait_group<0>(); }
#else
    void wait(emulator::Place place = emulator::Place::current()) { emulator::copy_wait(Stages - 1, place); }
    void wait_all(emulator::Place place = emulator::Place::current()) { emulator::copy_wait(0, place); }
#endif
    /// After the last reading of a stage (and the barrier after it).
    __device__ __forceinline__ void release() {}
};

}  // namespace heddle::device
