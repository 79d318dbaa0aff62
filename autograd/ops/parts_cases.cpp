// The cases of autograd/ops/parts.cpp.
#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "core/index.h"

namespace heddle::parts_cases {
namespace {

using namespace cases;

std::vector<GradientCase> proofs() {
    const Tensor x = random_input({3, 4}, 1), source = random_input({3, 5}, 2);
    const Tensor places = Tensor::from<std::int32_t>({0, 1, 3, 3, 3, 2, 2, 0, 1, 0, 1, 1, 1, 2, 1}, {3, 5});
    return {
        {"scatter_add",
         "equal places",
         [=](auto in) { return ops::scatter_add(in[0], 1, beside(in[0], places), in[1]); },
         {x, source}},
        {"clone", "a matrix", [](auto in) { return ops::clone(in[0]); }, {x}},
        {"index",
         "a column and every other row",
         [](auto in) {
             return in[0].index({Slice(0, 3, 2), -1});
         },
         {x}},
        {"index",
         "a new axis, rows by number",
         [=](auto in) {
             return in[0].index({None, beside(in[0], Tensor::from<std::int32_t>({2, -1, 0}, {3}))});
         },
         {x}},
    };
}

std::optional<Step> draw_scatter(Draw& draw) {
    const Number x = draw.any(1, 3);
    const int axis = static_cast<int>(draw.between(0, draw.shape_of(x).rank() - 1));
    Shape shape = draw.shape_of(x);
    const std::int64_t extent = shape[axis];
    shape.set(axis, draw.between(1, 4));
    Step step{.inputs = {x, draw.of(shape)}, .options = {{"axis", axis}}};
    step.constants["indices"] = draw.indices(shape.numel(), extent).reshape(shape);
    return step;
}

std::optional<Step> draw_index(Draw& draw) {
    Step step{.inputs = {draw.any(2, 3)}};
    step.constants["indices"] = draw.indices(draw.between(1, 4), draw.shape_of(step.inputs[0])[0]);
    return step;
}

std::optional<Step> draw_any(Draw& draw) { return Step{.inputs = {draw.any(0, 3)}}; }

}  // namespace

OpCases table() {
    return {.name = "parts",
            .place = 7,
            .proofs = proofs,
            .functions = {{"scatter_add", draw_scatter,
                           [](const Step& s, Inputs in) -> Outputs {
                               return {ops::scatter_add(in[0], s.option<int>("axis"), s.constant("indices"), in[1])};
                           },
                           "return [inputs[0].scatter_add(options['axis'], constants['indices'].long(), inputs[1])]"},
                          {"index", draw_index,
                           [](const Step& s, Inputs in) -> Outputs {
                               return {in[0].index({None, s.constant("indices"), Slice(0, None, 2)})};
                           },
                           "return [inputs[0][None, constants['indices'].long()][:, :, ::2]]"},
                          {"clone", draw_any, [](const Step&, Inputs in) -> Outputs { return {ops::clone(in[0])}; },
                           "return [inputs[0].clone()]"}}};
}

}  // namespace heddle::parts_cases
