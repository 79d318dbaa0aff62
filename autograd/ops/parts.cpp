// Other types, other devices, copies, and the places of what is not 0.
#include <vector>

#include "autograd/ops.h"
#include "core/check.h"
#include "core/format.h"
#include "kernels/cast/cast.h"
#include "kernels/gather/gather.h"

namespace heddle::inline ops {

Variable scatter_add(const Variable& x, int axis, const Tensor& indices, const Variable& source, Where where) {
    check(indices.shape() == source.shape(), "scatter_add: indices {} and source {}, wanted one shape", indices.shape(),
          source.shape());
    // The flat places in x, of which gather also checks the indices.
    const Tensor places =
        Tensor::arange(x.numel()).reshape(x.shape()).to(x.device()).gather(axis, indices).reshape({source.numel()});
    Tensor y = x.value().clone(), rows = y.reshape({x.numel(), 1});
    kernels::gather_backward(source.value().reshape({source.numel(), 1}), places, rows);
    return record(y, {.op = "scatter_add",
                      .where = where,
                      .inputs = {x, source},
                      .saved = {places},
                      .backward = [shape = source.shape()](Gradients& g) {
                          const Tensor dy = g.output();
                          if (g.needs(1))
                              g.give(1, kernels::gather_forward(dy.reshape({dy.numel(), 1}), g.saved(0)).reshape(shape));
                          g.give(0, dy);
                      }});
}

Tensor nonzero(const Tensor& x) {
    const std::vector<double> values = x.to_vector();
    std::vector<std::int32_t> all;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == 0) continue;
        auto rest = static_cast<std::int64_t>(i);
        const std::size_t begin = all.size();
        all.resize(begin + static_cast<std::size_t>(x.rank()));
        for (int axis = x.rank() - 1; axis >= 0; --axis) {
            all[begin + static_cast<std::size_t>(axis)] = static_cast<std::int32_t>(rest % x.dim(axis));
            rest /= x.dim(axis);
        }
    }
    const std::int64_t rank = x.rank();
    return Tensor::from(all, {rank == 0 ? 0 : static_cast<std::int64_t>(all.size()) / rank, rank}).to(x.device());
}

Variable to(const Variable& x, DType dtype, Where where) {
    if (x.dtype() == dtype) return x;
    Tensor y = kernels::cast(x.value(), dtype);
    if (dtype == DType::i32 || dtype == DType::u8) return y;
    return record(y, {.op = "to", .where = where, .inputs = {x}, .backward = [before = x.dtype()](Gradients& g) {
                          g.give(0, kernels::cast(g.output(), before));
                      }});
}

Variable to(const Variable& x, Device device, Where where) {
    if (x.device() == device) return x;
    return record(x.value().to(device),
                  {.op = "to", .where = where, .inputs = {x}, .backward = [before = x.device()](Gradients& g) {
                       g.give(0, g.output().to(before));
                   }});
}

Variable clone(const Variable& x, Where where) {
    return record(x.value().clone(),
                  {.op = "clone", .where = where, .inputs = {x}, .backward = [](Gradients& g) { g.give(0, g.take_output()); }});
}

}  // namespace heddle::inline ops
