// The CUDA side of layer_norm.h: arguments are checked and results allocated by layer_norm.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/layer_norm/layer_norm.h"

namespace heddle::kernels {

/// What a backward pass reads and writes. Undefined where layer_norm.h says so: d_sum; dx, d_sublayer, dgamma, dbeta when not
/// wanted.
struct LayerNormBackwardTensors {
    Tensor dy, d_sum, x, gamma, mean, rstd;  // x: what was normalised
    Tensor dx, d_sublayer, dgamma, dbeta;
};

/// Fills result.y, mean and rstd, and with a sublayer result.sum.
HEDDLE_CUDA_FUNCTION(void layer_norm_forward_cuda(const Tensor& x, const Tensor& sublayer, const Tensor& gamma,
                                                  const Tensor& beta, double eps, const Dropout& dropout,
                                                  LayerNormResult& result))
/// Fills dx and d_sublayer, adds to dgamma and dbeta.
HEDDLE_CUDA_FUNCTION(void layer_norm_backward_cuda(LayerNormBackwardTensors& tensors, const Dropout& dropout))

}  // namespace heddle::kernels
