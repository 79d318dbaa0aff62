// CUDA's words for its error codes.
#pragma once

#include "kernels/emulator/include/driver_types.h"

namespace heddle::emulator {

struct ErrorWords {
    cudaError_t error;
    const char* name;
    const char* text;
};
/// Null for a number that is no error code.
const ErrorWords* words_of(cudaError_t error);

}  // namespace heddle::emulator
