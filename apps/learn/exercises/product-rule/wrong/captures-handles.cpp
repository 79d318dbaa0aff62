// verdict: saved: x was changed between forward and backward, and dy was computed from the new values
#include "exercise.h"

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor result = Tensor::empty(a.shape(), DType::f64);
    for (std::size_t i = 0; i < a.values<double>().size(); ++i)
        result.mutable_values<double>()[i] = a.values<double>()[i] * b.values<double>()[i];
    return result;
}

Variable product(const Variable& x, const Variable& y) {
    const Tensor a = x.value(), b = y.value();
    return record(times(a, b), {.op = "product",
                                .where = Where::current(),
                                .inputs = {x, y},
                                .backward = [a, b](Gradients& g) {
                                    g.give(0, times(g.output(), b));
                                    g.give(1, times(g.output(), a));
                                }});
}
