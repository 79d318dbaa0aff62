// Arithmetic with broadcasting on the tape.
#include "kernels/elementwise/elementwise.h"

#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "core/format.h"
#include "kernels/reduce/reduce.h"

namespace heddle::inline ops {
namespace {

// Hands input i its gradient: `gradient` has the result's shape and is summed over the axes along which the input was repeated.
// Without any it is passed on, without a copy if nobody else holds it.
void give_summed(Gradients& g, int i, Tensor gradient, const Shape& shape) {
    if (!g.needs(i)) return;
    if (gradient.shape() != shape) gradient = kernels::sum_to(gradient, shape);
    g.give(i, std::move(gradient));
}

}  // namespace

Variable add(const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::add(a.value(), b.value());
    return record(
        y, {.op = "add", .where = where, .inputs = {a, b}, .backward = [shape_a = a.shape(), shape_b = b.shape()](Gradients& g) {
                if (g.needs(0)) give_summed(g, 0, g.needs(1) ? g.output() : g.take_output(), shape_a);
                if (g.needs(1)) give_summed(g, 1, g.take_output(), shape_b);
            }});
}

Variable sub(const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::sub(a.value(), b.value());
    return record(
        y, {.op = "sub", .where = where, .inputs = {a, b}, .backward = [shape_a = a.shape(), shape_b = b.shape()](Gradients& g) {
                if (g.needs(1)) give_summed(g, 1, kernels::neg(g.output()), shape_b);
                if (g.needs(0)) give_summed(g, 0, g.take_output(), shape_a);
            }});
}

Variable mul(const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::mul(a.value(), b.value());
    return record(y,
                  {.op = "mul", .where = where, .inputs = {a, b}, .saved = {a.value(), b.value()}, .backward = [](Gradients& g) {
                       if (g.needs(0)) give_summed(g, 0, kernels::mul(g.output(), g.saved(1)), g.saved(0).shape());
                       if (g.needs(1)) give_summed(g, 1, kernels::mul(g.output(), g.saved(0)), g.saved(1).shape());
                   }});
}

Variable div(const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::div(a.value(), b.value());
    return record(
        y,
        {.op = "div", .where = where, .inputs = {a, b}, .saved = {b.value(), y}, .backward = [shape_a = a.shape()](Gradients& g) {
             Tensor da = kernels::div(g.output(), g.saved(0));
             if (g.needs(1)) give_summed(g, 1, kernels::neg(kernels::mul(da, g.saved(1))), g.saved(0).shape());
             give_summed(g, 0, std::move(da), shape_a);
         }});
}

namespace {

using kernels::Binary;
using kernels::Unary;

Variable of_one(Unary function, const Variable& x, Where where, const kernels::UnaryNumbers& numbers = {}) {
    Tensor y = kernels::unary(function, x.value(), numbers);
    std::vector<Tensor> saved;
    if (kernels::saves(function) == kernels::Saves::x) saved.push_back(x.value());
    if (kernels::saves(function) == kernels::Saves::y) saved.push_back(y);
    return record(y, {.op = kernels::name(function),
                      .where = where,
                      .inputs = {x},
                      .saved = std::move(saved),
                      .backward = [function, numbers](Gradients& g) {
                          const bool keeps = kernels::saves(function) != kernels::Saves::nothing;
                          g.give(0, kernels::unary_backward(function, g.output(), keeps ? g.saved(0) : Tensor(), numbers));
                      }});
}

// The larger or smaller one; `share` says how much of the gradient goes to the first.
Variable one_of_two(Binary function, Binary share, const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::binary(function, a.value(), b.value());
    return record(y, {.op = kernels::name(function),
                      .where = where,
                      .inputs = {a, b},
                      .saved = {a.value(), b.value()},
                      .backward = [share](Gradients& g) {
                          for (const int i : {0, 1}) {
                              if (!g.needs(i)) continue;
                              const Tensor part = kernels::binary(share, g.saved(i), g.saved(1 - i));
                              give_summed(g, i, kernels::mul(g.output(), part), g.saved(i).shape());
                          }
                      }});
}

Variable scalar_beside(const Variable& x, double number) { return Tensor::full({}, number, x.dtype(), x.device()); }

}  // namespace

Variable neg(const Variable& x, Where where) { return of_one(Unary::neg, x, where); }
Variable exp(const Variable& x, Where where) { return of_one(Unary::exp, x, where); }
Variable expm1(const Variable& x, Where where) { return of_one(Unary::expm1, x, where); }
Variable log(const Variable& x, Where where) { return of_one(Unary::log, x, where); }
Variable log1p(const Variable& x, Where where) { return of_one(Unary::log1p, x, where); }
Variable sqrt(const Variable& x, Where where) { return of_one(Unary::sqrt, x, where); }
Variable rsqrt(const Variable& x, Where where) { return of_one(Unary::rsqrt, x, where); }
Variable square(const Variable& x, Where where) { return of_one(Unary::square, x, where); }
Variable abs(const Variable& x, Where where) { return of_one(Unary::abs, x, where); }
Variable sign(const Variable& x, Where where) { return of_one(Unary::sign, x, where); }
Variable sin(const Variable& x, Where where) { return of_one(Unary::sin, x, where); }
Variable cos(const Variable& x, Where where) { return of_one(Unary::cos, x, where); }
Variable tanh(const Variable& x, Where where) { return of_one(Unary::tanh, x, where); }
Variable sigmoid(const Variable& x, Where where) { return of_one(Unary::sigmoid, x, where); }
Variable softplus(const Variable& x, Where where) { return of_one(Unary::softplus, x, where); }
Variable erf(const Variable& x, Where where) { return of_one(Unary::erf, x, where); }
Variable scale(const Variable& x, double factor, Where where) { return of_one(Unary::scale, x, where, {factor}); }
Variable pow(const Variable& x, double exponent, Where where) { return of_one(Unary::power, x, where, {exponent}); }

Variable clamp(const Variable& x, double low, double high, Where where) {
    check(low <= high, "clamp: the bounds are {} and {}, wanted a lower and an upper one", low, high);
    return of_one(Unary::clamp, x, where, {low, high});
}

Variable pow(const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::pow(a.value(), b.value());
    return record(y,
                  {.op = "pow", .where = where, .inputs = {a, b}, .saved = {a.value(), b.value()}, .backward = [](Gradients& g) {
                       for (const auto& [i, part] : {std::pair{0, Binary::pow_base}, std::pair{1, Binary::pow_exponent}})
                           if (g.needs(i))
                               give_summed(g, i, kernels::mul(g.output(), kernels::binary(part, g.saved(0), g.saved(1))),
                                           g.saved(i).shape());
                   }});
}

Variable maximum(const Variable& a, const Variable& b, Where where) {
    return one_of_two(Binary::maximum, Binary::maximum_share, a, b, where);
}
Variable minimum(const Variable& a, const Variable& b, Where where) {
    return one_of_two(Binary::minimum, Binary::minimum_share, a, b, where);
}

Variable pow(double a, const Variable& b, Where where) { return pow(scalar_beside(b, a), b, where); }
Variable maximum(const Variable& a, double b, Where where) { return maximum(a, scalar_beside(a, b), where); }
Variable minimum(const Variable& a, double b, Where where) { return minimum(a, scalar_beside(a, b), where); }

Variable where(const Tensor& condition, const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::where(condition, a.value(), b.value());
    return record(y, {.op = "where",
                      .where = where,
                      .inputs = {a, b},
                      .saved = {condition},
                      .backward = [shape_a = a.shape(), shape_b = b.shape()](Gradients& g) {
                          if (g.needs(0)) give_summed(g, 0, kernels::where_backward(g.output(), g.saved(0), true), shape_a);
                          if (g.needs(1)) give_summed(g, 1, kernels::where_backward(g.output(), g.saved(0), false), shape_b);
                      }});
}

Variable where(const Tensor& condition, const Variable& a, double b, Where where) {
    return ops::where(condition, a, scalar_beside(a, b), where);
}
Variable where(const Tensor& condition, double a, const Variable& b, Where where) {
    return ops::where(condition, scalar_beside(b, a), b, where);
}

Tensor logical_and(const Tensor& a, const Tensor& b) { return kernels::logical(kernels::Logical::logical_and, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return kernels::logical(kernels::Logical::logical_or, a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return kernels::logical(kernels::Logical::logical_xor, a, b); }
Tensor logical_not(const Tensor& a) { return kernels::logical_not(a); }

}  // namespace heddle::inline ops
