// Included in front of every file of CUDA C++ (frontend/build.h): nvcc includes <cuda_runtime.h> and some of the C library by
// itself, too.
#pragma once

// Calls of these functions are watched (checker/compiler_hooks.cpp): the compiler itself watches copies of a fixed size only.
extern "C" {
void* memcpy(void* to, const void* from, decltype(sizeof 0) bytes) noexcept(true) __asm__("heddle_memcpy");
void* memmove(void* to, const void* from, decltype(sizeof 0) bytes) noexcept(true) __asm__("heddle_memmove");
void* memset(void* to, int value, decltype(sizeof 0) bytes) noexcept(true) __asm__("heddle_memset");
int memcmp(const void* a, const void* b, decltype(sizeof 0) bytes) noexcept(true) __asm__("heddle_memcmp");
}

// Before <math.h>: cuda/math.h.
#include "kernels/emulator/cuda/intrinsics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/cuda/ptx.h"
#include "kernels/emulator/cuda/shared.h"
#include "kernels/emulator/cuda/symbols.h"
#include "kernels/emulator/cuda/texture.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/interface.h"

#include "kernels/emulator/foreign.h"

namespace heddle::emulator::cuda {
/// Tells the emulator what program this is, before the file's own objects exist.
[[maybe_unused]] static const bool kIsForeign = (foreign_program(), true);
}  // namespace heddle::emulator::cuda
