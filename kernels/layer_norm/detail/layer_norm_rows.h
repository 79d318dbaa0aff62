// The loops over rows behind layer_norm.h: the reference, and its vectorised form for f32.
#pragma once

#include "core/dual.h"
#include "core/random.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// The arrays of a forward pass. RMS normalisation has neither beta nor mean.
template <class T>
struct LayerNormArrays {
    const T* x;         // [rows, cols]
    const T* sublayer;  // [rows, cols], or null: x alone is normalised
    const T* gamma;     // [cols]
    const T* beta;      // [cols], or null
    T* sum;             // [rows, cols], null without a sublayer
    T* y;               // [rows, cols]
    T* mean;            // [rows], or null
    T* rstd;            // [rows]
    std::int64_t cols;
    double eps;
    Dropout dropout;
};

/// The arrays of a backward pass.
template <class T>
struct LayerNormBackwardArrays {
    const T* dy;     // [rows, cols]
    const T* d_sum;  // [rows, cols], or null: nothing to add to dx
    const T* x;      // [rows, cols]: what was normalised
    const T* gamma;  // [cols]
    const T* mean;   // [rows], or null
    const T* rstd;   // [rows]
    T* dx;           // [rows, cols], or null: not wanted
    T* d_sublayer;   // [rows, cols], or null: not wanted, or dx itself because there is no dropout
    std::int64_t cols;
    Dropout dropout;
};

template <class A>
struct RowStatistics {
    A mean;
    A rstd;
};

namespace reference {

/// Mean and 1 / sqrt(variance + eps) of a row [cols]; unless `centred`, the mean counts as 0. Finite numbers give finite
/// statistics even where their squares overflow.
template <class T>
RowStatistics<Accumulator<T>> row_statistics(const T* x, std::int64_t cols, double eps, bool centred);
/// Rows [begin, end). T float, double or Dual; sums are Accumulator<T>.
template <class T>
void layer_norm_rows(const LayerNormArrays<T>& arrays, std::int64_t begin, std::int64_t end);
/// Rows [begin, end); their sums of dy xhat and dy are added to d_affine [2, cols] unless it is null.
template <class T>
void layer_norm_backward_rows(const LayerNormBackwardArrays<T>& arrays, std::int64_t begin, std::int64_t end, T* d_affine);

}  // namespace reference

HEDDLE_DECLARE_LEVELS(void layer_norm_rows(const LayerNormArrays<float>& arrays, std::int64_t begin, std::int64_t end))
HEDDLE_DECLARE_LEVELS(void layer_norm_backward_rows(const LayerNormBackwardArrays<float>& arrays, std::int64_t begin,
                                                    std::int64_t end, float* d_affine))

}  // namespace heddle::kernels
