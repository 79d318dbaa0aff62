// The CUDA side of attention, as attention.cpp and attention_cached.cpp see it. Arguments are checked before; results lie on the
// device.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/cached/attention_cached.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// The widest head that the kernels take, dk and dv.
inline constexpr std::int64_t kWidestCudaHead = 256;

/// Fills result.output [rows, heads * dv] and, where it is defined, result.log_sum [rows, heads] (f32; f64 for f64).
HEDDLE_CUDA_FUNCTION(void attention_forward_cuda(const Columns& query, const Columns& key, const Columns& value,
                                                 const AttentionRules& rules, AttentionResult& result))
/// Fills those gradients that have a base.
HEDDLE_CUDA_FUNCTION(void attention_backward_cuda(const Columns& query, const Columns& key, const Columns& value,
                                                  const AttentionRules& rules, const AttentionResult& forward,
                                                  const Tensor& d_output, AttentionGradients& gradients))
/// Writes P into `weights` [sentences, heads, query_time, key_time], which holds zeros.
HEDDLE_CUDA_FUNCTION(void attention_weights_cuda(const Columns& query, const Columns& key, const AttentionRules& rules,
                                                 Tensor& weights))
/// Fills output [rows, heads * dv].
HEDDLE_CUDA_FUNCTION(void attention_cached_cuda(const Columns& query, const CachedKeys& cache, std::int64_t heads, double scale,
                                                Tensor& output))

}  // namespace heddle::kernels
