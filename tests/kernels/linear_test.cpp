// The linear map: values by hand, errors named.
#include <gtest/gtest.h>

#include "kernels/linear/linear.h"
#include "tests/support.h"

namespace heddle {
namespace {

TEST(Linear, MultipliesWithTheTransposedWeightAndAddsTheBias) {
    const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
    const Tensor weight = Tensor::from(std::vector<float>{1, 0, 0, 1, 1, 1}, {3, 2});
    const Tensor bias = Tensor::from(std::vector<float>{10, 20, 30}, {3});
    EXPECT_EQ(kernels::linear_forward(x, weight, bias).to_vector(), (std::vector<double>{11, 22, 33, 13, 24, 37}));
    EXPECT_EQ(kernels::linear_forward(x, weight, {}).to_vector(), (std::vector<double>{1, 2, 3, 3, 4, 7}));
}

TEST(Linear, AddsItsWeightGradientsToWhatIsThere) {
    const Tensor dy = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
    const Tensor x = Tensor::from(std::vector<float>{1, 1, 2, 2}, {2, 2});
    Tensor dweight = Tensor::full({2, 2}, 100, DType::f32), dbias = Tensor::full({2}, 100, DType::f32);
    kernels::linear_backward_weight(dy, x, dweight);
    kernels::linear_backward_bias(dy, dbias);
    EXPECT_EQ(dweight.to_vector(), (std::vector<double>{107, 107, 110, 110}));
    EXPECT_EQ(dbias.to_vector(), (std::vector<double>{104, 106}));
}

TEST(Linear, NamesTheShapesThatDoNotFit) {
    const Tensor weight = Tensor::zeros({4, 3}, DType::f32);
    expect_error(
        [&] {
            kernels::linear_forward(Tensor::zeros({2, 5}, DType::f32), weight, {});
        },
        "linear: x has shape [2, 5], but weight [4, 3] takes rows of 3");
    expect_error(
        [&] {
            kernels::linear_forward(Tensor::zeros({2, 3}, DType::f32), weight, Tensor::zeros({3}, DType::f32));
        },
        "linear: bias has shape [3], wanted [4]");
}

}  // namespace
}  // namespace heddle
