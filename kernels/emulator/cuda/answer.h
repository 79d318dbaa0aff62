// Included in front of each answer of `heddle learn` that is CUDA C++ (frontend/answer.cpp): the strict names of kernel.h, and
// what the front end writes for CUDA's words.
#pragma once

#include <cstddef>
// Without the special functions of <cmath> a small answer compiles in three quarters of the time. What they include stays.
#if defined(__GLIBCXX__)
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#include <bits/stl_algobase.h>
#include <limits>
#endif

#include "kernels/emulator/kernel.h"

#include "kernels/emulator/cuda/shared.h"
#include "kernels/emulator/cuda/symbols.h"

// The words stay for the front end, as in any file of CUDA C++.
#undef __global__
#undef __device__
#undef __host__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
