#include "kernels/matmul/matmul.h"

#include "autograd/ops.h"
#include "core/format.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle {
namespace {

// One call of the kernel: the leading axes are equal, or b has none.
Variable batched_matmul(const Variable& a, const Variable& b, bool transpose_a, bool transpose_b, Where where) {
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

Shape leading_axes(const Shape& shape) {
    Shape leading;
    for (int axis = 0; axis + 2 < shape.rank(); ++axis) leading.append(shape[axis]);
    return leading;
}

Variable with_leading(const Variable& x, const Shape& leading, Where where) {
    Shape shape = leading;
    shape.append(x.dim(-2));
    shape.append(x.dim(-1));
    return x.shape() == shape ? x : ops::expand(x, shape, where);
}

}  // namespace

Variable ops::matmul(const Variable& a, const Variable& b, bool transpose_a, bool transpose_b, Where where) {
    const int rank_a = a.shape().rank(), rank_b = b.shape().rank();
    check(rank_a >= 1 && rank_b >= 1,
          "matmul: a has shape {} and b {}, wanted at least one axis each; multiply by a number with *", a.shape(), b.shape());
    if (rank_a == 1 || rank_b == 1) {  // a vector, which has no transpose
        const Variable row = rank_a == 1 ? reshape(a, {1, a.dim(0)}, where) : a;
        const Variable column = rank_b == 1 ? reshape(b, {b.dim(0), 1}, where) : b;
        const Variable c = matmul(row, column, transpose_a && rank_a > 1, transpose_b && rank_b > 1, where);
        Shape shape = leading_axes(c.shape());
        if (rank_a > 1) shape.append(c.dim(-2));
        if (rank_b > 1) shape.append(c.dim(-1));
        return reshape(c, shape, where);
    }
    const Shape leading_a = leading_axes(a.shape()), leading_b = leading_axes(b.shape());
    if (rank_b == 2 || leading_a == leading_b) return batched_matmul(a, b, transpose_a, transpose_b, where);
    const Shape leading = kernels::broadcast_shape("matmul", leading_a, leading_b);
    return batched_matmul(with_leading(a, leading, where), with_leading(b, leading, where), transpose_a, transpose_b, where);
}

}  // namespace heddle
