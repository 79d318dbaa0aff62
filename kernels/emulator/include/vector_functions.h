// The make_ functions of CUDA's vector types, which stand beside the types here.
#pragma once

#include "kernels/emulator/include/vector_types.h"
