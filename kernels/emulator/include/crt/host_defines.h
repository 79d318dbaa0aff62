// CUDA's other name for host_defines.h.
#pragma once

#include "kernels/emulator/include/host_defines.h"
