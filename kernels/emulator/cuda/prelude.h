// What every file of CUDA C++ gets in front (frontend/build.h): nvcc includes <cuda_runtime.h> and some of the C library by
// itself, too.
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/cuda/shared.h"
#include "kernels/emulator/cuda/symbols.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/interface.h"

#if __has_include("kernels/emulator/cuda/intrinsics.h")
#include "kernels/emulator/cuda/intrinsics.h"
#else
#include "kernels/emulator/kernel.h"
// The rewriter reads them.
#undef __global__
#undef __device__
#undef __host__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#endif
