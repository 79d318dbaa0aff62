// Dual numbers: exact derivatives by computing with them.
//
// A dual number is v + d e with e e = 0: a value and its derivative along one direction. Each operation follows the rules of
// calculus,
//
//     (a + a' e) + (b + b' e) = (a + b) + (a' + b') e
//     (a + a' e) * (b + b' e) = a b + (a' b + a b') e
//     f(a + a' e)             = f(a) + f'(a) a' e
//
// so a loop that runs on inputs x + x' e returns f(x) + (J x') e: the derivative along x' to rounding, without a difference of
// near numbers. Run forward and back, a gradient's derivative is the product H x' with the Hessian.
//
// Source: Wengert, "A simple automatic derivative evaluation program" (Communications of the ACM 7(8), 1964); Griewank and
// Walther, "Evaluating Derivatives" (2nd edition, 2008), section 3.1.
//
// The reference loops of the CPU take double, float or Dual for T and sum in Accumulator<T>; *_fast.cpp files and CUDA kernels do
// not support it.
#pragma once

#include <cmath>
#include <compare>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "core/check.h"
#include "core/dispatch.h"

namespace heddle {

/// The element type of DType::dual. Comparisons use the value only, so that a loop takes the branch it takes in f64.
struct Dual {
    double value = 0;
    double derivative = 0;

    Dual() = default;
    /// A constant: its derivative is 0.
    template <class Number>
    requires std::is_arithmetic_v<Number>
    constexpr Dual(Number constant) : value(static_cast<double>(constant)) {}  // NOLINT: numbers are constants
    constexpr Dual(double v, double d) : value(v), derivative(d) {}

    /// The value.
    template <class Number>
    requires std::is_arithmetic_v<Number>
    explicit operator Number() const { return static_cast<Number>(value); }

    Dual& operator+=(const Dual& b) { return *this = *this + b; }
    Dual& operator-=(const Dual& b) { return *this = *this - b; }
    Dual& operator*=(const Dual& b) { return *this = *this * b; }
    Dual& operator/=(const Dual& b) { return *this = *this / b; }

    friend Dual operator-(const Dual& a) { return {-a.value, -a.derivative}; }
    friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.derivative + b.derivative}; }
    friend Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.derivative - b.derivative}; }
    friend Dual operator*(const Dual& a, const Dual& b) {
        return {a.value * b.value, a.derivative * b.value + a.value * b.derivative};
    }
    friend Dual operator/(const Dual& a, const Dual& b) {
        const double quotient = a.value / b.value;
        return {quotient, (a.derivative - quotient * b.derivative) / b.value};
    }
    // Overloads for constants: as a Dual, the constant's derivative 0 times an infinite value would be NaN.
    friend Dual operator*(double a, const Dual& b) { return {a * b.value, a * b.derivative}; }
    friend Dual operator*(const Dual& a, double b) { return b * a; }
    friend Dual operator/(const Dual& a, double b) { return {a.value / b, a.derivative / b}; }

    friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
    friend std::partial_ordering operator<=>(const Dual& a, const Dual& b) { return a.value <=> b.value; }
};

// Generic loops name these as `using std::exp; exp(x)`.

inline Dual exp(const Dual& x) {
    const double e = std::exp(x.value);
    return {e, e * x.derivative};
}
inline Dual log(const Dual& x) { return {std::log(x.value), x.derivative / x.value}; }
inline Dual log1p(const Dual& x) { return {std::log1p(x.value), x.derivative / (1 + x.value)}; }
inline Dual expm1(const Dual& x) { return {std::expm1(x.value), std::exp(x.value) * x.derivative}; }
/// Each side's part of the derivative counts only if that side has one: pow(-2, 3) has no logarithm, and needs none.
inline Dual pow(const Dual& x, const Dual& y) {
    const double power = std::pow(x.value, y.value);
    double derivative = 0;
    if (x.derivative != 0) derivative += y.value == 0 ? 0 : y.value * std::pow(x.value, y.value - 1) * x.derivative;
    if (y.derivative != 0) derivative += x.value == 0 && y.value >= 0 ? 0 : power * std::log(x.value) * y.derivative;
    return {power, derivative};
}
inline Dual sqrt(const Dual& x) {
    const double root = std::sqrt(x.value);
    return {root, x.derivative / (2 * root)};
}
inline Dual tanh(const Dual& x) {
    const double t = std::tanh(x.value);
    return {t, (1 - t * t) * x.derivative};
}
inline Dual sin(const Dual& x) { return {std::sin(x.value), std::cos(x.value) * x.derivative}; }
inline Dual cos(const Dual& x) { return {std::cos(x.value), -std::sin(x.value) * x.derivative}; }
inline Dual erf(const Dual& x) {
    return {std::erf(x.value), 2 * std::numbers::inv_sqrtpi * std::exp(-x.value * x.value) * x.derivative};
}
inline Dual erfc(const Dual& x) {
    return {std::erfc(x.value), -2 * std::numbers::inv_sqrtpi * std::exp(-x.value * x.value) * x.derivative};
}
inline bool isnan(const Dual& x) { return std::isnan(x.value); }
inline bool isinf(const Dual& x) { return std::isinf(x.value); }
/// True if value and derivative are finite.
inline bool isfinite(const Dual& x) { return std::isfinite(x.value) && std::isfinite(x.derivative); }

/// The type in which reference loops sum elements of type T: double for float and double, Dual for Dual.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, Dual>, Dual, double>;

/// dispatch_any including dual, for code that only runs on the CPU.
template <class Body>
void dispatch_all(DType dtype, Body&& body) {
    if (dtype == DType::dual) return body(TypeTag<Dual>{});
    dispatch_any(dtype, std::forward<Body>(body));
}

/// dispatch_float including dual, for reference loops, so that their derivatives can be proven exactly.
template <class Body>
void dispatch_real(const char* op, DType dtype, Body&& body) {
    if (dtype == DType::dual) return body(TypeTag<Dual>{});
    dispatch_float(op, dtype, std::forward<Body>(body));
}

/// dispatch_real for an op's CPU path. Error that names `op` when `tensor` is on CUDA.
template <class Body>
void dispatch_real(const char* op, const Tensor& tensor, Body&& body) {
    if (tensor.dtype() == DType::dual) return body(TypeTag<Dual>{});
    dispatch_float(op, tensor, std::forward<Body>(body));
}

/// value + derivative e for each element. Both must be f64 on the CPU and of one shape, which the result has; Error otherwise.
Tensor make_dual(const Tensor& value, const Tensor& derivative);

/// The derivatives of a dual tensor, f64. (to(DType::f64) gives the values.) Error for another dtype.
Tensor derivative_of(const Tensor& dual);

}  // namespace heddle

/// Infinity, NaN and the limits of the value.
template <>
struct std::numeric_limits<heddle::Dual> : std::numeric_limits<double> {};
