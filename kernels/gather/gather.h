// Rows by number: the lookup of an embedding, and its gradient.
//
//   forward   y[i, ...] = x[indices[i], ...]
//   backward  dx[k, ...] = sum of dy[i, ...] over all i with indices[i] = k, in ascending order of i
#pragma once

#include <vector>

#include "core/tensor.h"

namespace heddle::kernels {

/// x [rows, ...] of any dtype, indices i32 [n] that may repeat; result [n, ...]. Error when an index is not in [0, rows).
Tensor gather_forward(const Tensor& x, const Tensor& indices);
/// Adds the gradient for dy [n, ...] (f32 or f64) to dx [rows, ...], each dy[i] multiplied by `factor` first. A negative index
/// names no row. Distinct indices go to different threads and each sums in the order of i: the bits do not depend on the threads.
void gather_backward(const Tensor& dy, const Tensor& indices, Tensor& dx, double factor = 1);

/// The places of each index, by counting sort.
struct PlacesOfIndices {
    std::vector<std::int32_t> indices;  ///< the distinct ones, ascending
    std::vector<std::int64_t> begin;    ///< the places of indices[k] are places[begin[k]] .. places[begin[k + 1] - 1]
    std::vector<std::int64_t> places;   ///< ascending for each index
};
/// Of n indices below `bound`; negative ones are left out.
PlacesOfIndices places_of_indices(const std::int32_t* indices, std::int64_t n, std::int64_t bound);

}  // namespace heddle::kernels
