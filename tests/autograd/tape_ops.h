// Ops of one node each, in f64, for tests of the tape.
#pragma once

#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "autograd/tape.h"

namespace heddle {

/// x * factor, one node; adds `label` to `order` in each of its backward calls.
inline Variable times(const Variable& x, double factor, std::vector<int>* order = nullptr, int label = 0,
                      Where where = Where::current()) {
    Tensor y = x.value().clone();
    for (double& value : y.mutable_values<double>()) value *= factor;
    return record(y, {.op = "times", .where = where, .inputs = {x}, .backward = [=](Gradients& g) {
                          if (order != nullptr) order->push_back(label);
                          Tensor dx = g.take_output();
                          for (double& value : dx.mutable_values<double>()) value *= factor;
                          g.give(0, std::move(dx));
                      }});
}

/// a + b, one node.
inline Variable plus(const Variable& a, const Variable& b) {
    Tensor y = a.value().clone();
    for (std::int64_t i = 0; i < y.numel(); ++i) y.mutable_data<double>()[i] += b.value().data<double>()[i];
    return record(y, {.op = "plus", .where = Where::current(), .inputs = {a, b}, .backward = [](Gradients& g) {
                          g.give(0, g.output());
                          g.give(1, g.take_output());
                      }});
}

/// a w^T, one node that saves both.
inline Variable product(const Variable& a, const Variable& w, Where where = Where::current()) {
    return ops::matmul(a, w, false, true, where);
}

/// A leaf [values] that requires a gradient.
inline Variable leaf(std::vector<double> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return Variable(Tensor::from(values, {count}), true);
}

inline const Tensor kOne = Tensor::full({1}, 1, DType::f64);
inline const Tensor kOnes = Tensor::full({2}, 1, DType::f64);

}  // namespace heddle
