// Tensors as text in NumPy's format.
#pragma once

#include <fmt/format.h>

#include <concepts>
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

/// How floats are written: with at most `digits` digits behind the point, or with exactly so many and no exponent.
struct NumberFormat {
    int digits = 8;
    bool fixed = false;
};
std::string to_text(const Tensor& tensor, const NumberFormat& format);

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);
inline std::ostream& operator<<(std::ostream& stream, const Shape& shape) { return stream << shape.str(); }

/// fmt's formats of tensors and scalars: "{}" is to_text, "{:.3}" writes at most 3 digits behind the point, "{:.3f}" exactly 3.
struct TensorFormatter : TextFormatter {
    constexpr auto parse(fmt::format_parse_context& context) {
        auto at = context.begin();
        if (at != context.end() && *at == '.') {
            number.digits = 0;
            for (++at; at != context.end() && *at >= '0' && *at <= '9' && number.digits < 100; ++at)
                number.digits = 10 * number.digits + (*at - '0');
            if (at != context.end() && *at == 'f') {
                number.fixed = true;
                ++at;
            }
        }
        if (at != context.end() && *at != '}') throw fmt::format_error("tensors take {}, {:.3} or {:.3f}");
        return at;
    }

    NumberFormat number;
};

}  // namespace heddle

template <std::derived_from<heddle::Tensor> T>
struct fmt::formatter<T> : heddle::TensorFormatter {
    auto format(const heddle::Tensor& tensor, format_context& context) const {
        return write(heddle::to_text(tensor, number), context);
    }
};
