// The cases of slice.
#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/slice/slice.h"

namespace heddle::slice_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Tensor x = random_input({2, 3, 4}, 1);
    const auto cut = [](int axis, std::int64_t begin, std::int64_t end) -> GradientFunction {
        return [=](auto in) { return ops::slice(in[0], axis, begin, end); };
    };
    return {
        {"slice", "the middle axis", cut(1, 1, 3), {x}},
        {"slice", "the last axis", cut(-1, 0, 2), {x}},
        {"slice",
         "two that overlap",
         [](auto in) { return ops::add(ops::slice(in[0], 0, 0, 1), ops::slice(in[0], 0, 0, 2)); },
         {x}},
    };
}

// ---- calls of the kernels

const Shape kShapes[] = {{40}, {3, 16}, {4, 33, 5}, {2, 3, 32}};

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const Shape& shape : kShapes)
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::string what = shape.str() + " axis " + std::to_string(axis);
            const std::int64_t all = shape[axis];
            for (const Tensor& x : of_every_type(shape))
                for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, all}, {1, 2}, {all / 2, all}})
                    cases.push_back(moving(what + " from " + std::to_string(begin),
                                           {x, Tensor::full(shape, 3, DType::f64).to(x.dtype())},
                                           [axis, begin = begin, end = end](const Tensors& in) {
                                               const Tensor part = slice_forward(in[0], axis, begin, end);
                                               Tensor whole = in[1];
                                               place_slice(part, axis, begin, whole);
                                               return Tensors{part, whole};
                                           }));
            for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1}, all / 2}) {
                Shape part = shape;
                part.set(axis, (all - begin) / 2);
                cases.push_back({.what = what + ", backward",
                                 .inputs = {numbers(part, 2), numbers(shape, 1)},
                                 .run = [axis, begin](const Tensors& in) {
                                     Tensor dx = in[1];
                                     slice_backward(in[0], axis, begin, dx);
                                     return Tensors{dx};
                                 }});
            }
        }
    cases.push_back(moving("many rows", {numbers({130, 70, 9}, 1)},
                           [](const Tensors& in) { return Tensors{slice_forward(in[0], 1, 3, 50)}; }));
    cases.back().runs = RunsOn::on_the_cpu;
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(1, 4);
    const int rank = draw.shape_of(x).rank();
    const auto axis = static_cast<int>(draw.between(-rank, rank - 1));
    const std::int64_t begin = draw.between(0, draw.shape_of(x)[axis] - 1);
    return Step{.inputs = {x},
                .options = {{"axis", axis}, {"begin", begin}, {"end", draw.between(begin + 1, draw.shape_of(x)[axis])}}};
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t cols = on.d_model;
    return {row_case(on, "slice", " half of the columns", 1, 1.5,
                     [=](const RowInputs& in) { return ops::slice(fresh(in.x), 1, 0, cols / 2); })};
}

// ---- what is explained

void explain_slice(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1));
    traced(s, "y", [&] { return slice_forward(x, 1, d[1] / 4, d[1]); });
}

}  // namespace

OpCases table() {
    return {.name = "slice",
            .place = 5,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"slice", draw,
                           [](const Step& s, Inputs in) -> Outputs {
                               return {ops::slice(in[0], s.option<int>("axis"), s.option<std::int64_t>("begin"),
                                                  s.option<std::int64_t>("end"))};
                           },
                           "return [inputs[0].narrow(options['axis'], options['begin'], options['end'] - options['begin'])]"}},
            .benches = {{.cases = bench, .place = 200}},
            .example_place = 10,
            .examples = {{"slice", "a range of columns", "rows, cols", {4, 64}, explain_slice}}};
}

}  // namespace heddle::slice_cases
