#include "kernels/matmul/matmul.h"

#include "autograd/ops.h"

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

}  // namespace heddle
