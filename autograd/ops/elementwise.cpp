// Arithmetic with broadcasting on the tape.
#include "kernels/elementwise/elementwise.h"

#include "autograd/ops.h"
#include "kernels/reduce/reduce.h"

namespace heddle::inline ops {
namespace {

// Hands input i its gradient: `gradient` has the result's shape and is summed over the axes along which the input was repeated.
void give_summed(Gradients& g, int i, const Tensor& gradient, const Shape& shape) {
    if (g.needs(i)) g.give(i, kernels::sum_to(gradient, shape));
}

}  // namespace

Variable add(const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::add(a.value(), b.value());
    return record(
        y, {.op = "add", .where = where, .inputs = {a, b}, .backward = [shape_a = a.shape(), shape_b = b.shape()](Gradients& g) {
                give_summed(g, 0, g.output(), shape_a);
                give_summed(g, 1, g.output(), shape_b);
            }});
}

Variable sub(const Variable& a, const Variable& b, Where where) {
    Tensor y = kernels::sub(a.value(), b.value());
    return record(
        y, {.op = "sub", .where = where, .inputs = {a, b}, .backward = [shape_a = a.shape(), shape_b = b.shape()](Gradients& g) {
                give_summed(g, 0, g.output(), shape_a);
                if (g.needs(1)) give_summed(g, 1, kernels::neg(g.output()), shape_b);
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
             const Tensor da = kernels::div(g.output(), g.saved(0));
             give_summed(g, 0, da, shape_a);
             if (g.needs(1)) give_summed(g, 1, kernels::neg(kernels::mul(da, g.saved(1))), g.saved(0).shape());
         }});
}

Variable neg(const Variable& x, Where where) {
    Tensor y = kernels::neg(x.value());
    return record(
        y, {.op = "neg", .where = where, .inputs = {x}, .backward = [](Gradients& g) { g.give(0, kernels::neg(g.output())); }});
}

Variable exp(const Variable& x, Where where) {
    Tensor y = kernels::exp(x.value());
    return record(y, {.op = "exp", .where = where, .inputs = {x}, .saved = {y}, .backward = [](Gradients& g) {
                          g.give(0, kernels::exp_backward(g.output(), g.saved(0)));
                      }});
}

Variable log(const Variable& x, Where where) {
    Tensor y = kernels::log(x.value());
    return record(y, {.op = "log", .where = where, .inputs = {x}, .saved = {x.value()}, .backward = [](Gradients& g) {
                          g.give(0, kernels::log_backward(g.output(), g.saved(0)));
                      }});
}

Variable sqrt(const Variable& x, Where where) {
    Tensor y = kernels::sqrt(x.value());
    return record(y, {.op = "sqrt", .where = where, .inputs = {x}, .saved = {y}, .backward = [](Gradients& g) {
                          g.give(0, kernels::sqrt_backward(g.output(), g.saved(0)));
                      }});
}

Variable tanh(const Variable& x, Where where) {
    Tensor y = kernels::tanh(x.value());
    return record(y, {.op = "tanh", .where = where, .inputs = {x}, .saved = {y}, .backward = [](Gradients& g) {
                          g.give(0, kernels::tanh_backward(g.output(), g.saved(0)));
                      }});
}

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

Variable scale(const Variable& x, double factor, Where where) {
    Tensor y = kernels::scale(x.value(), factor);
    return record(y, {.op = "scale", .where = where, .inputs = {x}, .backward = [factor](Gradients& g) {
                          g.give(0, kernels::scale(g.output(), factor));
                      }});
}

}  // namespace heddle::inline ops
