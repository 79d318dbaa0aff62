// Element types and devices of tensors.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "core/enum_words.h"

namespace heddle {

/// `dual` is a value and its derivative (core/dual.h), 16 bytes: only on the CPU, never in a file.
enum class DType : std::uint8_t { f64, f32, bf16, i32, u8, dual };
enum class Device : std::uint8_t { cpu, cuda };
/// The dtypes that a model may compute in.
constexpr auto enum_words(DType) { return words_for<DType>({{DType::f32, "f32"}, {DType::bf16, "bf16"}}); }
constexpr auto enum_words(Device) { return words_for<Device>({{Device::cpu, "cpu"}, {Device::cuda, "cuda"}}); }

/// "f64", "f32", "bf16", "i32", "u8", "dual".
std::string_view name(DType dtype);
/// "cpu", "cuda".
std::string_view name(Device device);
/// Bytes of one element.
std::int64_t size_of(DType dtype);

/// The upper half of a float32: 8 exponent bits, 7 mantissa bits. Storage only; arithmetic happens in float.
struct bf16 {
    std::uint16_t bits = 0;

    bf16() = default;
    /// Rounds to nearest even; a NaN stays a NaN.
    explicit bf16(float value) {
        std::uint32_t u;
        std::memcpy(&u, &value, sizeof u);
        const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
        bits = nan ? static_cast<std::uint16_t>((u >> 16) | 0x0040u)
                   : static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
    explicit operator float() const {
        const std::uint32_t u = static_cast<std::uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &u, sizeof value);
        return value;
    }
};

struct Dual;  // core/dual.h

/// The DType of a C++ element type.
template <class T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, double>)
        return DType::f64;
    else if constexpr (std::is_same_v<T, float>)
        return DType::f32;
    else if constexpr (std::is_same_v<T, bf16>)
        return DType::bf16;
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return DType::i32;
    else if constexpr (std::is_same_v<T, Dual>)
        return DType::dual;
    else {
        static_assert(std::is_same_v<T, std::uint8_t>, "no such element type");
        return DType::u8;
    }
}

/// True for the C++ types that are elements of tensors.
template <class T>
inline constexpr bool is_element = std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, bf16> ||
                                   std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, Dual>;

/// The DType that holds numbers of type T: u8 with 0 and 1 for bool, and i32 for the other integers, which must fit into it.
template <class T>
constexpr DType stored_dtype() {
    if constexpr (std::is_same_v<T, bool>)
        return DType::u8;
    else if constexpr (std::is_integral_v<T> && !is_element<T>)
        return DType::i32;
    else
        return dtype_of<T>();
}

}  // namespace heddle
