// Reads and writes elements of the libraries' types as numbers of C++.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/emulator/float_formats.h"
#include "kernels/emulator/include/library_types.h"

namespace heddle::emulator::element {

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
        case CUDA_R_16F: return static_cast<T>(half_to_float(bits_at<std::uint16_t>(start, index)));
        case CUDA_R_8I: return static_cast<T>(bits_at<std::int8_t>(start, index));
        case CUDA_R_32I: return static_cast<T>(bits_at<std::int32_t>(start, index));
        default: return static_cast<T>(bfloat16_to_float(bits_at<std::uint16_t>(start, index)));
    }
}

template <class T>
void store(std::byte* start, cudaDataType_t type, std::int64_t index, T value) {
    const auto put = [&](auto bits) { std::memcpy(start + index * static_cast<std::int64_t>(sizeof bits), &bits, sizeof bits); };
    switch (type) {
        case CUDA_R_64F: return put(static_cast<double>(value));
        case CUDA_R_32F: return put(static_cast<float>(value));
        case CUDA_R_16F: return put(float_to_half(static_cast<float>(value)));
        case CUDA_R_32I: return put(static_cast<std::int32_t>(static_cast<std::int64_t>(std::nearbyint(value))));
        default: return put(float_to_bfloat16(static_cast<float>(value)));
    }
}

}  // namespace heddle::emulator::element
