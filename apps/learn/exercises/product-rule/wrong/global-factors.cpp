// verdict: saved: two forward passes, then backward of the first one
#include "exercise.h"

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor result = Tensor::empty(a.shape(), DType::f64);
    for (std::size_t i = 0; i < a.values<double>().size(); ++i)
        result.mutable_values<double>()[i] = a.values<double>()[i] * b.values<double>()[i];
    return result;
}

Tensor left, right;  // for backward

Variable product(const Variable& x, const Variable& y) {
    left = x.value();
    right = y.value();
    return record(times(left, right), {.op = "product",
                                       .where = Where::current(),
                                       .inputs = {x, y},
                                       .backward = [](Gradients& g) {
                                           g.give(0, times(g.output(), right));
                                           g.give(1, times(g.output(), left));
                                       }});
}
