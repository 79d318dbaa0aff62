// Formatted errors for .cpp files. Never include this from a header that nvcc reads (Debian's fmt 9 does not compile there).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"

namespace heddle {

/// A formatter for a type that is written as a text, without format options.
struct TextFormatter {
    constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
    static auto write(std::string_view text, fmt::format_context& context) {
        return std::copy(text.begin(), text.end(), context.out());
    }
};

}  // namespace heddle

template <>
struct fmt::formatter<heddle::Shape> : heddle::TextFormatter {
    auto format(const heddle::Shape& shape, format_context& context) const { return write(shape.str(), context); }
};

template <>
struct fmt::formatter<heddle::DType> : heddle::TextFormatter {
    auto format(heddle::DType dtype, format_context& context) const { return write(heddle::name(dtype), context); }
};

namespace heddle {

/// Throws an Error with the formatted message.
template <class... Args>
[[noreturn]] void fail_with(fmt::format_string<Args...> format, Args&&... args) {
    fail(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an Error with the formatted message unless `good`. Written so that a comparison with NaN fails.
template <class... Args>
void check(bool good, fmt::format_string<Args...> format, Args&&... args) {
    if (!good) fail(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace heddle
