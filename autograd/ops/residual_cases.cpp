// The cases of residual.
#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/residual/residual.h"

namespace heddle::residual_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const auto add = [](double probability, std::uint64_t key) -> GradientFunction {
        return [=](auto in) { return ops::residual(in[0], in[1], Dropout(probability, key)); };
    };
    return {
        {"residual", "without dropout", add(0, 0), {random_input({3, 5}, 3), random_input({3, 5}, 4)}},
        {"residual", "dropout 0.3", add(0.3, 13), {random_input({3, 11}, 5), random_input({3, 11}, 6)}},
        {"residual",
         "x added to its own dropout",
         [](auto in) { return ops::residual(in[0], in[0], Dropout(0.3, 14)); },
         {random_input({2, 9}, 7)}},
    };
}

// ---- calls of the kernels

// Odd and even rows, whole groups of eight and broken ones, more than one block of 256 groups.
const Shape kRows[] = {{0, 5}, {5, 0}, {1, 1}, {2, 31}, {3, 32}, {2, 33}, {5, 127}, {1, 1025}, {9, 264}, {2, 3, 8}, {260, 8}};

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    std::vector<Shape> shapes(std::begin(kRows), std::end(kRows));
    shapes.push_back({1025, 127});
    for (const Shape& shape : shapes)
        for (const Dropout& dropout : {Dropout(), Dropout(0.3, 77)}) {
            const std::string what = shape.str() + (dropout.active() ? " with dropout" : "");
            const RunsOn runs = shape.numel() > 100000 ? RunsOn::on_the_cpu : RunsOn::everywhere;
            cases.push_back({.what = what,
                             .inputs = {numbers(shape, 1), numbers(shape, 2)},
                             .run = [dropout](const Tensors& in) { return Tensors{residual_forward(in[0], in[1], dropout)}; },
                             .on_cpu = Allowed{1e-15, 1e-6},
                             .formula = [dropout](const Tensors& in) { return Tensors{plain_residual(in[0], in[1], dropout)}; },
                             .offset = KernelCase::each_offset,
                             .runs = runs,
                             .nan = NanSpreads::nowhere});
            cases.push_back({.what = what + ", backward",
                             .inputs = {numbers(shape, 3)},
                             .run = [dropout](const Tensors& in) { return Tensors{residual_backward(in[0], dropout)}; },
                             .formula = [dropout](const Tensors& in) { return Tensors{plain_residual({}, in[0], dropout)}; },
                             .same_zeros = true,
                             .runs = runs});
        }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(2, 2);
    Step step{.inputs = {x, draw.chance(0.2) ? x : draw.of(draw.shape_of(x))}};
    if (draw.chance(0.5)) draw.dropout(step, draw.shape_of(x).rows(), draw.shape_of(x).cols());
    return step;
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    return {row_case(on, "residual", ", dropout", 3, 2,
                     [](const RowInputs& in) { return ops::residual(fresh(in.x), fresh(in.y), dropout_of_training()); })};
}

// ---- what is explained

void explain_residual(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1)), sublayer = s.input("sublayer", randn(d, 2));
    traced(s, "y", [&] { return residual_forward(x, sublayer, Dropout(0.1, 1)); });
}

}  // namespace

OpCases table() {
    return {.name = "residual",
            .place = 12,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"residual", draw,
                           [](const Step& s, Inputs in) -> Outputs { return {ops::residual(in[0], in[1], s.dropout())}; },
                           "return [inputs[0] + kept(inputs[1], constants)]"}},
            .benches = {{.cases = bench, .place = 140}},
            .example_place = 7,
            .examples = {{"residual", "x + dropout(sublayer) in one pass", "rows, cols", {4, 64}, explain_residual}}};
}

}  // namespace heddle::residual_cases
