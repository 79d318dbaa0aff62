// Reads and writes elements of the libraries' types as numbers of C++.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/emulator/include/library_types.h"

namespace heddle::emulator::element {

inline float from_bf16(std::uint16_t bits) {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}
/// Rounds to nearest even; NaN stays NaN.
inline std::uint16_t to_bf16(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float from_f16(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const float size = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                       : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                       : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}
/// Rounds to nearest even; beyond 65504 it is infinite, and NaN stays NaN.
inline std::uint16_t to_f16(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const std::uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7fffu);
    if (size >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // from 65520 on
    if (size < 0x38800000u) {                                                    // a subnormal, or zero
        float positive;
        std::memcpy(&positive, &size, sizeof positive);
        return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(positive, 24))));
    }
    return static_cast<std::uint16_t>(sign | ((size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13));
}

template <class T>
T bits_at(const std::byte* start, std::int64_t index) {
    T value;
    std::memcpy(&value, start + index * static_cast<std::int64_t>(sizeof(T)), sizeof value);
    return value;
}

template <class T>
T load(const std::byte* start, cudaDataType_t type, std::int64_t index) {
    switch (type) {
        case CUDA_R_64F: return static_cast<T>(bits_at<double>(start, index));
        case CUDA_R_32F: return static_cast<T>(bits_at<float>(start, index));
        case CUDA_R_16F: return static_cast<T>(from_f16(bits_at<std::uint16_t>(start, index)));
        case CUDA_R_8I: return static_cast<T>(bits_at<std::int8_t>(start, index));
        case CUDA_R_32I: return static_cast<T>(bits_at<std::int32_t>(start, index));
        default: return static_cast<T>(from_bf16(bits_at<std::uint16_t>(start, index)));
    }
}

template <class T>
void store(std::byte* start, cudaDataType_t type, std::int64_t index, T value) {
    const auto put = [&](auto bits) { std::memcpy(start + index * static_cast<std::int64_t>(sizeof bits), &bits, sizeof bits); };
    switch (type) {
        case CUDA_R_64F: return put(static_cast<double>(value));
        case CUDA_R_32F: return put(static_cast<float>(value));
        case CUDA_R_16F: return put(to_f16(static_cast<float>(value)));
        case CUDA_R_32I: return put(static_cast<std::int32_t>(static_cast<std::int64_t>(std::nearbyint(value))));
        default: return put(to_bf16(static_cast<float>(value)));
    }
}

}  // namespace heddle::emulator::element
