// The ladder of the feed-forward network, forward: six ways from four kernels to the library's fused one, each with one new idea,
// for readers. Work goes through feed_forward.h.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/feed_forward/feed_forward.h"

namespace heddle::kernels {

enum class FeedForwardStep {
    naive,         ///< four kernels: product, bias and ReLU, product, bias
    epilogue,      ///< two: bias and ReLU where a product stores its result
    tiles,         ///< + tiles of both factors in shared memory
    fused,         ///< one kernel: h in shared memory, tile by tile; d_model and out up to 128
    rows,          ///< + a number of a weight is used for four rows
    copies_ahead,  ///< + the next weights are copied while these are multiplied with
};

/// y [rows, out] = max(0, x W1^T + b1) W2^T + b2 for x [rows, d_model], W1 [d_ff, d_model] and W2 [out, d_ff]; both biases must
/// be there. f32, on the device, computed by the kernels of this step. Error when the arguments are anything else, or too wide
/// for the step.
HEDDLE_CUDA_FUNCTION(Tensor feed_forward_ladder(FeedForwardStep step, const Tensor& x, const FeedForwardWeights& weights))
/// Registers of a thread of the step's kernel (of several: the product's); 0 on the emulated device.
HEDDLE_CUDA_FUNCTION(int feed_forward_ladder_registers(FeedForwardStep step))

}  // namespace heddle::kernels
