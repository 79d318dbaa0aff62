#include "kernels/matmul/matmul.h"

#include <fmt/format.h>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle {

Variable ops::matmul(const Variable& a, const Variable& b, bool transpose_a, bool transpose_b, Where where) {
    Tensor c = kernels::matmul_forward(a.value(), b.value(), transpose_a, transpose_b);
    return record(c, {.op = "matmul",
                      .where = where,
                      .inputs = {a, b},
                      .multiply_adds = c.numel() * a.dim(transpose_a ? -2 : -1),
                      .saved = {a.value(), b.value()},
                      .backward = [=](Gradients& g) {
                          const Tensor dc = g.output();
                          if (g.needs(0))
                              g.give(0, kernels::matmul_backward_a(dc, g.saved(0), g.saved(1), transpose_a, transpose_b));
                          if (!g.needs(1)) return;
                          Tensor db = g.accumulate_into(1);
                          kernels::matmul_backward_b(dc, g.saved(0), g.saved(1), transpose_a, transpose_b, db);
                      }});
}

std::vector<GradientCase> proofs::matmul() {
    std::vector<GradientCase> cases;
    const auto add = [&](const char* what, const Shape& a, const Shape& b, bool ta, bool tb) {
        cases.push_back({"matmul",
                         what,
                         [=](auto in) { return ops::matmul(in[0], in[1], ta, tb); },
                         {random_input(a, 1), random_input(b, 2)}});
    };
    add("plain", {3, 4}, {4, 5}, false, false);
    add("a transposed", {4, 3}, {4, 5}, true, false);
    add("b transposed", {3, 4}, {5, 4}, false, true);
    add("both transposed", {4, 3}, {5, 4}, true, true);
    add("batched", {2, 3, 4}, {2, 4, 5}, false, false);
    add("batched, both transposed", {2, 4, 3}, {2, 5, 4}, true, true);
    add("one b for the whole batch", {2, 3, 4}, {4, 5}, false, false);
    add("one b for the whole batch, transposed", {2, 3, 4}, {5, 4}, false, true);
    return cases;
}

}  // namespace heddle

namespace heddle::benches {

OpCase matmul(const Setting& on, std::int64_t sentences, std::int64_t length, std::int64_t d_model) {
    const auto operations = static_cast<double>(2 * sentences * length * length * d_model);
    const auto traffic = on.bytes(static_cast<double>(2 * sentences * length * d_model + sentences * length * length));
    return {.op = "matmul",
            .what = fmt::format("{} x [{}, {}] x [{}, {}]^T", sentences, length, d_model, length, d_model),
            .prepare = [=]() -> Run {
                const Variable a = leaf({sentences, length, d_model}, on), b = leaf({sentences, length, d_model}, on);
                return [=] { return ops::matmul(fresh(a), fresh(b), false, true); };
            },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .formula = "2 batch m n k forward, twice that backward",
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

}  // namespace heddle::benches
