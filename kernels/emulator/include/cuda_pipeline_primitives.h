// The older name of cuda_pipeline.h.
#pragma once

#include "kernels/emulator/include/cuda_pipeline.h"
