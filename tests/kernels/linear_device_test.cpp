// The linear map on every device.
#include <gtest/gtest.h>

#include "kernels/linear/linear.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

constexpr Allowed kAllowed{.f64 = 1e-14, .f32 = 3e-6};

struct LinearCase {
    std::int64_t rows, in, out;
};

TEST(LinearDevice, ForwardAndBackward) {
    for (const Numbers& numbers : all_numbers())
        for (const LinearCase& at : {LinearCase{1, 1, 1}, LinearCase{33, 31, 32}, LinearCase{127, 33, 17},
                                     LinearCase{300, 8, 1025}, LinearCase{0, 3, 4}, LinearCase{5, 0, 4}})
            for (const bool offset : {false, true}) {
                const auto place = [&](const Tensor& tensor) {
                    const Tensor placed = in(numbers, tensor);
                    return offset ? offset_by_one(placed) : placed;
                };
                const Tensor x = normal({at.rows, at.in}, DType::f64, 1), weight = normal({at.out, at.in}, DType::f64, 2),
                             bias = normal({at.out}, DType::f64, 3), dy = normal({at.rows, at.out}, DType::f64, 4);
                const Tensor x64 = rounded(numbers, x), weight64 = rounded(numbers, weight), bias64 = rounded(numbers, bias),
                             dy64 = rounded(numbers, dy);
                const std::string what =
                    std::to_string(at.rows) + " rows, " + std::to_string(at.in) + " to " + std::to_string(at.out);
                expect_close(kernels::linear_forward(place(x), place(weight), place(bias)),
                             kernels::linear_forward(x64, weight64, bias64), numbers, "y " + what, kAllowed);
                expect_close(kernels::linear_forward(place(x), place(weight), {}), kernels::linear_forward(x64, weight64, {}),
                             numbers, "y without a bias " + what, kAllowed);
                expect_close(kernels::linear_backward_x(place(dy), place(weight)), kernels::linear_backward_x(dy64, weight64),
                             numbers, "dx " + what, kAllowed);
                Tensor dweight = place(weight).clone(), dbias = place(bias).clone(), dweight64 = weight64.clone(),
                       dbias64 = bias64.clone();
                kernels::linear_backward_weight(place(dy), place(x), dweight);
                kernels::linear_backward_weight(dy64, x64, dweight64);
                expect_close(dweight, dweight64, numbers, "dW " + what, kAllowed);
                kernels::linear_backward_bias(place(dy), dbias);
                kernels::linear_backward_bias(dy64, dbias64);
                expect_close(dbias, dbias64, numbers, "db " + what, kAllowed);
            }
}

// A master gradient of bf16 layers, and the sums over chunks of the loss.
TEST(LinearDevice, AddsGradientsOfBf16InF32) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Numbers bf16{Device::cuda, DType::bf16}, f32{Device::cuda, DType::f32};
    for (const std::int64_t cols : {24, 33}) {
        const Tensor x = normal({40, 5}, DType::f64, 1), dy = normal({40, cols}, DType::f64, 2);
        Tensor dweight = Tensor::full({cols, 5}, 100, DType::f32).to(Device::cuda),
               dbias = Tensor::full({cols}, 100, DType::f32).to(Device::cuda);
        kernels::linear_backward_weight(in(bf16, dy), in(bf16, x), dweight);
        kernels::linear_backward_bias(in(bf16, dy), dbias);
        Tensor dweight64 = Tensor::full({cols, 5}, 100, DType::f64), dbias64 = Tensor::full({cols}, 100, DType::f64);
        kernels::linear_backward_weight(rounded(bf16, dy), rounded(bf16, x), dweight64);
        kernels::linear_backward_bias(rounded(bf16, dy), dbias64);
        expect_close(dweight, dweight64, f32, "dW", kAllowed);
        expect_close(dbias, dbias64, f32, "db", kAllowed);
    }
}

TEST(LinearDevice, GivesTheSameBitsAgain) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor x = in(numbers, normal({200, 9}, DType::f64, 1)), dy = in(numbers, normal({200, 21}, DType::f64, 2));
        expect_same_bits_again(
            [&] {
                Tensor dweight = Tensor::zeros({21, 9}, numbers.dtype, numbers.device),
                       dbias = Tensor::zeros({21}, numbers.dtype, numbers.device);
                kernels::linear_backward_weight(dy, x, dweight);
                kernels::linear_backward_bias(dy, dbias);
                return std::vector<Tensor>{dweight, dbias};
            },
            to_string(numbers));
    }
}

// More rows than 256 parts of 128: parts grow.
TEST(LinearDevice, LargeBiasGradients) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor dy = normal({65536, 3}, DType::f64, 1);
        Tensor dbias = Tensor::zeros({3}, numbers.dtype, numbers.device), want = Tensor::zeros({3}, DType::f64);
        kernels::linear_backward_bias(in(numbers, dy), dbias);
        kernels::linear_backward_bias(rounded(numbers, dy), want);
        expect_close(dbias, want, numbers, "db of 65,536 rows", {.f64 = 1e-12, .f32 = 3e-5});
    }
}

TEST(LinearDevice, WantsEverythingOnOneDevice) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor x = Tensor::zeros({2, 3}, DType::f32, Device::cuda);
    expect_error(
        [&] {
            kernels::linear_forward(x, Tensor::zeros({4, 3}, DType::f32), {});
        },
        "linear: weight lies on cpu, but x on cuda");
}

}  // namespace
}  // namespace heddle
