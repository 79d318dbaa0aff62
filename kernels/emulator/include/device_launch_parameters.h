// CUDA's name for a part of cuda_runtime.h.
#pragma once

#include "kernels/emulator/include/cuda_runtime.h"
