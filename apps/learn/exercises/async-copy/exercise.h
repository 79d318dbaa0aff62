// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"

using heddle::device::copy_async;
using heddle::device::Pipeline;
using heddle::device::SharedArena;

extern "C" {
/// Reverses each tile of 256 numbers: y[256 s + j] = x[256 s + 255 - j].   x [256 tiles], y [256 tiles], aligned to 16 bytes.
/// Launched with one block of 64 threads, and 2048 bytes of shared memory.
__global__ void reverse_tiles(const float* x, float* y, int tiles);
}
