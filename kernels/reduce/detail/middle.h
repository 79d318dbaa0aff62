// The reduced axis of a shape.
#pragma once

#include "kernels/reduce/reduce.h"

namespace heddle::kernels {

/// A shape seen as [outer, n, inner] with the reduced axis in the middle.
struct Middle : MiddleAxis {
    Shape reduced;  ///< the result's shape
    std::int64_t outputs() const { return outer * inner; }
    /// The first element of output i along the axis; the next ones are at a distance of `inner`.
    std::int64_t begin_of(std::int64_t i) const { return i / inner * n * inner + i % inner; }
};

/// `axis` may be negative. The result keeps it with extent 1 when `keep`. Error that names `op` when there is no such axis.
Middle middle_of(const char* op, const Shape& shape, int axis, bool keep);

}  // namespace heddle::kernels
