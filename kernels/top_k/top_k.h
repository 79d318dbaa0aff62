// The k most probable entries of each row of logits: what a beam search asks of the output layer.
//
//     log p_j = x_j - m - log sum_i e^(x_i - m)          m = max x
// The logarithm is monotonic, so the k largest logits are the k largest log-probabilities; only they are turned into
// log-probabilities.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/level.h"

namespace heddle::kernels {

struct TopK {
    Tensor values;  ///< [rows, k] log-probabilities, falling, of the logits' dtype (f32 for bf16)
    Tensor ids;     ///< i32 [rows, k], their columns; of equal logits the smaller column comes first
};

/// logits [rows, V] f32 or f64, on CUDA bf16 as well, 1 <= k <= V. Columns of -inf come last, with the value -inf. The bits of a
/// row depend on that row alone. Error when a row holds NaN or +inf, or nothing but -inf: it has no distribution (on CUDA the
/// kernel stops, and the error comes with the next call that waits for the device).
TopK top_k_log_softmax(const Tensor& logits, std::int64_t k);

namespace reference {
/// One row [vocabulary]; writes k values and ids. Returns false when the row has no distribution. T float or double.
template <class T>
bool top_k_row(const T* logits, std::int64_t vocabulary, std::int64_t k, T* values, std::int32_t* ids);
}  // namespace reference

HEDDLE_DECLARE_LEVELS(bool top_k_row(const float* logits, std::int64_t vocabulary, std::int64_t k, float* values,
                                     std::int32_t* ids))

// ---- the CUDA side (top_k.cu): arguments are checked and results allocated by top_k.cpp. A row without a distribution stops the
// kernel.

HEDDLE_CUDA_FUNCTION(void top_k_cuda(const Tensor& logits, std::int64_t k, TopK& result))

}  // namespace heddle::kernels
