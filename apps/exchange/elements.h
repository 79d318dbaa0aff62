// Elements of files of other programs, which may be half precision and need not be aligned.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/enum_words.h"
#include "core/tensor.h"

namespace heddle::app {

/// How an export writes the weights.
enum class ExportDType : std::uint8_t { f32, f16 };
constexpr auto enum_words(ExportDType) { return words_for<ExportDType>({{ExportDType::f32, "f32"}, {ExportDType::f16, "f16"}}); }

/// Elements of "F32", "F16" or "BF16", as many as the shape has, as an f32 tensor on the CPU.
Tensor floats_from(std::span<const std::byte> bytes, std::string_view dtype, const Shape& shape);

/// The elements of an f32 tensor on the CPU, little endian; f16: rounded to nearest even, and beyond its range to +-65504.
std::vector<std::byte> bytes_of(const Tensor& tensor, ExportDType dtype);

}  // namespace heddle::app
