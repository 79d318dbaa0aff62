// The CUDA side of gather.h: arguments are checked and results allocated by gather.cpp. Indices are on the device, so what they
// hold is checked there: a wrong one stops the kernel with a message.
#pragma once

#include "core/random.h"
#include "kernels/device/declare.h"
#include "kernels/gather/gather.h"

namespace heddle::kernels {

/// y[i] = x[indices[i]]
HEDDLE_CUDA_FUNCTION(void gather_forward_cuda(const Tensor& x, const Tensor& indices, Tensor& y))
/// dx[indices[i]] += factor dy[i], in ascending order of i up to a fixed grouping.
HEDDLE_CUDA_FUNCTION(void gather_backward_cuda(const Tensor& dy, const Tensor& indices, Tensor& dx, double factor))

/// The places 0 .. n - 1 in the order of their indices, and equal ones in ascending order: PlacesOfIndices on the device.
struct SortedPlaces {
    Tensor indices;  ///< i32 [n], ascending; negative ones stand last, as `bound` or -1
    Tensor places;   ///< i32 [n]: where they came from
};
/// Of n indices (i32, n < 2^31) below `bound`.
HEDDLE_CUDA_FUNCTION(SortedPlaces sorted_places_cuda(const Tensor& indices, std::int64_t bound))
/// dx[index] += factor times the sum over the index's places i of dropout(dy)[i]; dx [bound, ..] of dy's dtype, or f32 for bf16.
/// Dropout counts rows of dy. The last step of gather's backward pass, and of the embedding's.
HEDDLE_CUDA_FUNCTION(void gather_sum_cuda(const Tensor& dy, const SortedPlaces& sorted, Tensor& dx, double factor,
                                          const Dropout& dropout))

}  // namespace heddle::kernels
