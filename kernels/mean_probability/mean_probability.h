// The mean of several models' probabilities, as logits, for ensembles.
//
//     y_j = log 1/M sum_m e^(x_mj - L_m) + L_0          L_m = log sum_i e^(x_mi)
//
// The softmax of y is the arithmetic mean of the softmaxes of the x_m. L_0 cancels there; with it, y stands in the first model's
// scale, and the mean of equal models is x_0, bit for bit.
#pragma once

#include <span>

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// y [rows, V] from the logits x_m of M >= 1 models, all [rows, V], f32 or f64, on CUDA bf16 as well, on one device; the very
/// tensor when M is 1. A logit that is -inf in every model gives -inf. The bits of a row depend on that row alone. Error when
/// shapes differ, or a row of a model holds NaN or +inf, or nothing but -inf: it has no distribution (on CUDA the kernel traps,
/// and the next call that waits for the device reports the error).
Tensor mean_probability(std::span<const Tensor> logits);

// ---- the CUDA side (mean_probability.cu): arguments are checked and the result allocated by mean_probability.cpp. A row without
// a distribution stops the kernel.

/// logits [M rows, V]: those of the models one after another.
HEDDLE_CUDA_FUNCTION(void mean_probability_cuda(const Tensor& logits, Tensor& result))

}  // namespace heddle::kernels
