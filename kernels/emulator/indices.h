// The indices of the running thread, under CUDA's names. They are real variables, so that locals, parameters and members of these
// names shadow them as in CUDA. Not const, because compilers keep the value of a const object over a barrier, where other threads
// run.
#pragma once

#include "kernels/emulator/include/vector_types.h"

// __thread, not thread_local: the compiler then knows, in C++17 too, that nothing has to be called before the first use.
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
constexpr int warpSize = 32;
