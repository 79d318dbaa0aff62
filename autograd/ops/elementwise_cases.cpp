// The cases of elementwise.
#include <fmt/format.h>
#include <limits>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle::elementwise_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

using TapeBinary = Variable (*)(const Variable&, const Variable&, Where);
using TapeUnary = Variable (*)(const Variable&, Where);

GradientCase proof_of_two(const char* op, TapeBinary function, const char* what, const Tensor& a, const Tensor& b) {
    return {op, what, [function](auto in) { return function(in[0], in[1], Where::current()); }, {a, b}};
}

GradientCase proof_of_one(const char* op, TapeUnary function, const Tensor& x) {
    return {op, "a matrix", [function](auto in) { return function(in[0], Where::current()); }, {x}};
}

// Between 0.5 and some 3, for logarithms, roots and divisors.
Tensor positive_input(const Shape& shape, std::uint64_t seed) {
    Tensor x = random_input(shape, seed);
    for (double& value : x.mutable_values<double>()) value = 0.5 + value * value / 2;
    return x;
}

Tensor every_third(const Shape& shape) {
    Tensor choice = Tensor::zeros(shape, DType::u8);
    for (std::int64_t i = 0; i < choice.numel(); i += 1 + i % 3) choice.mutable_data<std::uint8_t>()[i] = 1;
    return choice;
}

GradientFunction choose(const Tensor& choice) {
    return [choice](auto in) { return ops::where(beside(in[0], choice), in[0], in[1]); };
}

std::vector<GradientCase> proofs() {
    const Tensor a = random_input({2, 3, 4}, 1), same = random_input({2, 3, 4}, 2), row = random_input({4}, 3);
    const Tensor column = random_input({3, 1}, 4), scalar = random_input({}, 5);
    return {
        proof_of_two("add", ops::add, "one shape", a, same),
        proof_of_two("add", ops::add, "a row to each row", a, row),
        proof_of_two("add", ops::add, "a column and a row", column, row),
        proof_of_two("sub", ops::sub, "one shape", a, same),
        proof_of_two("sub", ops::sub, "a row minus a tensor", row, a),
        proof_of_two("mul", ops::mul, "one shape", a, same),
        proof_of_two("mul", ops::mul, "a column", a, column),
        proof_of_two("mul", ops::mul, "a scalar", scalar, a),
        proof_of_two("div", ops::div, "one shape", a, positive_input({2, 3, 4}, 6)),
        proof_of_two("div", ops::div, "by a row", a, positive_input({4}, 7)),
        proof_of_two("div", ops::div, "a row by a column", row, positive_input({3, 1}, 8)),
        proof_of_one("neg", ops::neg, random_input({3, 5}, 9)),
        proof_of_one("exp", ops::exp, random_input({3, 5}, 10)),
        proof_of_one("log", ops::log, positive_input({3, 5}, 11)),
        proof_of_one("sqrt", ops::sqrt, positive_input({3, 5}, 12)),
        proof_of_one("tanh", ops::tanh, random_input({3, 5}, 13)),
        {"where", "one shape", choose(every_third({2, 3, 4})), {a, same}},
        {"where", "all three broadcast", choose(every_third({4, 1, 1})), {column, row}},
        {"scale", "by -2.5", [](auto in) { return ops::scale(in[0], -2.5); }, {random_input({3, 5}, 14)}},
        {"mul", "a tensor with itself", [](auto in) { return ops::mul(in[0], in[0]); }, {random_input({3, 5}, 15)}},
    };
}

// ---- calls of the kernels

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

void add_where(std::vector<KernelCase>& cases, const Shape& shape, std::int64_t cols) {
    const Tensor condition = condition_of(shape), b = numbers({4, cols}, 2);
    Tensor a = numbers({4, 16}, 1);
    for (std::int64_t i = 0; i < a.numel(); i += 3) a.mutable_data<double>()[i] = std::numeric_limits<double>::quiet_NaN();
    for (const bool swapped : {false, true})
        cases.push_back({.what = "where " + shape.str(),
                         .inputs = {condition, swapped ? b : a, swapped ? a : b},
                         .run = [](const Tensors& in) { return Tensors{where(in[0], in[1], in[2])}; },
                         .exact = true,
                         .offset = KernelCase::each_offset});
    for (const bool take : {true, false})
        cases.push_back({.what = "where backward",
                         .inputs = {a, condition},
                         .run = [take](const Tensors& in) { return Tensors{where_backward(in[0], in[1], take)}; },
                         .exact = true});
}

std::vector<KernelCase> kernel_cases() {
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
    std::vector<KernelCase> cases;
    for (const TwoNumbers& each : of_two_numbers)
        for (const Pair& shapes : kPairs)
            if (!each.one_shape || shapes.a == shapes.b)
                cases.push_back({.what = std::string(each.name) + " of " + shapes.a.str() + " and " + shapes.b.str(),
                                 .inputs = {numbers(shapes.a, 1), positive(shapes.b, 2)},
                                 .run = of_two(each.function),
                                 .offset = KernelCase::each_offset,
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
                         .runs = RunsOn::on_the_cpu});
    return cases;
}

// ---- random calls

// A shape that broadcasts to this one: some extents become 1, some leading axes are left out.
Shape broadcast_part(Draw& draw, const Shape& whole) {
    const int first = draw.chance(0.3) ? static_cast<int>(draw.between(0, whole.rank())) : 0;
    Shape part;
    for (int axis = first; axis < whole.rank(); ++axis) part.append(draw.chance(0.25) ? 1 : whole[axis]);
    return part;
}

std::optional<Step> draw_two(Draw& draw) {
    const Number a = draw.any(0, 3);
    const Number b = draw.chance(0.15) ? a : draw.of(broadcast_part(draw, draw.shape_of(a)));
    return Step{.inputs = draw.chance(0.5) ? std::vector{a, b} : std::vector{b, a}};
}

std::optional<Step> draw_quotient(Draw& draw) {
    const Number a = draw.any(0, 3);
    return Step{.inputs = {a, draw.positive(broadcast_part(draw, draw.shape_of(a)))}};
}

std::optional<Step> draw_one(Draw& draw) { return Step{.inputs = {draw.any(0, 3)}}; }

std::optional<Step> draw_positive(Draw& draw) {
    const Shape shape = draw.alone() ? draw.shape(static_cast<int>(draw.between(0, 3))) : draw.shape_of(draw.any(0, 3));
    return Step{.inputs = {draw.positive(shape)}};
}

std::optional<Step> draw_scale(Draw& draw) {
    return Step{.inputs = {draw.any(0, 3)}, .options = {{"factor", draw.uniform(-2, 2)}}};
}

std::optional<Step> draw_where(Draw& draw) {
    const Number a = draw.any(0, 3);
    const Shape shape = draw.shape_of(a);
    const Number b = draw.of(broadcast_part(draw, shape));
    return Step{.inputs = draw.chance(0.5) ? std::vector{a, b} : std::vector{b, a},
                .constants = {{"condition", draw.mask(broadcast_part(draw, shape), 0.5)}}};
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t cols = on.d_model;
    return {row_case(on, "add", "", 3, 2, [](const RowInputs& in) { return ops::add(fresh(in.x), fresh(in.y)); }),
            row_case(on, "add", fmt::format(" + [{}]", cols), 2, 1,
                     [](const RowInputs& in) { return ops::add(fresh(in.x), in.gamma); }),
            row_case(on, "mul", "", 3, 5, [](const RowInputs& in) { return ops::mul(fresh(in.x), fresh(in.y)); }),
            row_case(on, "exp", "", 2, 3, [](const RowInputs& in) { return ops::exp(fresh(in.x)); }),
            row_case(on, "scale", "", 2, 2, [](const RowInputs& in) { return ops::scale(fresh(in.x), 2); })};
}

// ---- what is explained

void explain_add(Session& s, Extents d) {
    const Tensor a = s.input("a", randn(d, 1)), b = s.input("b", row(d[1], 2));
    Tensor y;
    s.trace([&] { y = add(a, b); });
    s.name("y", y);
}

}  // namespace

OpCases table() {
    return {
        .name = "elementwise",
        .place = 1,
        .proofs = proofs,
        .kernels = kernel_cases,
        .functions = {{"add", draw_two, [](const Step&, Inputs in) -> Outputs { return {ops::add(in[0], in[1])}; },
                       "return [inputs[0] + inputs[1]]"},
                      {"sub", draw_two, [](const Step&, Inputs in) -> Outputs { return {ops::sub(in[0], in[1])}; },
                       "return [inputs[0] - inputs[1]]"},
                      {"mul", draw_two, [](const Step&, Inputs in) -> Outputs { return {ops::mul(in[0], in[1])}; },
                       "return [inputs[0] * inputs[1]]"},
                      {"div", draw_quotient, [](const Step&, Inputs in) -> Outputs { return {ops::div(in[0], in[1])}; },
                       "return [inputs[0] / inputs[1]]"},
                      {"neg", draw_one, [](const Step&, Inputs in) -> Outputs { return {ops::neg(in[0])}; },
                       "return [-inputs[0]]"},
                      {"exp", draw_one, [](const Step&, Inputs in) -> Outputs { return {ops::exp(in[0])}; },
                       "return [inputs[0].exp()]"},
                      {"log", draw_positive, [](const Step&, Inputs in) -> Outputs { return {ops::log(in[0])}; },
                       "return [inputs[0].log()]"},
                      {"sqrt", draw_positive, [](const Step&, Inputs in) -> Outputs { return {ops::sqrt(in[0])}; },
                       "return [inputs[0].sqrt()]"},
                      {"tanh", draw_one, [](const Step&, Inputs in) -> Outputs { return {ops::tanh(in[0])}; },
                       "return [inputs[0].tanh()]"},
                      {"scale", draw_scale,
                       [](const Step& s, Inputs in) -> Outputs { return {ops::scale(in[0], s.option<double>("factor"))}; },
                       "return [inputs[0] * options['factor']]"},
                      {"where", draw_where,
                       [](const Step& s, Inputs in) -> Outputs { return {ops::where(s.constant("condition"), in[0], in[1])}; },
                       "return [torch.where(constants['condition'].bool(), inputs[0], inputs[1])]"}},
        .benches = {{.cases = bench, .place = 170}},
        .example_place = 4,
        .examples = {{"add", "a sum with broadcasting: a row added to each row", "rows, cols", {4, 64}, explain_add}}};
}

}  // namespace heddle::elementwise_cases
