// The CUDA side of update_tally.h: arguments are checked by update_tally.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/update_tally/update_tally.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void tally_losses_cuda(Tensor& tally, const Tensor& statistics))
HEDDLE_CUDA_FUNCTION(void tally_update_cuda(Tensor& tally, Tensor& measured))

}  // namespace heddle::kernels
