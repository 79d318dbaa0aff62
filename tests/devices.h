// What tests of ops share that run on every device: the CPU, and the CUDA device, emulated or real, where the build and the
// machine have one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "autograd/cases/kernel_case.h"
#include "core/device.h"
#include "tests/numbers.h"

namespace heddle {

/// On what and in what an op computes.
struct Numbers {
    Device device;
    DType dtype;
};

inline std::string to_string(const Numbers& numbers) {
    return std::string(name(numbers.device)) + " " + std::string(name(numbers.dtype));
}

/// CPU f32 and f64; CUDA f32, bf16 and f64 where there is a device.
inline std::vector<Numbers> all_numbers() {
    std::vector<Numbers> all = {{Device::cpu, DType::f32}, {Device::cpu, DType::f64}};
    if (device::available())
        for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) all.push_back({Device::cuda, dtype});
    return all;
}

/// The CPU, and CUDA where there is a device.
inline std::vector<Device> all_devices() {
    if (device::available()) return {Device::cpu, Device::cuda};
    return {Device::cpu};
}

/// A floating-point tensor in these numbers; u8 and i32 tensors only move.
inline Tensor in(const Numbers& numbers, const Tensor& tensor) {
    if (!tensor.defined()) return {};
    const bool number = tensor.dtype() != DType::i32 && tensor.dtype() != DType::u8;
    return (number ? tensor.to(numbers.dtype) : tensor).to(numbers.device);
}
/// The tensor as it is after rounding to the numbers' dtype, in f64 on the CPU: what a reference computes with, so that the
/// rounding of inputs does not count as an error of the op.
inline Tensor rounded(const Numbers& numbers, const Tensor& tensor) {
    return tensor.defined() ? tensor.to(numbers.dtype).to(DType::f64) : Tensor();
}
using cases::through_bf16;

/// Places a tensor one element behind its storage's start, so that its rows are not aligned to any vector: for shapes whose rows
/// have an odd number of elements.
inline Tensor offset_by_one(const Tensor& tensor) {
    const Shape flat({tensor.numel() + 1});
    Tensor wide = Tensor::zeros(flat, tensor.dtype(), tensor.device());
    Tensor view = wide.slice(1, tensor.numel() + 1).reshape(tensor.shape());
    view.copy_(tensor);
    return view;
}

/// Expects max |got - want| <= allowed max |want| for f64 and f32. For bf16: at most twice the error of `plain` (the f32
/// computation whose every written tensor was rounded to bf16; undefined: want itself rounded) plus one unit in the last place of
/// the largest result. `want` is f64. NaN matches NaN in the same place only.
inline void expect_close(const Tensor& got, const Tensor& want, const Numbers& numbers, const std::string& what,
                         const Allowed& allowed = {}, const Tensor& plain = {}) {
    ASSERT_TRUE(got.defined()) << what << ": nothing was computed";
    ASSERT_EQ(got.shape(), want.shape()) << what;
    ASSERT_EQ(got.device(), numbers.device) << what << ": on the wrong device";
    const std::vector<double> given = got.to(Device::cpu).to_vector(), wanted = want.to_vector();
    const std::vector<double> usual = through_bf16(plain.defined() ? plain : want).to_vector();
    double largest = 0, usual_error = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!std::isfinite(wanted[i])) continue;
        largest = std::max(largest, std::abs(wanted[i]));
        if (std::isfinite(usual[i])) usual_error = std::max(usual_error, std::abs(usual[i] - wanted[i]));
    }
    const double ulp = largest > 0 ? std::exp2(std::floor(std::log2(largest)) - 7) : 0;  // of bf16: seven bits behind the point
    const double limit = numbers.dtype == DType::bf16
                             ? 2 * usual_error + ulp
                             : (numbers.dtype == DType::f32 ? allowed.f32 : allowed.f64) * (allowed.absolute ? 1 : largest);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (given[i] == wanted[i] || (std::isnan(given[i]) && std::isnan(wanted[i]))) continue;
        const double error = std::abs(given[i] - wanted[i]);
        ASSERT_TRUE(error <= limit) << what << " on " << to_string(numbers) << ": element " << i << " of " << want.numel()
                                    << " is " << given[i] << ", wanted " << wanted[i] << "; error " << error << ", allowed "
                                    << limit;
    }
}

/// Expects that `compute` gives the same bits when it runs again.
inline void expect_same_bits_again(const std::function<std::vector<Tensor>()>& compute, const std::string& what) {
    const std::vector<Tensor> first = compute(), second = compute();
    ASSERT_EQ(first.size(), second.size()) << what;
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (!first[i].defined() && !second[i].defined()) continue;
        EXPECT_TRUE(same_bits(first[i].to(Device::cpu), second[i].to(Device::cpu))) << what << ": result " << i;
    }
}

}  // namespace heddle
