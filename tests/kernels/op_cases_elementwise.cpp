// Cases of the ops that compute element by element: activation, dropout, elementwise, residual; and of reduce.
#include "kernels/activation/activation.h"
#include "kernels/dropout/dropout.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/reduce/reduce.h"
#include "kernels/residual/residual.h"
#include "tests/kernels/op_cases.h"
#include "tests/kernels/residual_cases.h"

namespace heddle::kernels {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

OpFunction of_one(Unary function) {
    return [function](const Tensors& in) { return Tensors{function(in[0])}; };
}
OpFunction of_two(Binary function) {
    return [function](const Tensors& in) { return Tensors{function(in[0], in[1])}; };
}

Tensor positive(const Shape& shape, std::uint64_t key) {
    Tensor x = numbers(shape, key);
    for (double& value : x.mutable_values<double>()) value = 0.5 + value * value / 2;
    return x;
}

// Odd and even rows, whole groups of eight and broken ones, more than one block of 256 groups.
const Shape kRows[] = {{0, 5}, {5, 0}, {1, 1}, {2, 31}, {3, 32}, {2, 33}, {5, 127}, {1, 1025}, {9, 264}, {2, 3, 8}, {260, 8}};

struct Pair {
    Shape a, b;
};
// Equal shapes around a vector and a block; then what is repeated: nothing, a row, a column, a scalar, several axes, on either
// side; rows of whole vectors and of odd length.
const Pair kPairs[] = {{{0}, {0}},    {{1}, {1}},      {{33}, {33}},        {{1025}, {1025}},          {{3, 8}, {8}},
                       {{3, 7}, {7}}, {{8}, {5, 8}},   {{5, 1}, {1, 16}},   {{4, 33}, {4, 1}},         {{4, 32}, {4, 1}},
                       {{}, {3, 40}}, {{3, 5}, {}},    {{2, 3, 8}, {3, 1}}, {{2, 1, 4, 8}, {3, 1, 8}}, {{2, 1, 5}, {7, 1}},
                       {{0, 3}, {3}}, {{70, 16}, {16}}};

Tensor condition_of(const Shape& shape) {
    Tensor condition = Tensor::zeros(shape, DType::u8);
    for (std::int64_t i = 0; i < condition.numel(); i += 1 + i % 3)
        condition.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(1 + i % 5);
    return condition;
}

void add_where(std::vector<OpCase>& cases, const Shape& shape, std::int64_t cols) {
    const Tensor condition = condition_of(shape), b = numbers({4, cols}, 2);
    Tensor a = numbers({4, 16}, 1);
    for (std::int64_t i = 0; i < a.numel(); i += 3) a.mutable_data<double>()[i] = std::numeric_limits<double>::quiet_NaN();
    for (const bool swapped : {false, true})
        cases.push_back({.what = "where " + shape.str(),
                         .inputs = {condition, swapped ? b : a, swapped ? a : b},
                         .run = [](const Tensors& in) { return Tensors{where(in[0], in[1], in[2])}; },
                         .exact = true,
                         .offset = OpCase::each_offset});
    for (const bool take : {true, false})
        cases.push_back({.what = "where backward",
                         .inputs = {a, condition},
                         .run = [take](const Tensors& in) { return Tensors{where_backward(in[0], in[1], take)}; },
                         .exact = true});
}

}  // namespace

std::vector<OpCase> activation_cases() {
    struct Function {
        const char* name;
        Unary forward;
        Binary backward;  // of dy and what was saved
        bool saves_result;
    };
    const Function functions[] = {{"relu", relu_forward, relu_backward, true},
                                  {"gelu", [](const Tensor& x) { return gelu_forward(x, false); },
                                   [](const Tensor& dy, const Tensor& x) { return gelu_backward(dy, x, false); }, false},
                                  {"gelu_tanh", [](const Tensor& x) { return gelu_forward(x, true); },
                                   [](const Tensor& dy, const Tensor& x) { return gelu_backward(dy, x, true); }, false}};
    std::vector<OpCase> cases;
    for (const Function& function : functions)
        // Around one vector, and around one block of 256 threads.
        for (const Shape& shape : {Shape{0}, {1}, {7}, {31}, {32}, {33}, {5, 127}, {1025}, {3, 4, 700}, {200000}}) {
            const Tensor x = numbers(shape, 1, 0, 2), saved = function.saves_result ? function.forward(x) : x;
            OpCase one{.what = std::string(function.name) + " of " + shape.str(),
                       .inputs = {x},
                       .run = of_one(function.forward),
                       // Polynomial and exponential of GELU's f32 form: some units in the last place of the largest result.
                       .allowed = {.f64 = 1e-13, .f32 = 2e-6},
                       .runs = shape.numel() > 10000 ? Runs::on_the_cpu : Runs::everywhere,
                       .nan = NanSpreads::nowhere};
            cases.push_back(one);
            one.what += ", backward";
            one.inputs = {numbers(shape, 2), saved};
            one.run = of_two(function.backward);
            one.nan = NanSpreads::unknown;
            cases.push_back(one);
        }
    return cases;
}

std::vector<OpCase> dropout_cases() {
    std::vector<OpCase> cases;
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
    OpCase many = cases.back();
    many.what = "1025 x 127";
    many.inputs = {numbers({1025, 127}, 2)};
    many.runs = Runs::on_the_cpu;
    cases.push_back(many);
    return cases;
}

std::vector<OpCase> residual_cases() {
    std::vector<OpCase> cases;
    std::vector<Shape> shapes(std::begin(kRows), std::end(kRows));
    shapes.push_back({1025, 127});
    for (const Shape& shape : shapes)
        for (const Dropout& dropout : {Dropout(), Dropout(0.3, 77)}) {
            const std::string what = shape.str() + (dropout.active() ? " with dropout" : "");
            const Runs runs = shape.numel() > 100000 ? Runs::on_the_cpu : Runs::everywhere;
            cases.push_back({.what = what,
                             .inputs = {numbers(shape, 1), numbers(shape, 2)},
                             .run = [dropout](const Tensors& in) { return Tensors{residual_forward(in[0], in[1], dropout)}; },
                             .on_cpu = Allowed{1e-15, 1e-6},
                             .formula = [dropout](const Tensors& in) { return Tensors{plain_residual(in[0], in[1], dropout)}; },
                             .offset = OpCase::each_offset,
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

std::vector<OpCase> elementwise_cases() {
    struct TwoNumbers {
        const char* name;
        Binary function;
        bool one_shape;
    };
    const TwoNumbers of_two_numbers[] = {{"add", add, false},
                                         {"sub", sub, false},
                                         {"mul", mul, false},
                                         {"div", div, false},
                                         {"exp_backward", exp_backward, true},
                                         {"sqrt_backward", sqrt_backward, true},
                                         {"tanh_backward", tanh_backward, true},
                                         {"log_backward", log_backward, true}};
    const std::pair<const char*, Unary> of_one_number[] = {
        {"neg", neg},   {"exp", exp},   {"log", log},
        {"sqrt", sqrt}, {"tanh", tanh}, {"scale", [](const Tensor& x) { return scale(x, -2.7); }}};
    std::vector<OpCase> cases;
    for (const TwoNumbers& each : of_two_numbers)
        for (const Pair& shapes : kPairs)
            if (!each.one_shape || shapes.a == shapes.b)
                cases.push_back({.what = std::string(each.name) + " of " + shapes.a.str() + " and " + shapes.b.str(),
                                 .inputs = {numbers(shapes.a, 1), positive(shapes.b, 2)},
                                 .run = of_two(each.function),
                                 .offset = OpCase::each_offset,
                                 .nan = shapes.a == shapes.b ? NanSpreads::nowhere : NanSpreads::unknown});
    for (const auto& [name, function] : of_one_number)
        for (const Shape& shape : {Shape{0}, {1}, {31}, {32}, {3, 11}, {1025}})
            cases.push_back({.what = name + (" of " + shape.str()),
                             .inputs = {positive(shape, 1)},
                             .run = of_one(function),
                             .nan = NanSpreads::nowhere});
    for (const Shape& condition : {Shape{4, 16}, {16}, {4, 1}, {}})
        for (const std::int64_t cols : {16, 1}) add_where(cases, condition, cols);
    cases.push_back({.what = "where, each row of 2 from one number",  // a vector would cover several rows
                     .inputs = {condition_of({6, 2}), numbers({6, 1}, 1), numbers({6, 1}, 2)},
                     .run = [](const Tensors& in) { return Tensors{where(in[0], in[1], in[2])}; },
                     .exact = true});
    for (const std::int64_t n : {0, 1, 33, 1025})
        cases.push_back({.what = "accumulate " + std::to_string(n),
                         .inputs = {numbers({n}, 1), numbers({n}, 2)},
                         .run =
                             [](const Tensors& in) {
                                 Tensor target = in[0];
                                 accumulate(target, in[1]);
                                 return Tensors{target};
                             },
                         .formula = of_two(add)});
    for (const Shape& b : {Shape{127}, Shape{300, 127}})
        cases.push_back({.what = "many rows",
                         .inputs = {numbers({300, 127}, 1), numbers(b, 2)},
                         .run =
                             [](const Tensors& in) {
                                 return Tensors{add(in[0], in[1]), mul(in[0], in[0]), tanh(in[0])};
                             },
                         .runs = Runs::on_the_cpu});
    return cases;
}

std::vector<OpCase> reduce_cases() {
    // Rows for a warp and for a block, whole vectors and not; columns for one tile and for several; axes that are cut into
    // chunks, both ways.
    const Shape shapes[] = {{1},        {33, 31},   {3, 32},      {2, 1025},  {9, 1, 16}, {2, 3, 4},
                            {2, 33, 5}, {3, 9, 40}, {5, 0, 3},    {0, 4},     {1, 5000},  {2, 8208},
                            {200, 3},   {700, 3},   {1, 150, 24}, {4, 65, 2}, {2, 3, 8},  {515, 300}};
    // Sums of numbers of either sign: the error belongs to the sum of their magnitudes.
    const Allowed allowed{.f64 = 1e-12, .f32 = 1e-5};
    std::vector<OpCase> cases;
    for (const Shape& shape : shapes)
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::string what = shape.str() + " over axis " + std::to_string(axis);
            const auto offset = shape.numel() > 2000 ? OpCase::no_offset : OpCase::all_offset;
            const Tensor x = numbers(shape, 1, 0.5);
            const Runs runs = shape.numel() > 100000 ? Runs::on_the_cpu : Runs::everywhere;
            cases.push_back({.what = "sum of " + what,
                             .inputs = {x},
                             .run = [axis](const Tensors& in) { return Tensors{sum_forward(in[0], axis)}; },
                             .allowed = allowed,
                             .offset = offset,
                             .runs = runs});
            if (shape[axis] == 0) continue;
            cases.push_back({.what = "mean of " + what,
                             .inputs = {x},
                             .run = [axis](const Tensors& in) { return Tensors{mean_forward(in[0], axis, true)}; },
                             .allowed = allowed,
                             .offset = offset,
                             .runs = runs});
            cases.push_back({.what = "max of " + what,
                             .inputs = {x},
                             .run =
                                 [axis](const Tensors& in) {
                                     const Maximum max = max_forward(in[0], axis);
                                     return Tensors{max.y, max.indices};
                                 },
                             .exact = true,
                             .offset = offset,
                             .runs = runs});
            const Maximum max = max_forward(x, axis);
            if (shape.numel() > 2000) continue;
            cases.push_back({.what = "backward to " + what,
                             .inputs = {numbers(max.y.shape(), 2), max.indices},
                             .run =
                                 [axis, shape](const Tensors& in) {
                                     return Tensors{sum_backward(in[0], shape, axis), mean_backward(in[0], shape, axis),
                                                    max_backward(in[0], in[1], shape, axis)};
                                 },
                             .offset = OpCase::no_offset});
        }
    for (const std::int64_t n : {0, 1, 127, 1025, 9001})
        cases.push_back({.what = "sum of all " + std::to_string(n),
                         .inputs = {numbers({n}, 1, 1)},
                         .run = [](const Tensors& in) { return Tensors{sum_all_forward(in[0])}; },
                         .allowed = allowed});
    cases.push_back({.what = "sum of all, backward", .inputs = {numbers({}, 2)}, .run = [](const Tensors& in) {
                         return Tensors{sum_all_backward(in[0], {3, 11})};
                     }});
    for (const Shape& shape : {Shape{8}, {5, 1}, {2, 1, 8}, {}, {2, 5, 8}})
        cases.push_back({.what = "sum to " + shape.str(),
                         .inputs = {numbers({2, 5, 8}, 3, 1)},
                         .run = [shape](const Tensors& in) { return Tensors{sum_to(in[0], shape)}; },
                         .allowed = allowed,
                         .plain =
                             [shape](const Tensors& in) {
                                 const Tensor half = sum_to(in[0], shape.rank() == 0 ? Shape{2, 1, 1} : shape);
                                 return Tensors{sum_to(through_bf16(half), shape)};
                             },
                         .offset = OpCase::no_offset});
    return cases;
}

}  // namespace heddle::kernels
