// A linear map of few rows with all that stands around it in a Transformer's decoder, in one launch: CUDA, bf16.
//
//     z = norm(x) or x,   y = act(z W^T + b) + residual        x [rows, in], W [out, in], b [out], residual and y [rows, out]
//     norm(x) = gamma (x - mean) rstd + beta                   as in kernels/layer_norm
//
// A token step of decoding has a row for each hypothesis. Its products are small, and launches between them (the norm before, the
// activation, the residual sum behind) take a GPU as long as the products themselves.
#pragma once

#include <optional>

#include "core/tensor.h"
#include "kernels/activation/activation.h"
#include "kernels/device/declare.h"
#include "kernels/device/growth.h"

namespace heddle::kernels {

/// gamma and beta [in], bf16.
struct RowNorm {
    Tensor gamma, beta;
    double eps = 1e-5;
};

/// The operands: x, weight and bias (which may be undefined) are bf16 on CUDA.
struct FewRowsLinear {
    Tensor x, weight, bias;
    std::optional<RowNorm> norm = {};
    std::optional<Activation> activation = {};
    Tensor residual = {};  ///< or undefined
};

/// The outputs: y bf16 or f32.
struct FewRowsResult {
    Tensor y;                         ///< [rows, out], or with a tail its first columns
    Tensor tail = {};                 ///< bf16 [rows or more, columns]: the product's last columns go here, when it is defined
    Tensor normed = {};               ///< bf16 [rows, in]: norm(x), when it is defined
    std::int64_t tail_row = 0;        ///< the tail's row of the first result
    device::Growth tail_growth = {};  ///< of tail_row
};

/// Beyond, a product that reads its weights once for 64 rows and more is faster.
inline constexpr std::int64_t kFewRows = 512;
/// The widest rows: 16 of them must fit into the 99 KB of shared memory that a block has on sm_86 and sm_89.
inline constexpr std::int64_t kFewRowsWidest = 2848;
/// Whether few_rows_linear takes x [rows, in] and weight: bf16 on CUDA, at most kFewRows rows, `in` a multiple of 32 up to
/// kFewRowsWidest, 16-byte aligned; and products need not be the same for every number of rows (batch_invariant.h).
bool takes_few_rows(const Tensor& x, const Tensor& weight);

/// Fills the result. Each row's bits depend on that row alone. Error when a shape, dtype or device does not fit.
void few_rows_linear(const FewRowsLinear& call, FewRowsResult result);

// ---- the CUDA side (few_rows.cu): arguments are checked by few_rows.cpp

HEDDLE_CUDA_FUNCTION(void few_rows_linear_cuda(const FewRowsLinear& call, FewRowsResult& result))

}  // namespace heddle::kernels
