// Calls templates with the C++ element type of a run-time dtype.
#pragma once

#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "core/error.h"

namespace heddle {

/// Carries an element type as a value: `[&]<class T>(TypeTag<T>) { ... }`.
template <class T>
struct TypeTag {};

/// Calls `body` with the type tag of any dtype that exists on every device. Error for dual (core/dual.h has dispatch_all).
template <class Body>
void dispatch_any(DType dtype, Body&& body) {
    switch (dtype) {
        case DType::f64: return body(TypeTag<double>{});
        case DType::f32: return body(TypeTag<float>{});
        case DType::bf16: return body(TypeTag<bf16>{});
        case DType::i32: return body(TypeTag<std::int32_t>{});
        case DType::u8: return body(TypeTag<std::uint8_t>{});
        case DType::dual: fail("dual numbers lie on the CPU only; take their values with to(DType::f64)");
    }
}

/// The Error of dispatch_float.
[[noreturn]] void fail_float_only(const char* op, DType dtype);

/// Calls `body` with the type tag of f32 or f64; an Error that names `op` for every other dtype.
template <class Body>
void dispatch_float(const char* op, DType dtype, Body&& body) {
    if (dtype == DType::f32) return body(TypeTag<float>{});
    if (dtype == DType::f64) return body(TypeTag<double>{});
    fail_float_only(op, dtype);
}

template <class T>
double to_double(T value) {
    if constexpr (std::is_same_v<T, bf16>)
        return static_cast<double>(static_cast<float>(value));
    else
        return static_cast<double>(value);
}

/// Element conversion as in C++, and through float to bf16. Where C++ leaves the result undefined, a floating-point number
/// beyond an integer type becomes that type's nearest value, and NaN becomes 0.
template <class To, class From>
To convert(From value) {
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (std::is_same_v<To, bf16>) {
        return bf16(static_cast<float>(to_double(value)));
    } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
        const double number = to_double(value);
        if (!(number >= static_cast<double>(std::numeric_limits<To>::min())))
            return number < 0 ? std::numeric_limits<To>::min() : To{0};
        if (number > static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
        return static_cast<To>(number);
    } else if constexpr (std::is_same_v<From, bf16>) {
        return static_cast<To>(static_cast<float>(value));
    } else {
        return static_cast<To>(value);
    }
}

}  // namespace heddle
