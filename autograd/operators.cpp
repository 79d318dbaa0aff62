#include "autograd/operators.h"

#include "autograd/ops.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle {

Variable Operand::beside(const Operand& other) const {
    if (!number_) return variable_;
    return Tensor::full({}, *number_, other.variable_.dtype(), other.variable_.device());
}

Variable operator+(const Operand& a, const Operand& b) { return ops::add(a.beside(b), b.beside(a), a.where()); }
Variable operator-(const Operand& a, const Operand& b) { return ops::sub(a.beside(b), b.beside(a), a.where()); }

Variable operator*(const Operand& a, const Operand& b) {
    if (b.number()) return ops::scale(a.beside(b), *b.number(), a.where());
    if (a.number()) return ops::scale(b.beside(a), *a.number(), a.where());
    return ops::mul(a.beside(b), b.beside(a), a.where());
}

// Division, not multiplication by the reciprocal: x / 3 has the bits of a division.
Variable operator/(const Operand& a, const Operand& b) { return ops::div(a.beside(b), b.beside(a), a.where()); }

Variable operator-(const Operand& x) { return ops::neg(x.beside(x), x.where()); }

namespace {

Tensor compared(kernels::Comparison comparison, const Operand& a, const Operand& b) {
    return kernels::compare(comparison, a.beside(b).value(), b.beside(a).value());
}

}  // namespace

Tensor operator==(const Operand& a, const Operand& b) { return compared(kernels::Comparison::equal, a, b); }
Tensor operator!=(const Operand& a, const Operand& b) { return compared(kernels::Comparison::not_equal, a, b); }
Tensor operator<(const Operand& a, const Operand& b) { return compared(kernels::Comparison::less, a, b); }
Tensor operator<=(const Operand& a, const Operand& b) { return compared(kernels::Comparison::less_equal, a, b); }
Tensor operator>(const Operand& a, const Operand& b) { return compared(kernels::Comparison::greater, a, b); }
Tensor operator>=(const Operand& a, const Operand& b) { return compared(kernels::Comparison::greater_equal, a, b); }

Tensor operator&(const Tensor& a, const Tensor& b) { return ops::logical_and(a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return ops::logical_or(a, b); }
Tensor operator^(const Tensor& a, const Tensor& b) { return ops::logical_xor(a, b); }
Tensor operator~(const Tensor& a) { return ops::logical_not(a); }

}  // namespace heddle
