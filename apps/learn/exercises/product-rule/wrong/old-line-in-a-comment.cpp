// verdict: gradient line 19: that is dz times its own factor
#include "exercise.h"

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor result = Tensor::empty(a.shape(), DType::f64);
    for (std::size_t i = 0; i < a.values<double>().size(); ++i)
        result.mutable_values<double>()[i] = a.values<double>()[i] * b.values<double>()[i];
    return result;
}

Variable product(const Variable& x, const Variable& y) {
    return record(times(x.value(), y.value()), {.op = "product",
                                                .where = Where::current(),
                                                .inputs = {x, y},
                                                .saved = {x.value(), y.value()},
                                                .backward = [](Gradients& g) {
                                                    /* As it was:
                                                       g.give(0, g.output()); */
                                                    if (g.needs(0)) g.give(0, times(g.output(), g.saved(0)));
                                                    if (g.needs(1)) g.give(1, times(g.output(), g.saved(0)));
                                                }});
}
