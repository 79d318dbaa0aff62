// The cases of dropout.
#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/dropout/dropout.h"

namespace heddle::dropout_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const auto drop = [](double probability, std::uint64_t key) -> GradientFunction {
        return [=](auto in) { return ops::dropout(in[0], Dropout(probability, key)); };
    };
    return {
        {"dropout", "probability 0.3", drop(0.3, 11), {random_input({3, 11}, 1)}},
        {"dropout", "probability 0.9, three axes", drop(0.9, 12), {random_input({2, 3, 9}, 2)}},
    };
}

// ---- calls of the kernels

// Odd and even rows, whole groups of eight and broken ones, more than one block of 256 groups.
const Shape kRows[] = {{0, 5}, {5, 0}, {1, 1}, {2, 31}, {3, 32}, {2, 33}, {5, 127}, {1, 1025}, {9, 264}, {2, 3, 8}, {260, 8}};

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const double probability : {0.1, 0.5})
        for (std::vector<Shape> shapes(std::begin(kRows), std::end(kRows)); const Shape& shape : shapes) {
            const Dropout dropout(probability, 0x1234567890abcdefu);
            cases.push_back({.what = shape.str() + ", " + std::to_string(probability),
                             .inputs = {numbers(shape, 1)},
                             .run =
                                 [dropout](const Tensors& in) {
                                     return Tensors{dropout_forward(in[0], dropout), dropout_backward(in[0], dropout)};
                                 },
                             .formula = [dropout](const Tensors& in) { return Tensors(2, plain_residual({}, in[0], dropout)); },
                             .same_zeros = true,
                             .nan = NanSpreads::nowhere});
        }
    KernelCase many = cases.back();
    many.what = "1025 x 127";
    many.inputs = {numbers({1025, 127}, 2)};
    many.runs = RunsOn::on_the_cpu;
    cases.push_back(many);
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    Step step{.inputs = {draw.any(1, 3)}};
    draw.dropout(step, draw.shape_of(step.inputs[0]).rows(), draw.shape_of(step.inputs[0]).cols());
    return step;
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const auto run = [](const RowInputs& in) { return ops::dropout(fresh(in.x), dropout_of_training()); };
    return {row_case(on, "dropout", "", 2, 2, run)};
}

// ---- what is explained

void explain_dropout(Session& s, Extents d) {
    map<[](const Tensor& x) { return dropout_forward(x, Dropout(0.25, 1)); }>(s, d);
}

}  // namespace

OpCases table() {
    return {
        .name = "dropout",
        .place = 11,
        .proofs = proofs,
        .kernels = kernel_cases,
        .functions = {{"dropout", draw, [](const Step& s, Inputs in) -> Outputs { return {ops::dropout(in[0], s.dropout())}; },
                       "return [kept(inputs[0], constants)]"}},
        .benches = {{.cases = bench, .place = 150}, {.cases = at_row_shapes<bench>, .place = 150, .sizes = "rows"}},
        .example_place = 6,
        .examples = {{"dropout", "dropout from counter-based random numbers", "rows, cols", {4, 64}, explain_dropout}}};
}

}  // namespace heddle::dropout_cases
