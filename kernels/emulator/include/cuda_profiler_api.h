// cudaProfilerStart and cudaProfilerStop, which do nothing here.
#pragma once

#include "kernels/emulator/include/cuda_runtime_api.h"
