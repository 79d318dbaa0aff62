// The CUDA side of adam.h: arguments are checked by adam.cpp.
#pragma once

#include "kernels/adam/adam.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void adam_step_cuda(const Tensor& parameters, const Tensor& gradients, const Tensor& first_moment,
                                         const Tensor& second_moment, const Spans& active, const AdamStep& step,
                                         const UpdateInMemory& memory))
HEDDLE_CUDA_FUNCTION(void sgd_step_cuda(const Tensor& parameters, const Tensor& gradients, const Tensor& momentum,
                                        const Spans& active, const SgdStep& step, const UpdateInMemory& memory))

}  // namespace heddle::kernels
