// Rows by number: the lookup of an embedding, and its gradient.
//
//   forward   y[i, ...] = x[indices[i], ...]
//   backward  dx[k, ...] = sum of dy[i, ...] over all i with indices[i] = k, in ascending order of i
#pragma once

#include <vector>

#include "core/random.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"

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
/// Sorts the places of n indices below `bound` by index; leaves out negative ones.
PlacesOfIndices places_of_indices(const std::int32_t* indices, std::int64_t n, std::int64_t bound);

// ---- the CUDA side (gather.cu, gather_sort.cu): arguments are checked and results allocated by gather.cpp. Indices are on the
// device, so what they hold is checked there: a wrong one stops the kernel with a message.

/// y[i] = x[indices[i]]
HEDDLE_CUDA_FUNCTION(void gather_forward_cuda(const Tensor& x, const Tensor& indices, Tensor& y))
/// dx[indices[i]] += factor dy[i], in ascending order of i up to a fixed grouping.
HEDDLE_CUDA_FUNCTION(void gather_backward_cuda(const Tensor& dy, const Tensor& indices, Tensor& dx, double factor))

/// The places 0 .. n - 1 in the order of their indices, and equal ones in ascending order: PlacesOfIndices on the device.
struct SortedPlaces {
    Tensor indices;  ///< i32 [n], ascending; negative ones stand last, as `bound` or -1
    Tensor places;   ///< i32 [n]: where they came from
};
/// Sorts the places of n indices (i32, n < 2^31) below `bound`.
HEDDLE_CUDA_FUNCTION(SortedPlaces sorted_places_cuda(const Tensor& indices, std::int64_t bound))
/// dx[index] += factor times the sum over the index's places i of dropout(dy)[i]; dx [bound, ..] of dy's dtype, or f32 for bf16.
/// Dropout counts rows of dy. The row `skipped` of dx, if there is one, stays as it is. The last step of gather's backward pass,
/// and of the embedding's.
HEDDLE_CUDA_FUNCTION(void gather_sum_cuda(const Tensor& dy, const SortedPlaces& sorted, Tensor& dx, double factor,
                                          const Dropout& dropout, std::int32_t skipped = -1))

}  // namespace heddle::kernels
