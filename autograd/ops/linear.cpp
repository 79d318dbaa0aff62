#include "kernels/linear/linear.h"

#include "autograd/ops.h"

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
                          if (g.needs(2)) kernels::BiasSums::add(dy, g.accumulate_into(2));
                      }});
}

}  // namespace heddle
