// Compares backward in the dtypes used for training with backward in f64.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/gradcheck_impl.h"
#include "core/format.h"

namespace heddle {
namespace proof {
namespace {

constexpr double kUnits = 16;
constexpr std::int64_t kLargestJacobian = 1 << 20;

double unit_roundoff(DType dtype) {
    check(dtype == DType::f32 || dtype == DType::bf16, "gradcheck_rounded: the dtype is {}, wanted f32 or bf16", dtype);
    return dtype == DType::f32 ? 0x1p-24 : 0x1p-8;
}

Tensor rounded_to(const Tensor& x, DType dtype) { return x.to(dtype).to(DType::f64); }

// One forward pass in the inputs' dtype and on their device, with its backward walks.
class Pass {
  public:
    Pass(const GradientFunction& function, const std::vector<Tensor>& inputs) {
        for (const Tensor& input : inputs) leaves_.emplace_back(input, true);
        output_ = function(leaves_);
    }
    const Tensor& output() const { return output_.value(); }

    std::vector<Values> back(const Tensor& cotangent) {
        for (Variable& leaf : leaves_) leaf.set_grad({});
        if (output_.requires_grad() && !output_.is_leaf())
            backward(output_, cotangent.to(output_.dtype()).to(output_.device()), true);
        std::vector<Values> gradients;
        for (const Variable& leaf : leaves_)
            gradients.push_back(leaf.grad().defined() ? leaf.grad().to_vector()
                                                      : Values(static_cast<std::size_t>(leaf.value().numel()), 0.0));
        return gradients;
    }

  private:
    std::vector<Variable> leaves_;
    Variable output_;
};

// For each input, the largest sum of absolute terms over its elements.
Values sums_of_absolute_terms(Pass& exact, const Tensor& cotangent) {
    std::vector<Values> sums;
    for (std::int64_t o = 0; o < cotangent.numel(); ++o) {
        Tensor one_term = Tensor::zeros(cotangent.shape(), DType::f64);
        one_term.mutable_data<double>()[o] = cotangent.data<double>()[o];
        const std::vector<Values> terms = exact.back(one_term);
        sums.resize(terms.size());
        for (std::size_t i = 0; i < terms.size(); ++i) {
            sums[i].resize(terms[i].size(), 0.0);
            for (std::size_t e = 0; e < terms[i].size(); ++e) sums[i][e] += std::abs(terms[i][e]);
        }
    }
    Values most;
    for (const Values& each : sums) most.push_back(largest(each));
    return most;
}

}  // namespace
}  // namespace proof

GradcheckReport gradcheck_rounded(const GradientCase& one, DType dtype) {
    using namespace proof;
    const double unit = unit_roundoff(dtype);
    const RandomState state{Generator(generator())};
    std::vector<Tensor> exact_inputs, inputs;
    for (const Tensor& input : one.inputs) {
        exact_inputs.push_back(rounded_to(input, dtype));
        inputs.push_back(input.to(dtype).to(one.options.device));
    }
    const FreshTape fresh;
    const Generator random = generator();
    Pass exact(one.function, exact_inputs);
    generator() = random;
    Pass tested(one.function, inputs);
    const Shape& shape = exact.output().shape();
    check(shape.numel() > 0, "gradcheck_rounded: {} ({}): the output {} has no elements, so nothing is compared", one.op,
          one.what, shape);
    for (const Tensor& input : one.inputs)
        check(input.numel() * shape.numel() <= kLargestJacobian,
              "gradcheck_rounded: {} ({}): an input {} and the output {} are too large for a full Jacobian", one.op, one.what,
              input.shape(), shape);
    const Tensor cotangent =
        rounded_to(Tensor::from(random_values(shape.numel(), one.options.seed), shape), tested.output().dtype());
    const std::vector<Values> wanted = exact.back(cotangent), given = tested.back(cotangent);
    const Values sums = sums_of_absolute_terms(exact, cotangent);
    GradcheckReport report;
    report.passed = true;
    report.worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        // For a gradient that is zero by symmetry, terms cancel within each single derivative.
        const bool declared = declares_zero(one.options, i);
        const double scale = declared ? std::max(largest(sums), largest(cotangent.to_vector())) : sums[i];
        for (std::size_t e = 0; e < wanted[i].size(); ++e) {
            const double error = std::abs(given[i][e] - wanted[i][e]);
            const double units = error == 0 ? 0 : error / (unit * scale);
            ++report.compared;
            if (!std::isnan(report.worst) && !(units <= report.worst)) report.worst = units;
            if (units <= kUnits || !report.passed) continue;
            report.passed = false;
            report.message = fmt::format(
                "{} ({}): the {} gradient of input {} {} on {} is wrong at {}\n  {} {:.9g}, f64 {:.9g} (error {:.3g}, allowed "
                "{:.3g}: {} units of rounding of the largest sum of absolute terms, {:.3g})",
                one.op, one.what, dtype, i, one.inputs[i].shape(), name(one.options.device),
                index_text(one.inputs[i].shape(), static_cast<std::int64_t>(e)), dtype, given[i][e], wanted[i][e], error,
                kUnits * unit * scale, kUnits, scale);
        }
    }
    check(report.compared > 0, "gradcheck_rounded: {} ({}): no input has elements, so nothing is compared", one.op, one.what);
    return report;
}

}  // namespace heddle
