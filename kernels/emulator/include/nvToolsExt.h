// NVTX: ranges and marks for profilers. Nothing listens here, so that they are empty; the depth of ranges is counted.
#pragma once

#include <stdint.h>

typedef uint64_t nvtxRangeId_t;

namespace heddle::emulator {
inline thread_local int range_depth = 0;
}  // namespace heddle::emulator

/// The new range's depth, from 0.
inline int nvtxRangePushA(const char*) { return heddle::emulator::range_depth++; }
inline int nvtxRangePush(const char* name) { return nvtxRangePushA(name); }
/// The ended range's depth; -2 if there is none.
inline int nvtxRangePop() { return heddle::emulator::range_depth > 0 ? --heddle::emulator::range_depth : -2; }
inline nvtxRangeId_t nvtxRangeStartA(const char*) { return 1; }
inline nvtxRangeId_t nvtxRangeStart(const char* name) { return nvtxRangeStartA(name); }
inline void nvtxRangeEnd(nvtxRangeId_t) {}
inline void nvtxMarkA(const char*) {}
inline void nvtxMark(const char*) {}
template <class Handle>
void nvtxNameCudaStreamA(Handle, const char*) {}
template <class Handle>
void nvtxNameCudaEventA(Handle, const char*) {}
