// Ops that only move elements, on the tape.
#include "autograd/ops.h"
#include "autograd/proofs.h"
#include "kernels/concat/concat.h"
#include "kernels/gather/gather.h"
#include "kernels/permute/permute.h"
#include "kernels/slice/slice.h"

namespace heddle::ops {

Variable reshape(const Variable& x, const Shape& shape, Where where) {
    Tensor y = x.value().reshape(shape);
    return record(y, {.op = "reshape", .where = where, .inputs = {x}, .backward = [shape = x.shape()](Gradients& g) {
                          // In two steps, so that the gradient's storage has one owner and is passed on without a copy.
                          Tensor gradient = g.take_output();
                          gradient = gradient.reshape(shape);
                          g.give(0, std::move(gradient));
                      }});
}

Variable permute(const Variable& x, std::span<const int> axes, Where where) {
    Tensor y = kernels::permute_forward(x.value(), axes);
    return record(y, {.op = "permute",
                      .where = where,
                      .inputs = {x},
                      .backward = [order = std::vector<int>(axes.begin(), axes.end())](Gradients& g) {
                          g.give(0, kernels::permute_backward(g.output(), order));
                      }});
}

Variable slice(const Variable& x, int axis, std::int64_t begin, std::int64_t end, Where where) {
    Tensor y = kernels::slice_forward(x.value(), axis, begin, end);
    return record(y, {.op = "slice", .where = where, .inputs = {x}, .backward = [axis, begin](Gradients& g) {
                          Tensor dx = g.accumulate_into(0);
                          kernels::slice_backward(g.output(), axis, begin, dx);
                      }});
}

Variable concat(std::span<const Variable> parts, int axis, Where where) {
    std::vector<Tensor> values;
    std::vector<std::int64_t> extents;
    for (const Variable& part : parts) values.push_back(part.value());
    Tensor y = kernels::concat_forward(values, axis);
    for (const Variable& part : parts) extents.push_back(part.dim(axis));
    return record(y, {.op = "concat",
                      .where = where,
                      .inputs = std::vector<Variable>(parts.begin(), parts.end()),
                      .backward = [axis, extents](Gradients& g) {
                          std::int64_t begin = 0;
                          for (std::size_t i = 0; i < extents.size(); ++i) {
                              const int input = static_cast<int>(i);
                              if (g.needs(input)) g.give(input, kernels::concat_backward(g.output(), axis, begin, extents[i]));
                              begin += extents[i];
                          }
                      }});
}

Variable gather(const Variable& x, const Tensor& indices, Where where) {
    Tensor y = kernels::gather_forward(x.value(), indices);
    return record(y, {.op = "gather", .where = where, .inputs = {x}, .saved = {indices}, .backward = [](Gradients& g) {
                          Tensor dx = g.accumulate_into(0);
                          kernels::gather_backward(g.output(), g.saved(0), dx);
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> shape_ops() {
    const Tensor x = random_input({2, 3, 4}, 1), y = random_input({2, 2, 4}, 2), z = random_input({2, 1, 4}, 3);
    const auto turn = [](std::vector<int> axes) -> GradientFunction {
        return [axes](auto in) { return ops::permute(in[0], axes); };
    };
    const auto cut = [](int axis, std::int64_t begin, std::int64_t end) -> GradientFunction {
        return [=](auto in) { return ops::slice(in[0], axis, begin, end); };
    };
    const auto join = [](int axis) -> GradientFunction { return [axis](auto in) { return ops::concat(in, axis); }; };
    const Tensor indices = Tensor::from(std::vector<std::int32_t>{1, 0, 1, 1}, {4});
    return {
        {"reshape",
         "three axes to two",
         [](auto in) {
             return ops::reshape(in[0], {4, 6});
         },
         {x}},
        {"permute", "three axes turned round", turn({2, 0, 1}), {x}},
        {"permute", "the last axis stays", turn({1, 0, -1}), {x}},
        {"slice", "the middle axis", cut(1, 1, 3), {x}},
        {"slice", "the last axis", cut(-1, 0, 2), {x}},
        {"slice",
         "two that overlap",
         [](auto in) { return ops::add(ops::slice(in[0], 0, 0, 1), ops::slice(in[0], 0, 0, 2)); },
         {x}},
        {"concat", "the middle axis, three parts", join(1), {x, y, z}},
        {"concat", "the first axis", join(0), {x, x}},
        {"gather", "repeated rows", [indices](auto in) { return ops::gather(in[0], beside(in[0], indices)); }, {x}},
    };
}

}  // namespace heddle::proofs
