// Arithmetic with broadcasting on the tape.
#include "kernels/elementwise/elementwise.h"

#include <fmt/format.h>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"
#include "kernels/reduce/reduce.h"

namespace heddle::ops {
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

}  // namespace heddle::ops

namespace heddle::proofs {
namespace {

using Binary = Variable (*)(const Variable&, const Variable&, Where);
using Unary = Variable (*)(const Variable&, Where);

GradientCase binary(const char* op, Binary function, const char* what, const Tensor& a, const Tensor& b) {
    return {op, what, [function](auto in) { return function(in[0], in[1], Where::current()); }, {a, b}};
}

GradientCase unary(const char* op, Unary function, const Tensor& x) {
    return {op, "a matrix", [function](auto in) { return function(in[0], Where::current()); }, {x}};
}

// Between 0.5 and some 3, for logarithms, roots and divisors.
Tensor positive(const Shape& shape, std::uint64_t seed) {
    Tensor x = random_input(shape, seed);
    for (double& value : x.mutable_values<double>()) value = 0.5 + value * value / 2;
    return x;
}

Tensor condition(const Shape& shape) {
    Tensor choice = Tensor::zeros(shape, DType::u8);
    for (std::int64_t i = 0; i < choice.numel(); i += 1 + i % 3) choice.mutable_data<std::uint8_t>()[i] = 1;
    return choice;
}

GradientFunction choose(const Tensor& choice) {
    return [choice](auto in) { return ops::where(beside(in[0], choice), in[0], in[1]); };
}

}  // namespace

std::vector<GradientCase> elementwise() {
    const Tensor a = random_input({2, 3, 4}, 1), same = random_input({2, 3, 4}, 2), row = random_input({4}, 3);
    const Tensor column = random_input({3, 1}, 4), scalar = random_input({}, 5);
    return {
        binary("add", ops::add, "one shape", a, same),
        binary("add", ops::add, "a row to each row", a, row),
        binary("add", ops::add, "a column and a row", column, row),
        binary("sub", ops::sub, "one shape", a, same),
        binary("sub", ops::sub, "a row minus a tensor", row, a),
        binary("mul", ops::mul, "one shape", a, same),
        binary("mul", ops::mul, "a column", a, column),
        binary("mul", ops::mul, "a scalar", scalar, a),
        binary("div", ops::div, "one shape", a, positive({2, 3, 4}, 6)),
        binary("div", ops::div, "by a row", a, positive({4}, 7)),
        binary("div", ops::div, "a row by a column", row, positive({3, 1}, 8)),
        unary("neg", ops::neg, random_input({3, 5}, 9)),
        unary("exp", ops::exp, random_input({3, 5}, 10)),
        unary("log", ops::log, positive({3, 5}, 11)),
        unary("sqrt", ops::sqrt, positive({3, 5}, 12)),
        unary("tanh", ops::tanh, random_input({3, 5}, 13)),
        {"where", "one shape", choose(condition({2, 3, 4})), {a, same}},
        {"where", "all three broadcast", choose(condition({4, 1, 1})), {column, row}},
        {"scale", "by -2.5", [](auto in) { return ops::scale(in[0], -2.5); }, {random_input({3, 5}, 14)}},
        {"mul", "a tensor with itself", [](auto in) { return ops::mul(in[0], in[0]); }, {random_input({3, 5}, 15)}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> elementwise(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "add", "", 3, 2, [](const RowInputs& in) { return ops::add(fresh(in.x), fresh(in.y)); }),
            row_case(on, rows, cols, "add", fmt::format(" + [{}]", cols), 2, 1,
                     [](const RowInputs& in) { return ops::add(fresh(in.x), in.gamma); }),
            row_case(on, rows, cols, "mul", "", 3, 5, [](const RowInputs& in) { return ops::mul(fresh(in.x), fresh(in.y)); }),
            row_case(on, rows, cols, "exp", "", 2, 3, [](const RowInputs& in) { return ops::exp(fresh(in.x)); }),
            row_case(on, rows, cols, "scale", "", 2, 2, [](const RowInputs& in) { return ops::scale(fresh(in.x), 2); })};
}

}  // namespace heddle::benches
