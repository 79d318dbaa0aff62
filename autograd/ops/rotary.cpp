#include "kernels/rotary/rotary.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable rotary(const Variable& x, const Spans& spans, std::int64_t head_dim, std::int64_t columns, const RotaryOptions& options,
                Where where) {
    const kernels::RotaryPlan plan = {.head_dim = head_dim,
                                      .columns = columns,
                                      .base = options.base,
                                      .first_position = options.first_position,
                                      .inverse = options.inverse};
    const bool by_row = options.positions.defined();
    return record(kernels::rotary(x.value(), spans, options.positions, plan),
                  {.op = "rotary",
                   .where = where,
                   .inputs = {x},
                   .saved = by_row ? std::vector{options.positions} : std::vector<Tensor>(),
                   .backward = [spans, plan, by_row](Gradients& g) {
                       kernels::RotaryPlan back = plan;
                       back.inverse = !plan.inverse;
                       g.give(0, kernels::rotary(g.output(), spans, by_row ? g.saved(0) : Tensor(), back));
                   }});
}

}  // namespace heddle::inline ops
