// verdict: shape line 14: backward gave input 0 a gradient [] f64, wanted [5] f64
#include "exercise.h"

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor result = Tensor::empty(a.shape(), DType::f64);
    for (std::size_t i = 0; i < a.values<double>().size(); ++i)
        result.mutable_values<double>()[i] = a.values<double>()[i] * b.values<double>()[i];
    return result;
}

Variable product(const Variable& x, const Variable& y) {
    return record(times(x.value(), y.value()),
                  {.op = "product",
                   .where = Where::current(),
                   .inputs = {x, y},
                   .saved = {x.value(), y.value()},
                   .backward = [](Gradients& g) {
                       double dx = 0, dy = 0;
                       for (std::size_t i = 0; i < g.output().values<double>().size(); ++i) {
                           dx += g.output().values<double>()[i] * g.saved(1).values<double>()[i];
                           dy += g.output().values<double>()[i] * g.saved(0).values<double>()[i];
                       }
                       g.give(0, Tensor::full({}, dx, DType::f64));
                       g.give(1, Tensor::full({}, dy, DType::f64));
                   }});
}
