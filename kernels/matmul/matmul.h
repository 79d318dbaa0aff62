// Batched matrix product.
//
//     forward    C_b = op(A_b) op(B_b)                 op = identity or transpose, b over the leading axes
//     backward   dA_b = dC_b op(B_b)^T, dB_b = op(A_b)^T dC_b, each transposed back where op was the transpose
//
// A weight without leading axes serves every b; its gradient is the sum over b.
#pragma once

#include "core/tensor.h"

namespace heddle::kernels {

/// The operands of matmul: a [..., m, k] (or [..., k, m] transposed), b [..., k, n] (or [..., n, k]); f32 or f64, on CUDA bf16
/// too. The leading axes of b equal those of a, or b has none. Error otherwise, and when the inner extents differ.
struct MatmulShape {
    std::int64_t batch = 1;
    std::int64_t m = 0, n = 0, k = 0;
    bool shared_b = false;  ///< b has no leading axes
    Shape result;
};
MatmulShape matmul_shape(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b);

/// C [..., m, n]. Saved for backward: a and b.
Tensor matmul_forward(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);
/// dA with a's shape.
Tensor matmul_backward_a(const Tensor& dc, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b);
/// Adds dB to `db`, which has b's shape.
void matmul_backward_b(const Tensor& dc, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, Tensor& db);

}  // namespace heddle::kernels
