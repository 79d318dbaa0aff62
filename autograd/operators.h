// Operators on Variables: arithmetic, and writing them as text.
#pragma once

#include <optional>
#include <ostream>
#include <type_traits>

#include "autograd/variable.h"
#include "core/print.h"

namespace heddle {

/// One side of an operator: a Variable, a tensor, or a number. It remembers the source line of the expression, so that anomaly
/// mode and version errors name it as they do for a call of ops::add.
class Operand {
  public:
    Operand(const Variable& value, Where where = Where::current()) : variable_(value), where_(where) {}  // NOLINT: implicit
    Operand(const Tensor& value, Where where = Where::current()) : variable_(value), where_(where) {}    // NOLINT: implicit
    template <class Number>
    requires std::is_arithmetic_v<Number> Operand(Number number, Where where = Where::current())
        : number_(static_cast<double>(number)), where_(where) {}  // NOLINT

    /// Empty for a Variable or a tensor.
    const std::optional<double>& number() const { return number_; }
    const Where& where() const { return where_; }
    /// The Variable, or the number as a scalar with the other side's dtype and device.
    Variable beside(const Operand& other) const;

  private:
    Variable variable_;
    std::optional<double> number_;
    Where where_;
};

/// Element by element, broadcast as NumPy does: ops::add, ops::sub, ops::mul and ops::div. Integers beside floating-point numbers
/// take their dtype, and among themselves give i32, but f32 when they are divided. A number as a factor costs
/// ops::scale; every other number becomes a scalar on the device of the other side, on CUDA by a copy from the host, which cannot
/// be captured into a graph: make it once, before the loop.
Variable operator+(const Operand& a, const Operand& b);
Variable operator-(const Operand& a, const Operand& b);
Variable operator*(const Operand& a, const Operand& b);
Variable operator/(const Operand& a, const Operand& b);
Variable operator-(const Operand& x);

/// Tensors and numbers alone give tensors, and nothing is recorded.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, double b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, double b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, double b);
Tensor operator/(double a, const Tensor& b);
Tensor operator-(const Tensor& x);

/// These write the result into a's memory and bump the version, so that backward of an op that saved `a` before is an Error.
/// Error when the result has another shape or dtype than `a`, or requires a gradient, which a tensor cannot record.
Tensor& operator+=(Tensor& a, const Operand& b);
Tensor& operator-=(Tensor& a, const Operand& b);
Tensor& operator*=(Tensor& a, const Operand& b);
Tensor& operator/=(Tensor& a, const Operand& b);
/// These change a part of a tensor x: x[0] += 1, x[mask] += 1. Errors as for a whole tensor.
inline Tensor operator+=(Tensor&& a, const Operand& b) { return a += b; }
inline Tensor operator-=(Tensor&& a, const Operand& b) { return a -= b; }
inline Tensor operator*=(Tensor&& a, const Operand& b) { return a *= b; }
inline Tensor operator/=(Tensor&& a, const Operand& b) { return a /= b; }
void operator+=(const IndexedPart&& a, const Operand& b);
void operator-=(const IndexedPart&& a, const Operand& b);
void operator*=(const IndexedPart&& a, const Operand& b);
void operator/=(const IndexedPart&& a, const Operand& b);

/// `a += b` is `a = a + b`: the handle moves on to the result, and other handles on the old value keep it. A leaf that requires
/// a gradient stays the leaf that it is and is changed in place, which bumps its version: only under NoGrad, else an Error.
Variable& operator+=(Variable& a, const Operand& b);
Variable& operator-=(Variable& a, const Operand& b);
Variable& operator*=(Variable& a, const Operand& b);
Variable& operator/=(Variable& a, const Operand& b);

/// Masks u8, 1 where the comparison holds, for ops::where, softmax and attention: `where(a > 0, a, b)`. A number takes the other
/// side's dtype, and integers that of floating-point numbers. They are not recorded: a mask has no gradient.
Tensor operator==(const Operand& a, const Operand& b);
Tensor operator!=(const Operand& a, const Operand& b);
Tensor operator<(const Operand& a, const Operand& b);
Tensor operator<=(const Operand& a, const Operand& b);
Tensor operator>(const Operand& a, const Operand& b);
Tensor operator>=(const Operand& a, const Operand& b);

/// ops::logical_and, logical_or, logical_xor and logical_not of masks u8.
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Tensor& b);
Tensor operator~(const Tensor& a);

/// The value, as core/print.h writes tensors; "undefined" for an undefined Variable.
inline std::string to_text(const Variable& variable) { return to_text(variable.defined() ? variable.value() : Tensor()); }

inline std::ostream& operator<<(std::ostream& stream, const Variable& variable) { return stream << to_text(variable); }

}  // namespace heddle

/// A Variable has the formats of its value: "{}", "{:.3}" and "{:.3f}".
template <>
struct fmt::formatter<heddle::Variable> : heddle::TensorFormatter {
    auto format(const heddle::Variable& variable, format_context& context) const {
        return write(heddle::to_text(variable.defined() ? variable.value() : heddle::Tensor(), number), context);
    }
};
