// The ladder of attention, forward: six ways from three kernels to the library's idea, each with one new idea, for readers. Work
// goes through attention.h.
#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

enum class AttentionStep {
    naive,    ///< scores, softmax and weighted mean: three kernels, the scores in global memory
    fused,    ///< one kernel: a warp a query, its scores in shared memory; up to 3072 tokens
    online,   ///< + the softmax runs along with the keys: no row of scores anywhere
    tiles,    ///< + a block's queries share tiles of keys and values in shared memory
    padding,  ///< + rows of a tile begin in different banks
    rows,     ///< + four queries a warp: a number of the tile is used four times
};

/// O = softmax(Q K^T / sqrt(dim)) V for each sentence: query, key, value and the result [sentences * time, dim], a sentence's
/// rows one after the other; no masks, one head of up to 128 columns. f32, on the device, computed by the kernels of this step.
/// Error when the arguments are anything else, or too long for the step.
HEDDLE_CUDA_FUNCTION(Tensor attention_ladder(AttentionStep step, const Tensor& query, const Tensor& key, const Tensor& value,
                                             std::int64_t time))
/// Registers of a thread of the step's kernel (of `naive`: the scores'); 0 on the emulated device.
HEDDLE_CUDA_FUNCTION(int attention_ladder_registers(AttentionStep step))

}  // namespace heddle::kernels
