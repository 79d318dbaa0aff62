// The length of the gradient, over all parameters at once, and clipping to a maximum length.
//
//   norm   = sqrt(sum_i g[i]^2)
//   factor = min(1, max_norm / (norm + 1e-6))        g[i] = factor g[i]
//
// Source: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks" (ICML 2013), algorithm 1; the
// 1e-6 as in PyTorch's clip_grad_norm_.
#pragma once

#include <span>
#include <vector>

#include "core/spans.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// Over the elements of `gradients` [n] (f32 or f64, on CUDA bf16 as well) that lie in `active` (rows() = n). Inf or NaN when the
/// gradients hold one. Squares are summed in f64 in fixed blocks, then the blocks in order: the bits do not depend on the
/// threads. Waits for the device.
double gradient_norm(const Tensor& gradients, const Spans& active);
/// Over all elements.
double gradient_norm(const Tensor& gradients);

/// Elements of a block whose squares are summed together on the CPU, counted from the beginning of each active range; the last
/// block of a range may be shorter.
inline constexpr std::int64_t kNormBlock = 8192;
/// The first half of gradient_norm() on the CPU: the sum of squares of each block, range by range. Where a gradient is cut at the
/// beginnings of blocks, its parts' sums one after another are those of the whole, bit for bit, so the parts may lie in several
/// processes. Error when the gradients are not on the CPU.
std::vector<double> gradient_squares(const Tensor& gradients, const Spans& active);
/// The second half: the norm from the sums of all blocks. Error unless there are as many as `active` has blocks.
double norm_of_squares(std::span<const double> squares, const Spans& active);

/// The norm of scale * gradients, and their factor, scale * clip_factor(norm, max_norm): f64 [2] on the gradients' device, for
/// kernels/adam to read. Does not synchronise.
Tensor measure_gradients(const Tensor& gradients, const Spans& active, double max_norm, double scale = 1);

/// min(1, max_norm / (norm + 1e-6)); 1 when max_norm is 0 (no clipping). Error when max_norm is negative or NaN.
double clip_factor(double norm, double max_norm);

/// gradients[i] *= factor in place. (kernels/adam takes the factor along instead and saves this sweep.)
void scale_gradients(Tensor& gradients, double factor, Where where = Where::current());

// ---- the CUDA side (gradient_norm.cu): arguments are checked and results allocated by gradient_norm.cpp

/// Fills `result` f64 [2] as measure_gradients says.
HEDDLE_CUDA_FUNCTION(void measure_gradients_cuda(const Tensor& gradients, const Spans& active, double max_norm, double scale,
                                                 Tensor& result))
HEDDLE_CUDA_FUNCTION(void scale_gradients_cuda(Tensor& gradients, double factor))

}  // namespace heddle::kernels
