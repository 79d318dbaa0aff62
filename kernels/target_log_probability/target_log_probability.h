// The log-probability of one given entry of each row of logits: what scoring a known translation asks of the output layer.
//
//     log p_t = x_t - m - log sum_i e^(x_i - m)          m = max x,  t = targets[row]
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// logits [rows, V] f32 or f64, on CUDA bf16 as well; targets i32 [rows] on the same device. Result f64 [rows]. A target whose
/// logit is -inf gives -inf. The bits of a row depend on that row alone. Error when a target lies outside the vocabulary, or a
/// row holds NaN or +inf, or nothing but -inf: it has no distribution (on CUDA the kernel stops, and the error comes with the
/// next call that waits for the device).
Tensor target_log_probability(const Tensor& logits, const Tensor& targets);

// ---- the CUDA side (target_log_probability.cu): arguments are checked and the result allocated by target_log_probability.cpp. A
// target outside the vocabulary and a row without a distribution stop the kernel.

HEDDLE_CUDA_FUNCTION(void target_log_probability_cuda(const Tensor& logits, const Tensor& targets, Tensor& result))

}  // namespace heddle::kernels
