// Barriers that CUDA C++ has no word for: of a part of a block, of a cluster, of a grid. Each is a release and an acquire of what
// its threads wrote before it.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/ptx.h"

#if defined(__CUDACC__)
#include <cooperative_groups.h>
#endif

namespace heddle::device {

#if defined(__CUDACC__)
/// Waits until `threads` threads of the block (a multiple of 32) have come to barrier `id`, 1 to 15; barrier 0 is __syncthreads.
__device__ __forceinline__ void named_barrier(int id, int threads) { ptx::bar_sync(id, threads); }
/// Waits until every thread of the cluster has come here (LaunchConfig::cluster; without one a block is its own).
__device__ __forceinline__ void cluster_barrier() { ptx::cluster_sync(); }
/// Waits until every thread of the grid has come here. In a launch with LaunchConfig::cooperative only.
__device__ __forceinline__ void grid_barrier() { cooperative_groups::this_grid().sync(); }
#else
inline void named_barrier(int id, int threads, emulator::Place place = emulator::Place::current()) {
    emulator::named_barrier(id, threads, place);
}
inline void cluster_barrier(emulator::Place place = emulator::Place::current()) { emulator::cluster_barrier(place); }
inline void grid_barrier(emulator::Place place = emulator::Place::current()) { emulator::grid_barrier(place); }
#endif

}  // namespace heddle::device
