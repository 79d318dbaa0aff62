// Which rows of a cache hold the keys of each hypothesis' tokens: what a beam search rewrites in each step instead of moving
// keys.
//
//     y[i, t]        = table[parents[i], t]     t < position       hypothesis i continues the previous hypothesis parents[i]
//     y[i, position] = first_row + i                               and its newest token lies in this row
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/device/growth.h"

namespace heddle::kernels {

/// table i32 [former hypotheses, capacity]; parents i32 [hypotheses] on the same device, or undefined: each continues as it was.
/// Result i32 [hypotheses, capacity], of which the columns after `position` are undefined. A parent may occur several times, once
/// or never. Error when a parent does not exist (on CUDA the kernel stops, and the error comes with the next call that waits for
/// the device), the table is full or the last row does not fit into an i32.
Tensor extended_cache_table(const Tensor& table, const Tensor& parents, std::int64_t position, std::int64_t first_row);

/// How often a captured token step was replayed: the number on CUDA that the growth of its places is counted by.
class Replays {
  public:
    Replays();
    /// The growth of a number that gains `each` with every replay.
    device::Growth growth(std::int64_t each) const { return {each, count_.data<std::int32_t>()}; }
    /// Starts at no replay again.
    void reset();
    /// One more: the last launch of the captured step.
    void add();

  private:
    Tensor count_;  // i32 [1]
};

/// The same on CUDA for a step that is replayed: into `result` [hypotheses, capacity], other memory than the table's, and with a
/// position and a first row that grow. A column beyond the capacity stops the kernel.
void extend_cache_table(const Tensor& table, const Tensor& parents, std::int64_t position, const device::Growth& positions,
                        std::int64_t first_row, const device::Growth& rows, Tensor& result);
/// cache[first_row + i] = columns of row i, on CUDA: where extend_cache_table says that the newest keys and values lie. cache
/// [slots, columns.count] of the same dtype. A row beyond the cache stops the kernel.
void store_in_cache(const Columns& columns, std::int64_t first_row, const device::Growth& rows, Tensor& cache);

// ---- the CUDA side (cache_table.cu): arguments are checked and the result allocated by cache_table.cpp. A parent that does not
// exist stops the kernel.

HEDDLE_CUDA_FUNCTION(void extended_cache_table_cuda(const Tensor& table, const Tensor& parents, std::int64_t position,
                                                    const device::Growth& positions, std::int64_t first_row,
                                                    const device::Growth& rows, Tensor& result))
/// *count += 1
HEDDLE_CUDA_FUNCTION(void count_replay_cuda(std::int32_t* count))
HEDDLE_CUDA_FUNCTION(void store_in_cache_cuda(const Columns& columns, std::int64_t first_row, const device::Growth& rows,
                                              Tensor& cache))

}  // namespace heddle::kernels
