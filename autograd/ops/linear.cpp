#include "kernels/linear/linear.h"

#include <fmt/format.h>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle {

Variable ops::linear(const Variable& x, const Variable& weight, const Variable& bias, Where where) {
    Tensor y = kernels::linear_forward(x.value(), weight.value(), bias.defined() ? bias.value() : Tensor());
    return record(y, {.op = "linear",
                      .where = where,
                      .inputs = {x, weight, bias},
                      .multiply_adds = x.rows() * weight.value().numel(),
                      .saved = {x.value(), weight.value()},
                      .backward = [](Gradients& g) {
                          const Tensor dy = g.output();
                          if (g.needs(0)) g.give(0, kernels::linear_backward_x(dy, g.saved(1)));
                          if (g.needs(1)) {
                              Tensor dweight = g.accumulate_into(1);
                              kernels::linear_backward_weight(dy, g.saved(0), dweight);
                          }
                          if (g.needs(2)) g.biases().add(dy, g.accumulate_into(2));
                      }});
}

std::vector<GradientCase> proofs::linear() {
    const auto with_bias = [](auto in) { return ops::linear(in[0], in[1], in[2]); };
    const auto without = [](auto in) { return ops::linear(in[0], in[1]); };
    return {
        {"linear", "with bias", with_bias, {random_input({5, 3}, 1), random_input({4, 3}, 2), random_input({4}, 3)}},
        {"linear", "without bias", without, {random_input({5, 3}, 1), random_input({4, 3}, 2)}},
        {"linear", "one row", with_bias, {random_input({1, 3}, 1), random_input({4, 3}, 2), random_input({4}, 3)}},
        {"linear", "wider than a panel", with_bias, {random_input({3, 2}, 1), random_input({37, 2}, 2), random_input({37}, 3)}}};
}

}  // namespace heddle

namespace heddle::benches {

OpCase linear(const Setting& on, std::int64_t rows, std::int64_t in, std::int64_t out) {
    const auto operations = 2.0 * static_cast<double>(rows) * static_cast<double>(in * out);
    const auto traffic = on.bytes(static_cast<double>(rows * in + in * out + rows * out));
    return {.op = "linear",
            .what = fmt::format("[{}, {}] x [{}, {}]^T", rows, in, out, in),
            .prepare = [=]() -> Run {
                const Variable x = leaf({rows, in}, on), weight = leaf({out, in}, on), bias = leaf({out}, on);
                return [=] { return ops::linear(fresh(x), weight, bias); };
            },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .formula = "2 rows in out forward, twice that backward",
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

}  // namespace heddle::benches
