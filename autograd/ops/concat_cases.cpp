// The cases of concat.
#include <array>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/concat/concat.h"

namespace heddle::concat_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Tensor x = random_input({2, 3, 4}, 1), y = random_input({2, 2, 4}, 2), z = random_input({2, 1, 4}, 3);
    const auto join = [](int axis) -> GradientFunction { return [axis](auto in) { return ops::concat(in, axis); }; };
    return {
        {"concat", "the middle axis, three parts", join(1), {x, y, z}},
        {"concat", "the first axis", join(0), {x, x}},
    };
}

// ---- calls of the kernels

const Shape kShapes[] = {{40}, {3, 16}, {4, 33, 5}, {2, 3, 32}};

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const Shape& shape : kShapes)
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (const Tensor& x : of_every_type(shape)) {
                Shape other = shape;
                other.set(axis, 3);
                const Tensor more = Tensor::full(other, 7, DType::f64).to(x.dtype());
                const std::int64_t extent = shape[axis];
                cases.push_back(
                    moving(shape.str() + " axis " + std::to_string(axis), {x, more}, [axis, extent](const Tensors& in) {
                        const Tensor joined = concat_forward(std::vector{in[0], in[1], in[0]}, axis);
                        const std::vector<Tensor> many(11, in[1]);  // more than one launch takes
                        return Tensors{joined, concat_forward(many, axis), concat_backward(joined, axis, extent, 3)};
                    }));
            }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    Step step{.inputs = {draw.any(1, 3)}};
    const int rank = draw.shape_of(step.inputs[0]).rank();
    const auto axis = static_cast<int>(draw.between(-rank, rank - 1));
    for (std::int64_t more = draw.between(0, 2); more > 0; --more) {
        Shape part = draw.shape_of(step.inputs[0]);
        part.set(axis < 0 ? axis + rank : axis, draw.between(1, 3));
        step.inputs.push_back(draw.chance(0.3) ? step.inputs[0] : draw.of(part));
    }
    step.options["axis"] = axis;
    return step;
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    return {row_case(on, "concat", " twice", 4, 4, [](const RowInputs& in) {
        return ops::concat(std::array{fresh(in.x), fresh(in.y)}, 1);
    })};
}

// ---- what is explained

void explain_concat(Session& s, Extents d) {
    const std::vector<Tensor> parts = {s.input("a", randn(d, 1)), s.input("b", randn(d, 2))};
    traced(s, "y", [&] { return concat_forward(parts, 1); });
}

}  // namespace

OpCases table() {
    return {.name = "concat",
            .place = 6,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"concat", draw,
                           [](const Step& s, Inputs in) -> Outputs { return {ops::concat(in, s.option<int>("axis"))}; },
                           "return [torch.cat(inputs, options['axis'])]"}},
            .benches = {{.cases = bench, .place = 210}},
            .example_place = 9,
            .examples = {{"concat", "two tensors side by side", "rows, cols", {4, 64}, explain_concat}}};
}

}  // namespace heddle::concat_cases
