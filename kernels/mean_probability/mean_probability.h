// The mean of several models' probabilities, as logits, for ensembles.
//
//     y_j = log 1/M sum_m e^(x_mj - L_m) + L_0          L_m = log sum_i e^(x_mi)
//
// The softmax of y is the arithmetic mean of the softmaxes of the x_m. L_0 cancels there; with it, y stands in the first model's
// scale, and the mean of equal models is x_0, bit for bit.
#pragma once

#include <span>

#include "core/tensor.h"

namespace heddle::kernels {

/// y [rows, V] from the logits x_m of M >= 1 models, all [rows, V], f32 or f64, on CUDA bf16 as well, on one device; the very
/// tensor when M is 1. A logit that is -inf in every model gives -inf. The bits of a row depend on that row alone. Error when
/// shapes differ, or a row of a model holds NaN or +inf, or nothing but -inf: it has no distribution (on CUDA the kernel traps,
/// and the next call that waits for the device reports the error).
Tensor mean_probability(std::span<const Tensor> logits);

}  // namespace heddle::kernels
