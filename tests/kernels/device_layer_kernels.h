// Kernels that each use one piece of the device layer, with the host functions that launch them. All tensors lie on the CUDA
// device.
#pragma once

#include <functional>

#include "core/tensor.h"

namespace heddle::testing_kernels {

/// y bf16 [n] = store<bf16>(x), x f32 [n].
void to_bf16(const Tensor& x, Tensor& y);
/// y f32 [n] = load(x), x bf16 [n].
void from_bf16(const Tensor& x, Tensor& y);
/// y [4, n] = exponential(x), logarithm(|x|), inverse_root(|x|), larger(x, 0.5); f32 or f64.
void functions(const Tensor& x, Tensor& y);
/// Runs body with another current stream, which nothing orders with the process's own, and waits for it.
void on_another_stream(const std::function<void()>& body);
/// y f64 [n]: first, first + 1, .. divided by a number, without their rests.
void quotients(std::int64_t first, std::int64_t by, Tensor& y);
/// A launch that cannot be: y is written by nobody.
void launch_with(Tensor& y, unsigned grid_y, unsigned threads, std::size_t shared);
/// Asks for lanes in a block of two axes, which has none.
void lanes_of_two_axes();
/// Fails device::require when x f32 [n] holds a negative number.
void require_positive(const Tensor& x);

/// How many bytes of a DropoutRule keep what stood in its memory before it was made.
std::int64_t stale_bytes_of_a_dropout_rule();

/// swizzled<bf16, 128>(row, col, rows).
int swizzled_place(int row, int col, int rows);

}  // namespace heddle::testing_kernels
