// The CUDA side of cache_table.h: arguments are checked and the result allocated by cache_table.cpp. A parent that does not exist
// stops the kernel.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void extended_cache_table_cuda(const Tensor& table, const Tensor& parents, std::int64_t position,
                                                    std::int64_t first_row, Tensor& result))

}  // namespace heddle::kernels
