// Arithmetic element by element, with broadcasting as NumPy defines it: the oracle of fused ops, and building blocks.
//
//   of two numbers       y                   gradients for dy
//   add                  a + b               da = dy                        db = dy
//   sub                  a - b               da = dy                        db = -dy
//   mul                  a b                 da = dy b                      db = dy a
//   div                  a / b               da = dy / b                    db = -dy y / b
//   pow                  a^b                 da = dy b a^(b - 1)            db = dy y ln a, 0 where a = 0 and b >= 0
//   maximum, minimum     the larger, smaller da = dy where a was taken, dy / 2 where a = b, else 0; db likewise
//   where                c ? a : b           da = c ? dy : 0                db = c ? 0 : dy
//
//   of one number        y                   gradient for dy
//   neg                  -x                  -dy
//   exp, expm1           e^x, e^x - 1        dy y, dy (y + 1)
//   log, log1p           ln x, ln(1 + x)     dy / x, dy / (1 + x)
//   sqrt, rsqrt          x^(1/2), x^(-1/2)   dy / (2 y), -dy y^3 / 2
//   square               x^2                 2 dy x
//   abs, sign            |x|, sign x         dy sign x, 0
//   sin, cos             sin x, cos x        dy cos x, -dy sin x
//   tanh                 tanh x              dy (1 - y^2)
//   sigmoid              1 / (1 + e^-x)      dy y (1 - y)
//   softplus             ln(1 + e^x)         dy / (1 + e^-x)
//   erf                  erf x               dy 2 / sqrt(pi) e^(-x^2)
//   scale                factor x            factor dy
//   power                x^factor            dy factor x^(factor - 1); 0 for factor 0
//   clamp                x within low, high  dy where low <= x <= high, else 0
//
// softplus: Dugas et al., "Incorporating second-order functional knowledge for better option pricing" (2000).
//
// Broadcasting: shapes are aligned at their last axes; an axis of extent 1, or one that is missing, is repeated. The gradient of
// a repeated input is the sum over the repeated axes (sum_to of kernels/reduce).
#pragma once

#include "core/enum_words.h"
#include "core/tensor.h"

namespace heddle::kernels {

/// The shape that a and b broadcast to. Error that names `op` when they do not fit.
Shape broadcast_shape(const char* op, const Shape& a, const Shape& b);

// ---- of two numbers

/// The functions of two numbers a and b. The last four are parts of gradients: maximum_share(a, b) is 1, 1/2 or 0, what a gets of
/// the gradient of maximum(a, b), and minimum_share of minimum; pow_base(a, b) is b a^(b - 1), pow_exponent(a, b) a^b ln a.
enum class Binary { add, sub, mul, div, pow, maximum, minimum, maximum_share, minimum_share, pow_base, pow_exponent };

/// "add", as errors name it; a part of a gradient bears its function's name.
const char* name(Binary function);

/// a, b of one dtype: f32, f64, or on CUDA bf16 (computed in f32, rounded once). Error when the shapes do not broadcast.
Tensor binary(Binary function, const Tensor& a, const Tensor& b);

inline Tensor add(const Tensor& a, const Tensor& b) { return binary(Binary::add, a, b); }
inline Tensor sub(const Tensor& a, const Tensor& b) { return binary(Binary::sub, a, b); }
inline Tensor mul(const Tensor& a, const Tensor& b) { return binary(Binary::mul, a, b); }
inline Tensor div(const Tensor& a, const Tensor& b) { return binary(Binary::div, a, b); }
/// A NaN of either side stays.
inline Tensor maximum(const Tensor& a, const Tensor& b) { return binary(Binary::maximum, a, b); }
inline Tensor minimum(const Tensor& a, const Tensor& b) { return binary(Binary::minimum, a, b); }
inline Tensor pow(const Tensor& a, const Tensor& b) { return binary(Binary::pow, a, b); }

/// condition u8, nonzero takes from a, zero from b; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// The gradient of a (take = true) or b (take = false) before the sum over repeated axes: dy where the condition chose it, else
/// 0.
Tensor where_backward(const Tensor& dy, const Tensor& condition, bool take);

// ---- of one number

enum class Unary {
    neg,
    exp,
    expm1,
    log,
    log1p,
    sqrt,
    rsqrt,
    square,
    abs,
    sign,
    sin,
    cos,
    tanh,
    sigmoid,
    softplus,
    erf,
    scale,
    power,
    clamp
};
constexpr auto enum_words(Unary) {
    return words_for<Unary>({{Unary::neg, "neg"},
                             {Unary::exp, "exp"},
                             {Unary::expm1, "expm1"},
                             {Unary::log, "log"},
                             {Unary::log1p, "log1p"},
                             {Unary::sqrt, "sqrt"},
                             {Unary::rsqrt, "rsqrt"},
                             {Unary::square, "square"},
                             {Unary::abs, "abs"},
                             {Unary::sign, "sign"},
                             {Unary::sin, "sin"},
                             {Unary::cos, "cos"},
                             {Unary::tanh, "tanh"},
                             {Unary::sigmoid, "sigmoid"},
                             {Unary::softplus, "softplus"},
                             {Unary::erf, "erf"},
                             {Unary::scale, "scale"},
                             {Unary::power, "power"},
                             {Unary::clamp, "clamp"}});
}

const char* name(Unary function);

/// What a function of one number takes beside it: scale's factor and power's exponent as `first`; clamp's bounds.
struct UnaryNumbers {
    double first = 1, second = 1;
};

/// x f32, f64, or on CUDA bf16, of any shape.
Tensor unary(Unary function, const Tensor& x, const UnaryNumbers& numbers = {});

/// What backward reads of a function of one number.
enum class Saves { nothing, x, y };
Saves saves(Unary function);
/// dx for dy and what saves() says of the forward pass, all of one shape.
Tensor unary_backward(Unary function, const Tensor& dy, const Tensor& saved, const UnaryNumbers& numbers = {});

inline Tensor neg(const Tensor& x) { return unary(Unary::neg, x); }
inline Tensor exp(const Tensor& x) { return unary(Unary::exp, x); }
inline Tensor log(const Tensor& x) { return unary(Unary::log, x); }
inline Tensor sqrt(const Tensor& x) { return unary(Unary::sqrt, x); }
inline Tensor tanh(const Tensor& x) { return unary(Unary::tanh, x); }
inline Tensor scale(const Tensor& x, double factor) { return unary(Unary::scale, x, {factor}); }

/// target += x in place, f32, f64, or on CUDA bf16, of one shape. The caller bumps the version: it knows the place that errors
/// should name.
void accumulate(Tensor& target, const Tensor& x);

// ---- masks

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal };
/// u8, 1 where it holds: a, b of one dtype, any but dual; they broadcast. A comparison with NaN holds for not_equal only.
Tensor compare(Comparison comparison, const Tensor& a, const Tensor& b);

enum class Logical { logical_and, logical_or, logical_xor };
constexpr auto enum_words(Logical) {
    return words_for<Logical>(
        {{Logical::logical_and, "logical_and"}, {Logical::logical_or, "logical_or"}, {Logical::logical_xor, "logical_xor"}});
}
/// u8, 0 or 1, of masks u8 (nonzero is true) that broadcast.
Tensor logical(Logical function, const Tensor& a, const Tensor& b);
/// u8: 1 where the mask u8 is 0.
Tensor logical_not(const Tensor& a);

}  // namespace heddle::kernels
