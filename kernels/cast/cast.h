// Another element type for the same numbers, and one number everywhere.
//
//   cast  y[i] = convert<dtype>(x[i])          gradient: dx = cast(dy, x's dtype)
//   fill  y[i] = convert<y's dtype>(value)
//
// `convert` is core/dispatch.h's: C++'s conversion, through f32 to bf16 (nearest even); a number beyond an integer type becomes
// that type's nearest value, NaN becomes 0.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// x of any dtype and shape, on its device; both devices give the same bits, except those of a NaN. The same handle when the
/// dtype is x's.
Tensor cast(const Tensor& x, DType dtype);

/// Overwrites y, of any dtype, with `value`. The caller bumps the version: it knows the place that errors should name.
void fill(Tensor& y, double value);

// ---- the CUDA side (cast.cu): arguments are checked and results allocated by cast.cpp

/// y = x converted to y's dtype, which is another one.
HEDDLE_CUDA_FUNCTION(void cast_cuda(const Tensor& x, Tensor& y))
HEDDLE_CUDA_FUNCTION(void fill_cuda(Tensor& y, double value))

}  // namespace heddle::kernels
