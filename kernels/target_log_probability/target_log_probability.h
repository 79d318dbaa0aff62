// The log-probability of one given entry of each row of logits: what scoring a known translation asks of the output layer.
//
//     log p_t = x_t - m - log sum_i e^(x_i - m)          m = max x,  t = targets[row]
#pragma once

#include "core/tensor.h"

namespace heddle::kernels {

/// logits [rows, V] f32 or f64, on CUDA bf16 as well; targets i32 [rows] on the same device. Result f64 [rows]. A target whose
/// logit is -inf gives -inf. The bits of a row depend on that row alone. Error when a target lies outside the vocabulary, or a
/// row holds NaN or +inf, or nothing but -inf: it has no distribution (on CUDA the kernel stops, and the error comes with the
/// next call that waits for the device).
Tensor target_log_probability(const Tensor& logits, const Tensor& targets);

}  // namespace heddle::kernels
