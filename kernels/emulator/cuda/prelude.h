// What every file of CUDA C++ gets in front (frontend/build.h): nvcc includes <cuda_runtime.h> and some of the C library by
// itself, too.
#pragma once

// Before <math.h>: cuda/math.h.
#include "kernels/emulator/cuda/intrinsics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/cuda/shared.h"
#include "kernels/emulator/cuda/symbols.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/interface.h"
