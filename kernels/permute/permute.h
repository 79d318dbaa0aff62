// The axes of a tensor in another order.
//
//   forward   y[j_0, .., j_n] = x[i_0, .., i_n] with i_axes[k] = j_k: axis k of y is axis axes[k] of x
//   backward  dx = dy permuted by the inverse order
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// x of any dtype; `axes` names each axis of x once, negative ones count from the end. Error otherwise.
Tensor permute_forward(const Tensor& x, std::span<const int> axes);
/// dx for dy [the permuted shape].
Tensor permute_backward(const Tensor& dy, std::span<const int> axes);

// ---- the CUDA side (permute.cu): arguments are checked and results allocated by permute.cpp

/// y = x with axis order[k] of x as its axis k; order counts from the front and names each axis once.
HEDDLE_CUDA_FUNCTION(void permute_cuda(const Tensor& x, const std::vector<int>& order, Tensor& y))

}  // namespace heddle::kernels
