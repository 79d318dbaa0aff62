// The last linear map and the loss behind it, fused: the logits of a big vocabulary are never all in memory.
//
//     forward    logits = x W^T + b,  loss = sum over the counted rows of cross_entropy(logits, target) / divisor
//     backward   dlogits = (softmax(logits) - q) / divisor,  dx = dlogits W,  dW = dlogits^T x,  db = sum of dlogits
//
// x [rows, d_model], W [V, d_model], targets i32 [rows]; q is the smoothed target distribution (kernels/cross_entropy). The
// rows go through in chunks: a chunk's logits are made, turned into dlogits in place and used up for dx and dW at once, in the
// forward pass; backward only scales by the gradient of the loss. Sums over rows run in ascending order (db's in parts of a
// chunk), so threads leave no trace in the bits.
#pragma once

#include "core/tensor.h"
#include "kernels/cross_entropy/cross_entropy.h"

namespace heddle::kernels {

/// Which gradients the forward pass is to make.
struct LinearCrossEntropyWants {
    bool x = false, weight = false, bias = false;
};

struct LinearCrossEntropyResult {
    Tensor loss;                ///< a scalar; 0 when no row counts
    Tensor dx, dweight, dbias;  ///< for a loss gradient of 1; undefined unless wanted
    Tensor statistics;          ///< f64 [4], loss_statistics() reads it
};

/// f32 or f64; `bias` [V] may be undefined. Error when a counted target lies outside [0, V).
LinearCrossEntropyResult linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                                              const LossOptions& options, const LinearCrossEntropyWants& wants);

}  // namespace heddle::kernels
