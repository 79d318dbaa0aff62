#include "autograd/operators.h"

#include <cmath>

#include "autograd/ops.h"
#include "autograd/whole_numbers.h"
#include "core/check.h"
#include "core/format.h"
#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle {

Variable Operand::beside(const Operand& other) const {
    if (!number_) return variable_;
    return Tensor::full({}, *number_, other.variable_.dtype(), other.variable_.device());
}

namespace {

bool is_whole(double number) { return std::isfinite(number) && number == std::floor(number); }

// Whether integers of this type have the number among them.
bool holds(DType dtype, double number) {
    return dtype == DType::u8 ? number >= 0 && number <= UINT8_MAX : number >= INT32_MIN && number <= INT32_MAX;
}

struct Sides {
    Variable a, b;
    bool whole = false;  // both are integers, of different types or for arithmetic
};

// Both sides with one dtype: integers take that of floating-point numbers beside them. Two integers become f64, which holds all
// of i32, unless they are only compared and have one type. A number takes the integers' type only where it is one of them.
Sides sides(const Operand& a, const Operand& b, bool compared) {
    const DType a_type = (a.number() ? b : a).beside(b).dtype(), b_type = (b.number() ? a : b).beside(a).dtype();
    if (!is_whole(a_type) && !is_whole(b_type)) return {a.beside(b), b.beside(a)};
    const auto whole = [](const Operand& side, DType dtype) {
        return is_whole(dtype) && (!side.number() || is_whole(*side.number()));
    };
    const auto held = [](const Operand& side, DType dtype) { return !side.number() || holds(dtype, *side.number()); };
    const bool are_whole = whole(a, a_type) && whole(b, b_type);
    if (are_whole && compared && a_type == b_type && held(a, a_type) && held(b, b_type)) return {a.beside(b), b.beside(a)};
    const DType integers = are_whole || compared ? DType::f64 : DType::f32;
    const DType common = !is_whole(a_type) ? a_type : !is_whole(b_type) ? b_type : integers;
    const auto converted = [common](const Operand& side, const Operand& other) -> Variable {
        if (side.number()) return Tensor::full({}, *side.number(), common, other.beside(side).device());
        const Variable value = side.beside(other);
        return is_whole(value.dtype()) ? Variable(kernels::cast(value.value(), common)) : value;
    };
    return {converted(a, b), converted(b, a), are_whole};
}

using Op = Variable (*)(const Variable&, const Variable&, Where);

Variable computed(const char* name, Op op, const Operand& a, const Operand& b) {
    const Sides both = sides(a, b, false);
    const Variable result = op(both.a, both.b, a.where());
    return both.whole ? Variable(narrowed(name, result.value())) : result;
}

}  // namespace

Tensor narrowed(const char* op, const Tensor& result) {
    if (result.device() == Device::cpu)
        for (const double value : result.values<double>())
            check(value >= INT32_MIN && value <= INT32_MAX, "{}: the integer result {} does not fit into i32", op, value);
    return kernels::cast(result, DType::i32);
}

Variable operator+(const Operand& a, const Operand& b) { return computed("add", ops::add, a, b); }
Variable operator-(const Operand& a, const Operand& b) { return computed("sub", ops::sub, a, b); }

Variable operator*(const Operand& a, const Operand& b) {
    if (b.number() && !is_whole(a.beside(b).dtype())) return ops::scale(a.beside(b), *b.number(), a.where());
    if (a.number() && !is_whole(b.beside(a).dtype())) return ops::scale(b.beside(a), *a.number(), a.where());
    return computed("mul", ops::mul, a, b);
}

// Division, not multiplication by the reciprocal: x / 3 has the bits of a division. Integers give a f32 quotient.
Variable operator/(const Operand& a, const Operand& b) {
    const Sides both = sides(a, b, false);
    const Variable result = ops::div(both.a, both.b, a.where());
    return both.whole ? Variable(kernels::cast(result.value(), DType::f32)) : result;
}

Variable operator-(const Operand& x) { return is_whole(x.beside(x).dtype()) ? x * -1 : ops::neg(x.beside(x), x.where()); }

Tensor operator+(const Tensor& a, const Tensor& b) { return (Operand(a) + Operand(b)).value(); }
Tensor operator+(const Tensor& a, double b) { return (Operand(a) + Operand(b)).value(); }
Tensor operator+(double a, const Tensor& b) { return (Operand(a) + Operand(b)).value(); }
Tensor operator-(const Tensor& a, const Tensor& b) { return (Operand(a) - Operand(b)).value(); }
Tensor operator-(const Tensor& a, double b) { return (Operand(a) - Operand(b)).value(); }
Tensor operator-(double a, const Tensor& b) { return (Operand(a) - Operand(b)).value(); }
Tensor operator*(const Tensor& a, const Tensor& b) { return (Operand(a) * Operand(b)).value(); }
Tensor operator*(const Tensor& a, double b) { return (Operand(a) * Operand(b)).value(); }
Tensor operator*(double a, const Tensor& b) { return (Operand(a) * Operand(b)).value(); }
Tensor operator/(const Tensor& a, const Tensor& b) { return (Operand(a) / Operand(b)).value(); }
Tensor operator/(const Tensor& a, double b) { return (Operand(a) / Operand(b)).value(); }
Tensor operator/(double a, const Tensor& b) { return (Operand(a) / Operand(b)).value(); }
Tensor operator-(const Tensor& x) { return (-Operand(x)).value(); }

namespace {

void check_fits(const char* op, const Tensor& a, const Variable& result) {
    check(!result.requires_grad(),
          "{}: the right side requires a gradient, which a tensor on the left cannot record; make the left side a Variable, or "
          "compute under NoGrad",
          op);
    check(result.shape() == a.shape() && result.dtype() == a.dtype(),
          "{}: the result is {} {}, but it is written into {} {}; write x = x {} y for a new tensor", op, result.shape(),
          result.dtype(), a.shape(), a.dtype(), op[0]);
}

void written(const char* op, Tensor& a, const Variable& result, Where where) {
    check_fits(op, a, result);
    a.copy_(result.value(), where);
}

void written(const char* op, const IndexedPart& a, const Variable& result, Where where) {
    check_fits(op, a, result);
    a.put_(Assigned(result.value(), where));
}

void written(const char* op, Variable& a, const Variable& result, Where where) {
    if (!a.is_leaf() || !a.requires_grad()) {
        a = result;
        return;
    }
    check(!result.requires_grad(), "{}: a leaf that requires a gradient can only be changed in place under NoGrad", op);
    Tensor value = a.value();
    written(op, value, result, where);
}

}  // namespace

#define HEDDLE_IN_PLACE(op)                                                                     \
    Tensor& operator op##=(Tensor& a, const Operand& b) {                                       \
        written(#op "=", a, Operand(a, b.where()) op b, b.where());                             \
        return a;                                                                               \
    }                                                                                           \
    Variable& operator op##=(Variable& a, const Operand& b) {                                   \
        written(#op "=", a, Operand(a, b.where()) op b, b.where());                             \
        return a;                                                                               \
    }                                                                                           \
    void operator op##=(const IndexedPart&& a, const Operand& b) {                              \
        written(#op "=", a, Operand(static_cast<const Tensor&>(a), b.where()) op b, b.where()); \
    }
HEDDLE_IN_PLACE(+)
HEDDLE_IN_PLACE(-)
HEDDLE_IN_PLACE(*)
HEDDLE_IN_PLACE(/)
#undef HEDDLE_IN_PLACE

namespace {

Tensor compared(kernels::Comparison comparison, const Operand& a, const Operand& b) {
    const Sides both = sides(a, b, true);
    return kernels::compare(comparison, both.a.value(), both.b.value());
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
