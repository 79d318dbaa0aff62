// The vectorised CPU path of reduce (reduce_fast.cpp), for f32.
//
//     sum_of_row          the sum of x [n]
//     add_columns         sums[j] += x[k, j] for k = 0, 1, .. in order; x [rows, cols] with `pitch` elements from row to row
//     place_of_extremum   the first place of the largest or smallest of x [n], n > 0; a NaN comes before every number
//     extrema_of_columns  the same for each column of x [rows, cols], rows > 0: y, indices [cols]
#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace heddle::kernels {

HEDDLE_DECLARE_LEVELS(double sum_of_row(const float* x, std::int64_t n);
                      void add_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols, double* sums);
                      std::int64_t place_of_extremum(const float* x, std::int64_t n, bool smallest);
                      void extrema_of_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols,
                                              bool smallest, float* y, std::int32_t* indices))

}  // namespace heddle::kernels
