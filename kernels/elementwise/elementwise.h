// Arithmetic element by element, with broadcasting as NumPy defines it: the oracle of fused ops, and building blocks.
//
//   op      y             gradients for dy
//   add     a + b         da = dy                   db = dy
//   sub     a - b         da = dy                   db = -dy
//   mul     a b           da = dy b                 db = dy a
//   div     a / b         da = dy / b               db = -dy y / b
//   neg     -x            dx = -dy
//   exp     e^x           dx = dy y
//   log     ln x          dx = dy / x
//   sqrt    x^(1/2)       dx = dy / (2 y)
//   tanh    tanh x        dx = dy (1 - y^2)
//   where   c ? a : b     da = c ? dy : 0           db = c ? 0 : dy
//   scale   factor x      dx = factor dy
//
// Broadcasting: shapes are aligned at their last axes; an axis of extent 1, or one that is missing, is repeated. The gradient of
// a repeated input is the sum over the repeated axes (sum_to of kernels/reduce).
#pragma once

#include "core/tensor.h"

namespace heddle::kernels {

/// The shape that a and b broadcast to. Error that names `op` when they do not fit.
Shape broadcast_shape(const char* op, const Shape& a, const Shape& b);

/// a, b of one dtype: f32, f64, or on CUDA bf16 (computed in f32, rounded once). Error when the shapes do not broadcast.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
/// condition u8, nonzero takes from a, zero from b; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

/// x f32, f64, or on CUDA bf16, of any shape.
Tensor neg(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor scale(const Tensor& x, double factor);

/// dx for dy and forward's result y, all of one shape.
Tensor exp_backward(const Tensor& dy, const Tensor& y);
Tensor sqrt_backward(const Tensor& dy, const Tensor& y);
Tensor tanh_backward(const Tensor& dy, const Tensor& y);
/// dx for dy and forward's argument x.
Tensor log_backward(const Tensor& dy, const Tensor& x);
/// The gradient of a (take = true) or b (take = false) before the sum over repeated axes: dy where the condition chose it, else
/// 0.
Tensor where_backward(const Tensor& dy, const Tensor& condition, bool take);

/// target += x in place, f32, f64, or on CUDA bf16, of one shape. The caller bumps the version: it knows the place that errors
/// should name.
void accumulate(Tensor& target, const Tensor& x);

}  // namespace heddle::kernels
