// NVTX of version 3.
#pragma once

#include "kernels/emulator/include/nvToolsExt.h"
