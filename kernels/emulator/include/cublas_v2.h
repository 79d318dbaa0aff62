// cuBLAS, for builds without CUDA: see cublas_api.h.
#pragma once

#include "kernels/emulator/include/cublas_api.h"
