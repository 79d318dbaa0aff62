// The cases of mean_probability.
#include <cmath>

#include "autograd/cases/op_cases.h"
#include "kernels/mean_probability/mean_probability.h"

namespace heddle::mean_probability_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- calls of the kernels

// The logarithm of the mean, on the scale of the first model's logits.
Tensors plain_mean(const Tensors& logits) {
    Tensor result = Tensor::zeros(logits[0].shape(), DType::f64);
    for (std::int64_t row = 0; row < result.rows(); ++row) {
        double* y = result.mutable_data<double>() + row * result.cols();
        for (const Tensor& each : logits) {
            const std::span<const double> x = row_of(each, row);
            const double total = log_total(x);
            for (std::size_t j = 0; j < x.size(); ++j) y[j] += std::exp(x[j] - total) / static_cast<double>(logits.size());
        }
        const double first = log_total(row_of(logits[0], row));
        for (std::int64_t j = 0; j < result.cols(); ++j) y[j] = std::log(y[j]) + first;
    }
    return {result};
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    const auto add = [&](std::uint64_t models, const Shape& shape) {
        KernelCase one{.what = std::to_string(models) + " models, " + shape.str(),
                       .inputs = {},
                       .run = [](const Tensors& in) { return Tensors{mean_probability(in)}; },
                       .allowed = {.f64 = 1e-12, .f32 = 1e-6},
                       .formula = plain_mean,
                       .by_row = static_cast<int>(models)};
        for (std::uint64_t m = 0; m < models; ++m) one.inputs.push_back(numbers(shape, 7 + m, 0, 3));
        cases.push_back(one);
    };
    for (const std::int64_t vocabulary : {1, 31, 32, 33, 127, 1025, 2048})
        for (const std::uint64_t models : {2, 5}) add(models, {3, vocabulary});
    add(2, {0, 9});
    add(2, {2, 9});
    cases.back().inputs[0].mutable_data<double>()[3] = -kInfinity;  // one model forbids a word
    return cases;
}

}  // namespace

OpCases table() { return {.name = "mean_probability", .kernels = kernel_cases}; }

}  // namespace heddle::mean_probability_cases
