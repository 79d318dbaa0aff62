// Tensors as text in NumPy's format.
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string>

#include "core/format.h"
#include "core/tensor.h"

namespace heddle {

/// The elements in nested brackets, one row a line:
///
///     [[ 0.5    1.25 ]
///      [-3.     0.125]]
///
/// The format is that of numpy.array_str with NumPy's default options. Floats have as many digits as tell them apart, at most 8
/// behind the point, and scientific notation where the largest is 1e8 or more, the smallest below 1e-4, or their ratio above
/// 1000; columns are aligned and lines end before column 76. Of a tensor of more than 1000 elements each axis longer than 6 shows
/// its first and last three, with "..." between. A scalar is a bare number, an empty tensor "[]", an undefined one "undefined".
/// bf16 is printed as the f32 numbers that it stands for. A tensor on CUDA is copied, and the host waits for it.
std::string to_text(const Tensor& tensor);

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);
inline std::ostream& operator<<(std::ostream& stream, const Shape& shape) { return stream << shape.str(); }

}  // namespace heddle

/// fmt::print("{}", tensor): to_text.
template <>
struct fmt::formatter<heddle::Tensor> : heddle::TextFormatter {
    auto format(const heddle::Tensor& tensor, format_context& context) const { return write(heddle::to_text(tensor), context); }
};
