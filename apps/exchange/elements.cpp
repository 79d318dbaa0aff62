#include "apps/exchange/elements.h"

#include <cstring>

#include "core/format.h"
#include "core/half.h"

namespace heddle::app {

Tensor floats_from(std::span<const std::byte> bytes, std::string_view dtype, const Shape& shape) {
    Tensor result = Tensor::empty(shape);
    const std::span<float> to = result.mutable_values<float>();
    const std::size_t size = dtype == "F32" ? 4 : 2;
    check(bytes.size() == to.size() * size, "elements: {} bytes for {} {}", bytes.size(), dtype, shape);
    if (size == 4) {
        if (!to.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
        return result;
    }
    const bool half = dtype == "F16";
    for (std::size_t i = 0; i < to.size(); ++i) {
        bf16 value;
        std::memcpy(&value.bits, bytes.data() + i * size, size);
        to[i] = half ? half_to_float(value.bits) : static_cast<float>(value);
    }
    return result;
}

std::vector<std::byte> bytes_of(const Tensor& tensor, ExportDType dtype) {
    const std::span<const float> from = tensor.values<float>();
    std::vector<std::byte> bytes(from.size() * (dtype == ExportDType::f16 ? 2 : 4));
    if (dtype == ExportDType::f32) {
        if (!from.empty()) std::memcpy(bytes.data(), from.data(), bytes.size());
        return bytes;
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::uint16_t half = float_to_half(from[i]);
        std::memcpy(bytes.data() + i * sizeof half, &half, sizeof half);
    }
    return bytes;
}

}  // namespace heddle::app
