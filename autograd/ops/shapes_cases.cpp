// The cases of what autograd/ops/shapes.cpp makes of other ops' kernels.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"

namespace heddle::shapes_cases {
namespace {

using namespace cases;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Tensor x = random_input({2, 3, 4}, 1), y = random_input({2, 3, 4}, 2), column = random_input({3, 1}, 3);
    const Tensor places = Tensor::from<std::int32_t>({2, 0, 1, 1, 2, 0, 0, 0}, {2, 1, 4}),
                 repeats = Tensor::from<std::int32_t>({1, 1, 3}, {3});
    const Tensor mask = Tensor::from<std::uint8_t>({1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0}, {3, 4});
    return {
        {"gather", "another place for each element", [=](auto in) { return ops::gather(in[0], 1, beside(in[0], places)); }, {x}},
        {"index_select",
         "the last axis, repeated",
         [=](auto in) { return ops::index_select(in[0], -1, beside(in[0], repeats)); },
         {x}},
        {"index_select",
         "the first axis",
         [=](auto in) { return ops::index_select(in[0], 0, beside(in[0], repeats.slice(0, 2))); },
         {x}},
        {"transpose", "two of three axes", [](auto in) { return ops::transpose(in[0], 0, -1); }, {x}},
        {"transpose", "all axes", [](auto in) { return ops::transpose(in[0]); }, {x}},
        {"flatten", "the last two axes", [](auto in) { return ops::flatten(in[0], 1); }, {x}},
        {"squeeze", "one of two axes", [](auto in) { return ops::squeeze(in[0], -1); }, {random_input({1, 3, 1}, 4)}},
        {"squeeze", "all of them", [](auto in) { return ops::squeeze(in[0]); }, {random_input({1, 3, 1}, 4)}},
        {"unsqueeze", "between two axes", [](auto in) { return ops::unsqueeze(in[0], 1); }, {column}},
        {"stack", "a new axis in the middle", [](auto in) { return ops::stack(in, 1); }, {x, y}},
        {"stack", "a new last axis", [](auto in) { return ops::stack(in, -1); }, {x, y}},
        {"split",
         "two by two, turned round",
         [](auto in) {
             std::vector<Variable> parts = ops::split(in[0], 2, 1);
             std::reverse(parts.begin(), parts.end());
             return ops::concat(parts, 1);
         },
         {x}},
        {"split",
         "parts of their own sizes, one left out",
         [](auto in) {
             const std::vector<Variable> parts = ops::split(in[0], {1, 2, 1}, -1);
             return ops::mul(ops::sum(parts[0]), parts[1]);
         },
         {x}},
        {"chunk",
         "three parts of four, turned round",
         [](auto in) {
             std::vector<Variable> parts = ops::chunk(in[0], 3, -1);
             std::reverse(parts.begin(), parts.end());
             return ops::concat(parts, -1);
         },
         {x}},
        {"unbind",
         "the middle axis, turned round",
         [](auto in) {
             std::vector<Variable> parts = ops::unbind(in[0], 1);
             std::reverse(parts.begin(), parts.end());
             return ops::stack(parts);
         },
         {x}},
        {"expand",
         "a column to a tensor",
         [](auto in) {
             return ops::expand(in[0], {2, 3, 4});
         },
         {column}},
        {"expand",
         "nothing to repeat",
         [](auto in) {
             return ops::expand(in[0], {2, 3, 4});
         },
         {x}},
        {"repeat",
         "a new axis and two others",
         [](auto in) {
             return ops::repeat(in[0], {2, 2, 3});
         },
         {random_input({3, 2}, 5)}},
        {"repeat_interleave", "the middle axis", [](auto in) { return ops::repeat_interleave(in[0], 3, 1); }, {x}},
        {"repeat_interleave", "in one row", [](auto in) { return ops::repeat_interleave(in[0], 2); }, {column}},
        {"flip",
         "two of three axes",
         [](auto in) {
             return ops::flip(in[0], {0, -1});
         },
         {x}},
        {"flip", "the middle axis", [](auto in) { return ops::flip(in[0], 1); }, {x}},
        {"roll", "the middle axis by -1", [](auto in) { return ops::roll(in[0], -1, 1); }, {x}},
        {"roll", "in one row by 5", [](auto in) { return ops::roll(in[0], 5); }, {x}},
        {"tril", "below the diagonal", [](auto in) { return ops::tril(in[0], -1); }, {x}},
        {"triu", "the diagonal and above", [](auto in) { return ops::triu(in[0]); }, {x}},
        {"masked_fill", "a mask for each matrix", [=](auto in) { return ops::masked_fill(in[0], beside(in[0], mask), -3); }, {x}},
    };
}

// ---- random calls

// An axis of x, counted from either end.
int some_axis(Draw& draw, const Shape& shape) { return static_cast<int>(draw.between(-shape.rank(), shape.rank() - 1)); }

std::optional<Step> draw_axis(Draw& draw) {
    const Number x = draw.any(1, 4);
    return Step{.inputs = {x}, .options = {{"axis", some_axis(draw, draw.shape_of(x))}}};
}

int axis_of(const Step& step) { return step.option<int>("axis"); }

std::optional<Step> draw_gather(Draw& draw) {
    std::optional<Step> step = draw_axis(draw);
    Shape shape = draw.shape_of(step->inputs[0]);
    const std::int64_t extent = shape[axis_of(*step)];
    shape.set(axis_of(*step), draw.between(1, 4));
    step->constants["indices"] = draw.indices(shape.numel(), extent).reshape(shape);
    return step;
}

std::optional<Step> draw_select(Draw& draw) {
    std::optional<Step> step = draw_axis(draw);
    step->constants["indices"] = draw.indices(draw.between(1, 5), draw.shape_of(step->inputs[0])[axis_of(*step)]);
    return step;
}

std::optional<Step> draw_transpose(Draw& draw) {
    std::optional<Step> step = draw_axis(draw);
    step->options["other"] = some_axis(draw, draw.shape_of(step->inputs[0]));
    return step;
}

std::optional<Step> draw_flatten(Draw& draw) {
    const Number x = draw.any(1, 4);
    const int rank = draw.shape_of(x).rank();
    const std::int64_t first = draw.between(0, rank - 1);
    return Step{.inputs = {x}, .options = {{"first", first}, {"last", draw.between(first, rank - 1)}}};
}

std::optional<Step> draw_unsqueeze(Draw& draw) {
    const Number x = draw.any(0, 3);
    const int rank = draw.shape_of(x).rank();
    return Step{.inputs = {x}, .options = {{"axis", draw.between(-rank - 1, rank)}}};
}

std::optional<Step> draw_stack(Draw& draw) {
    std::optional<Step> step = draw_unsqueeze(draw);
    const Shape shape = draw.shape_of(step->inputs[0]);
    for (std::int64_t more = draw.between(0, 2); more > 0; --more) step->inputs.push_back(draw.of(shape));
    return step;
}

std::optional<Step> draw_split(Draw& draw) {
    std::optional<Step> step = draw_axis(draw);
    step->options["count"] = draw.between(1, 3);
    return step;
}

std::optional<Step> draw_expand(Draw& draw) {
    const Number x = draw.any(0, 3);
    std::vector<std::int64_t> shape;
    for (std::int64_t more = draw.between(0, 4 - draw.shape_of(x).rank()); more > 0; --more) shape.push_back(draw.between(1, 3));
    for (int axis = 0; axis < draw.shape_of(x).rank(); ++axis) {
        const std::int64_t extent = draw.shape_of(x)[axis];
        shape.push_back(extent == 1 ? draw.between(1, 3) : extent);
    }
    return Step{.inputs = {x}, .options = {{"shape", shape}}};
}

std::optional<Step> draw_repeat(Draw& draw) {
    const Number x = draw.any(0, 3);
    std::vector<std::int64_t> times;
    for (std::int64_t axes = draw.shape_of(x).rank() + draw.between(0, 1); axes > 0; --axes) times.push_back(draw.between(1, 3));
    return Step{.inputs = {x}, .options = {{"shape", times}}};
}

Shape shape_of_option(const Step& step) { return Shape(step.option<std::vector<std::int64_t>>("shape")); }

std::optional<Step> draw_flip(Draw& draw) {
    const Number x = draw.any(1, 4);
    std::vector<int> axes;
    for (int axis = 0; axis < draw.shape_of(x).rank(); ++axis)
        if (draw.chance(0.5)) axes.push_back(axis);
    return Step{.inputs = {x}, .options = {{"axes", axes}}};
}

std::optional<Step> draw_roll(Draw& draw) {
    std::optional<Step> step = draw_axis(draw);
    step->options["shift"] = draw.between(-6, 6);
    return step;
}

std::optional<Step> draw_triangle(Draw& draw) {
    return Step{.inputs = {draw.any(2, 4)}, .options = {{"diagonal", draw.between(-3, 3)}}};
}

std::optional<Step> draw_fill(Draw& draw) {
    Step step{.inputs = {draw.any(0, 3)}, .options = {{"value", draw.uniform(-2, 2)}}};
    Shape shape;
    for (int axis = 0; axis < draw.shape_of(step.inputs[0]).rank(); ++axis)
        shape.append(draw.chance(0.2) ? 1 : draw.shape_of(step.inputs[0])[axis]);
    step.constants["mask"] = draw.mask(shape, 0.4);
    return step;
}

}  // namespace

OpCases table() {
    return {
        .name = "shapes",
        .place = 7,
        .proofs = proofs,
        .functions = {
            {"gather_along", draw_gather,
             [](const Step& s, Inputs in) -> Outputs { return {ops::gather(in[0], axis_of(s), s.constant("indices"))}; },
             "return [inputs[0].gather(options['axis'], constants['indices'].long())]"},
            {"index_select", draw_select,
             [](const Step& s, Inputs in) -> Outputs { return {ops::index_select(in[0], axis_of(s), s.constant("indices"))}; },
             "return [inputs[0].index_select(options['axis'], constants['indices'])]"},
            {"transpose", draw_transpose,
             [](const Step& s, Inputs in) -> Outputs { return {ops::transpose(in[0], axis_of(s), s.option<int>("other"))}; },
             "return [inputs[0].transpose(options['axis'], options['other'])]"},
            {"flatten", draw_flatten,
             [](const Step& s, Inputs in) -> Outputs {
                 return {ops::flatten(in[0], s.option<int>("first"), s.option<int>("last"))};
             },
             "return [inputs[0].flatten(options['first'], options['last'])]"},
            {"squeeze", draw_axis, [](const Step&, Inputs in) -> Outputs { return {ops::squeeze(in[0])}; },
             "return [inputs[0].squeeze()]"},
            {"unsqueeze", draw_unsqueeze, [](const Step& s, Inputs in) -> Outputs { return {ops::unsqueeze(in[0], axis_of(s))}; },
             "return [inputs[0].unsqueeze(options['axis'])]"},
            {"stack", draw_stack, [](const Step& s, Inputs in) -> Outputs { return {ops::stack(in, axis_of(s))}; },
             "return [torch.stack(inputs, options['axis'])]"},
            {"split", draw_split,
             [](const Step& s, Inputs in) -> Outputs { return ops::split(in[0], s.option<std::int64_t>("count"), axis_of(s)); },
             "return list(inputs[0].split(options['count'], options['axis']))"},
            {"unbind", draw_axis, [](const Step& s, Inputs in) -> Outputs { return ops::unbind(in[0], axis_of(s)); },
             "return list(inputs[0].unbind(options['axis']))"},
            {"chunk", draw_split,
             [](const Step& s, Inputs in) -> Outputs { return ops::chunk(in[0], s.option<std::int64_t>("count"), axis_of(s)); },
             "return list(inputs[0].chunk(options['count'], options['axis']))"},
            {"expand", draw_expand, [](const Step& s, Inputs in) -> Outputs { return {ops::expand(in[0], shape_of_option(s))}; },
             "return [inputs[0].expand(options['shape'])]"},
            {"repeat", draw_repeat, [](const Step& s, Inputs in) -> Outputs { return {ops::repeat(in[0], shape_of_option(s))}; },
             "return [inputs[0].repeat(options['shape'])]"},
            {"repeat_interleave", draw_split,
             [](const Step& s, Inputs in) -> Outputs {
                 return {ops::repeat_interleave(in[0], s.option<std::int64_t>("count"), axis_of(s))};
             },
             "return [inputs[0].repeat_interleave(options['count'], options['axis'])]"},
            {"flip", draw_flip,
             [](const Step& s, Inputs in) -> Outputs { return {ops::flip(in[0], Axes(s.option<std::vector<int>>("axes")))}; },
             "return [inputs[0].flip(options['axes'])]"},
            {"roll", draw_roll,
             [](const Step& s, Inputs in) -> Outputs { return {ops::roll(in[0], s.option<std::int64_t>("shift"), axis_of(s))}; },
             "return [inputs[0].roll(options['shift'], options['axis'])]"},
            {"tril", draw_triangle,
             [](const Step& s, Inputs in) -> Outputs { return {ops::tril(in[0], s.option<std::int64_t>("diagonal"))}; },
             "return [inputs[0].tril(options['diagonal'])]"},
            {"triu", draw_triangle,
             [](const Step& s, Inputs in) -> Outputs { return {ops::triu(in[0], s.option<std::int64_t>("diagonal"))}; },
             "return [inputs[0].triu(options['diagonal'])]"},
            {"masked_fill", draw_fill,
             [](const Step& s, Inputs in) -> Outputs {
                 return {ops::masked_fill(in[0], s.constant("mask"), s.option<double>("value"))};
             },
             "return [inputs[0].masked_fill(constants['mask'].bool(), options['value'])]"}}};
}

}  // namespace heddle::shapes_cases
