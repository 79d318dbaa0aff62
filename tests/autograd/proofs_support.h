// Runs an op's gradient cases, names tests after them, and inserts mistakes into their gradients.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/cases/op_cases.h"

namespace heddle {

/// All cases; the test parameters are indices into them.
inline const std::vector<GradientCase>& all_cases() {
    static const std::vector<GradientCase> all = gradient_cases();
    return all;
}

/// "LayerNormThreeAxes_71": op and case in the letters that a test's name may have; the number keeps it unique.
inline std::string case_name(const testing::TestParamInfo<std::size_t>& info) {
    const GradientCase& one = all_cases()[info.index];
    std::string name;
    bool upper = true;
    for (const char c : one.op + " " + one.what) {
        const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (good) name += upper ? static_cast<char>(std::toupper(c)) : c;
        upper = !good;
    }
    return name + "_" + std::to_string(info.index);
}

/// The gradients of a case's function at `inputs`, computed by its ops on a fresh tape; zeros where none arrived.
inline std::vector<Tensor> gradients_of(const GradientFunction& function, std::span<const Tensor> inputs,
                                        const std::vector<bool>& needs, const Tensor& cotangent) {
    const FreshTape fresh;
    std::vector<Variable> leaves;
    for (std::size_t i = 0; i < inputs.size(); ++i) leaves.emplace_back(inputs[i], needs[i]);
    const Variable output = function(leaves);
    if (output.requires_grad()) backward(output, cotangent);
    std::vector<Tensor> gradients;
    for (const Variable& leaf : leaves)
        gradients.push_back(leaf.grad().defined() ? leaf.grad() : Tensor::zeros(leaf.shape(), leaf.dtype()));
    return gradients;
}

/// Returns a copy of a gradient with a mistake.
using WrongGradient = std::function<Tensor(const Tensor& gradient, const Tensor& cotangent)>;

/// The function as a single op whose gradient of input `target` is changed by `wrong`; for f64 and dual numbers.
inline GradientFunction with_wrong_gradient(const GradientFunction& function, std::size_t target, WrongGradient wrong) {
    return [=](std::span<const Variable> in) {
        std::vector<Tensor> inputs;
        for (const Variable& variable : in) inputs.push_back(variable.value());
        Tensor value;
        {
            const NoGrad no_grad;
            value = function(in).value();
        }
        return record(value, {.op = "mutant",
                              .where = Where::current(),
                              .inputs = {in.begin(), in.end()},
                              .saved = inputs,
                              .backward = [=, count = static_cast<int>(inputs.size())](Gradients& g) {
                                  std::vector<bool> needs;
                                  std::vector<Tensor> saved;
                                  for (int i = 0; i < count; ++i) {
                                      needs.push_back(g.needs(i));
                                      saved.push_back(g.saved(i));
                                  }
                                  std::vector<Tensor> gradients = gradients_of(function, saved, needs, g.output());
                                  gradients[target] = wrong(gradients[target], g.output());
                                  for (int i = 0; i < count; ++i) g.give(i, gradients[static_cast<std::size_t>(i)]);
                              }});
    };
}

}  // namespace heddle
