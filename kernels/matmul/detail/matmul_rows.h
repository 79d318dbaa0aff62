// What matmul.cu does to C and A without cuBLASLt.
#pragma once

#include <cstdint>

#include "kernels/matmul/product_cuda.h"

namespace heddle::kernels {

/// Each row of the product's C becomes its bias, or 0 without one.
void start_rows(const DeviceProduct& product);

struct Extents {
    std::int64_t rows, cols;
};
/// For each matrix of the product's batch: `to` receives `from`, which may be smaller, and zeros outside of it. One dtype, no
/// overlap.
void copy_rows(const DeviceProduct& product, const DeviceResult& to, Extents to_extents, const DeviceMatrix& from,
               Extents from_extents);

}  // namespace heddle::kernels
