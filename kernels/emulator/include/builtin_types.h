// CUDA's name for the types of cuda_runtime.h.
#pragma once

#include "kernels/emulator/include/cuda_runtime_api.h"
