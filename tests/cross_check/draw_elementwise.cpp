// Configurations of the elementwise ops, reductions, activations, dropout, and of the ops that normalise rows.
#include "tests/cross_check/draw.h"

namespace heddle::cross_check {
namespace {

// A shape that broadcasts to this one: some extents become 1, some leading axes are left out.
Shape broadcast_part(Draw& draw, const Shape& whole) {
    const int first = draw.chance(0.3) ? static_cast<int>(draw.between(0, whole.rank())) : 0;
    Shape part;
    for (int axis = first; axis < whole.rank(); ++axis) part.append(draw.chance(0.25) ? 1 : whole[axis]);
    return part;
}

std::optional<Step> binary(Draw& draw) {
    const Number a = draw.any(0, 3);
    const Number b = draw.chance(0.15) ? a : draw.of(broadcast_part(draw, draw.shape_of(a)));
    return Step{.inputs = draw.chance(0.5) ? std::vector{a, b} : std::vector{b, a}};
}

std::optional<Step> quotient(Draw& draw) {
    const Number a = draw.any(0, 3);
    return Step{.inputs = {a, draw.positive(broadcast_part(draw, draw.shape_of(a)))}};
}

std::optional<Step> unary(Draw& draw) { return Step{.inputs = {draw.any(0, 3)}}; }

std::optional<Step> of_positive(Draw& draw) {
    const Shape shape = draw.alone() ? draw.shape(static_cast<int>(draw.between(0, 3))) : draw.shape_of(draw.any(0, 3));
    return Step{.inputs = {draw.positive(shape)}};
}

std::optional<Step> gelu(Draw& draw) { return Step{.inputs = {draw.any(0, 3)}, .options = {{"tanh_form", draw.chance(0.5)}}}; }

std::optional<Step> scale(Draw& draw) { return Step{.inputs = {draw.any(0, 3)}, .options = {{"factor", draw.uniform(-2, 2)}}}; }

std::optional<Step> where(Draw& draw) {
    const Number a = draw.any(0, 3);
    const Shape shape = draw.shape_of(a);
    const Number b = draw.of(broadcast_part(draw, shape));
    return Step{.inputs = draw.chance(0.5) ? std::vector{a, b} : std::vector{b, a},
                .constants = {{"condition", draw.mask(broadcast_part(draw, shape), 0.5)}}};
}

std::optional<Step> reduce(Draw& draw) {
    const Number x = draw.any(1, 3);
    const int rank = draw.shape_of(x).rank();
    return Step{.inputs = {x}, .options = {{"axis", draw.between(-rank, rank - 1)}, {"keep", draw.chance(0.5)}}};
}

std::optional<Step> sum(Draw& draw) { return draw.chance(0.25) ? Step{.inputs = {draw.any(0, 3)}} : reduce(draw); }

std::optional<Step> dropout(Draw& draw) {
    Step step{.inputs = {draw.any(1, 3)}};
    draw.dropout(step, draw.shape_of(step.inputs[0]).rows(), draw.shape_of(step.inputs[0]).cols());
    return step;
}

std::optional<Step> residual(Draw& draw) {
    const Number x = draw.any(2, 2);
    Step step{.inputs = {x, draw.chance(0.2) ? x : draw.of(draw.shape_of(x))}};
    if (draw.chance(0.5)) draw.dropout(step, draw.shape_of(x).rows(), draw.shape_of(x).cols());
    return step;
}

std::optional<Step> softmax(Draw& draw) {
    Step step{.inputs = {draw.any(1, 3)}};
    const Shape shape = draw.shape_of(step.inputs[0]);
    if (draw.chance(0.5)) step.options["scale"] = draw.uniform(-1.5, 1.5);
    if (draw.chance(0.4)) {  // of the last axes, one or more
        Shape last;
        for (int axis = static_cast<int>(draw.between(0, shape.rank() - 1)); axis < shape.rank(); ++axis)
            last.append(shape[axis]);
        step.inputs.push_back(draw.of(last));
    }
    if (draw.chance(0.5) && shape.rank() >= 2) {
        const bool whole = shape.rank() == 2 || draw.chance(0.5);
        step.constants["mask"] = draw.mask(whole ? shape : Shape{shape[-2], shape[-1]}, 0.7);
    }
    if (draw.chance(0.3) && shape.rank() >= 2) {
        step.constants["lengths"] = draw.indices(shape[0], shape[-1] + 1);
    }
    if (shape.rank() >= 2) step.options["causal"] = draw.chance(0.3);
    return step;
}

std::optional<Step> layer_norm(Draw& draw) {
    Step step{.inputs = draw.with_row(draw.any(1, 3))};
    step.inputs.push_back(draw.of(draw.shape_of(step.inputs[1])));
    step.options["eps"] = draw.chance(0.5) ? 1e-5 : draw.uniform(0.01, 1);
    return step;
}

std::optional<Step> residual_layer_norm(Draw& draw) {
    const Number x = draw.any(2, 2);
    const Shape shape = draw.shape_of(x);
    const Number sublayer = draw.of(shape), gamma = draw.of({shape.cols()});
    Step step{.inputs = {x, sublayer, gamma, draw.of({shape.cols()})},
              .options = {{"eps", draw.chance(0.5) ? 1e-5 : draw.uniform(0.01, 1)}}};
    if (draw.chance(0.5)) draw.dropout(step, shape.rows(), shape.cols());
    return step;
}

}  // namespace

std::map<std::string, DrawOp> drawn_elementwise() {
    return {
        {"add", binary},
        {"sub", binary},
        {"mul", binary},
        {"div", quotient},
        {"neg", unary},
        {"exp", unary},
        {"log", of_positive},
        {"sqrt", of_positive},
        {"tanh", unary},
        {"relu", unary},
        {"gelu", gelu},
        {"scale", scale},
        {"where", where},
        {"sum", sum},
        {"mean", reduce},
        {"max", reduce},
        {"dropout", dropout},
        {"residual", residual},
        {"softmax", softmax},
        {"log_softmax", [](Draw& draw) { return std::optional(Step{.inputs = {draw.any(1, 3)}}); }},
        {"layer_norm", layer_norm},
        {"residual_layer_norm", residual_layer_norm},
    };
}

}  // namespace heddle::cross_check
