// Kernels that each use one piece of the device layer, with the host functions that launch them. All tensors lie on the CUDA
// device.
#pragma once

#include <functional>

#include "core/random.h"
#include "core/tensor.h"

namespace heddle::testing_kernels {

/// Row r of kept u8 [rows, 8 groups]: the dropout decisions of kept_in_row.
void dropout_decisions(const Dropout& dropout, Tensor& kept);
/// y bf16 [n] = store<bf16>(x), x f32 [n].
void to_bf16(const Tensor& x, Tensor& y);
/// y f32 [n] = load(x), x bf16 [n].
void from_bf16(const Tensor& x, Tensor& y);
/// y [4, n] = exponential(x), logarithm(|x|), inverse_root(|x|), larger(x, 0.5); f32 or f64.
void functions(const Tensor& x, Tensor& y);
/// x f32 [threads]; y f32 [threads, 8]: warp_sum and warp_max over 32, 8 and 2 lanes, block_sum, block_max of each thread. One
/// block.
void reductions(const Tensor& x, Tensor& y);
/// y = x by accesses of `width` elements (1, 2, 4, 8 where they are 16 bytes at most); f32 or bf16.
void copy_by_vectors(const Tensor& x, Tensor& y, int width);
/// y f32 [n] = x [n] through shared memory: tiles of 128 elements on their way while the one before is stored. What lies beyond n
/// in the last tile is filled with zeros and added to `beyond` f32 [1].
void copy_by_pipeline(const Tensor& x, Tensor& y, Tensor& beyond);
/// d f32 [16, 16] = a b with a bf16 [16, 64] (in a swizzled tile), b bf16 [64, 16] or transposed [16, 64].
void product_bf16(const Tensor& a, const Tensor& b, bool b_transposed, Tensor& d);
/// The second product of two: d f32 [16, 8] = bf16(a b) c, a bf16 [16, 64], b bf16 [64, 16], c bf16 [16, 16] (its first eight
/// columns).
void product_of_product(const Tensor& a, const Tensor& b, const Tensor& c, Tensor& d);
/// The sum of x f32 [n] by blocks of 128, added up by the last block in order: y f32 [1]. `ticket` i32 [1] is zero before and
/// after.
void sum_by_last_block(const Tensor& x, Tensor& partial, Tensor& ticket, Tensor& y);
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

/// swizzled<bf16, 128>(row, col, rows).
int swizzled_place(int row, int col, int rows);

}  // namespace heddle::testing_kernels
