// CUDA's primitive asynchronous copies: __pipeline_memcpy_async, __pipeline_commit, __pipeline_wait_prior.
#pragma once

#include "kernels/emulator/cuda/intrinsics.h"

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

/// `bytes` (4, 8 or 16) from global to shared memory; the last `zeros` of them are filled with 0.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros = 0, HEDDLE_PLACE) {
    heddle::emulator::copy_async(to, from, static_cast<int>(bytes), static_cast<int>(bytes - zeros), place);
}
inline void __pipeline_commit() { heddle::emulator::copy_commit(); }
inline void __pipeline_wait_prior(std::size_t groups, HEDDLE_PLACE) {
    heddle::emulator::copy_wait(static_cast<int>(groups), place);
}

#undef HEDDLE_PLACE
