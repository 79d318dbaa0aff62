#include "core/dual.h"

namespace heddle {

Tensor make_dual(const Tensor& value, const Tensor& derivative) {
    check_dtype("make_dual", "value", value, DType::f64);
    check_dtype("make_dual", "derivative", derivative, DType::f64);
    check_shape("make_dual", "derivative", derivative, value.shape());
    Tensor result = Tensor::empty(value.shape(), DType::dual);
    const std::span<const double> values = value.values<double>(), derivatives = derivative.values<double>();
    const std::span<Dual> to = result.mutable_values<Dual>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = {values[i], derivatives[i]};
    return result;
}

Tensor derivative_of(const Tensor& dual) {
    check_dtype("derivative_of", "dual", dual, DType::dual);
    Tensor result = Tensor::empty(dual.shape(), DType::f64);
    const std::span<const Dual> from = dual.values<Dual>();
    const std::span<double> to = result.mutable_values<double>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i].derivative;
    return result;
}

}  // namespace heddle
