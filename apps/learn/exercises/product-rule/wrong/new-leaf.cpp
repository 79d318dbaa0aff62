// verdict: tape: z is a new leaf
#include "exercise.h"

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor result = Tensor::empty(a.shape(), DType::f64);
    for (std::size_t i = 0; i < a.values<double>().size(); ++i)
        result.mutable_values<double>()[i] = a.values<double>()[i] * b.values<double>()[i];
    return result;
}

Variable product(const Variable& x, const Variable& y) {
    return Variable(times(x.value(), y.value()), true);
}
