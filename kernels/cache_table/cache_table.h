// Which rows of a cache hold the keys of each hypothesis' tokens: what a beam search rewrites in each step instead of moving
// keys.
//
//     y[i, t]        = table[parents[i], t]     t < position       hypothesis i continues the previous hypothesis parents[i]
//     y[i, position] = first_row + i                               and its newest token lies in this row
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// table i32 [former hypotheses, capacity]; parents i32 [hypotheses] on the same device, or undefined: each continues as it was.
/// Result i32 [hypotheses, capacity], of which the columns after `position` are undefined. A parent may occur several times, once
/// or never. Error when a parent does not exist (on CUDA the kernel stops, and the error comes with the next call that waits for
/// the device), the table is full or the last row does not fit into an i32.
Tensor extended_cache_table(const Tensor& table, const Tensor& parents, std::int64_t position, std::int64_t first_row);

// ---- the CUDA side (cache_table.cu): arguments are checked and the result allocated by cache_table.cpp. A parent that does not
// exist stops the kernel.

HEDDLE_CUDA_FUNCTION(void extended_cache_table_cuda(const Tensor& table, const Tensor& parents, std::int64_t position,
                                                    std::int64_t first_row, Tensor& result))

}  // namespace heddle::kernels
