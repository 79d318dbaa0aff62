// The vectorised CPU path of reduce (reduce_fast.cpp), for f32.
#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace heddle::kernels {

/// The sum of x [n].
HEDDLE_DECLARE_LEVELS(
    double sum_of_row(const float* x, std::int64_t n);
    /// sums[j] += x[k, j] + x[k + 1, j] for k = 0, 2, .. in order. x [rows, cols] with `pitch` elements from row to row.
    void add_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols, double* sums);
    /// The first place of the largest of x [n], n > 0; a NaN counts as larger than every number.
    std::int64_t place_of_maximum(const float* x, std::int64_t n);
    /// The same for each column of x [rows, cols], rows > 0: y, indices [cols].
    void maxima_of_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols, float* y,
                           std::int32_t* indices))

}  // namespace heddle::kernels
