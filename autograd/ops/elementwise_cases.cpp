// The cases of elementwise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/cases/elementwise_calls.h"
#include "autograd/cases/op_cases.h"
#include "autograd/operators.h"
#include "autograd/ops.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle::elementwise_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

using TapeBinary = Variable (*)(const Variable&, const Variable&, Where);
using TapeUnary = Variable (*)(const Variable&, Where);

// The functions of one number that take nothing else.
struct OneNumber {
    const char* name;
    Unary function;
    TapeUnary tape;
    bool positive = false;  ///< its argument
};
const OneNumber kOneNumber[] = {{"neg", Unary::neg, ops::neg},
                                {"exp", Unary::exp, ops::exp},
                                {"expm1", Unary::expm1, ops::expm1},
                                {"log", Unary::log, ops::log, true},
                                {"log1p", Unary::log1p, ops::log1p, true},
                                {"sqrt", Unary::sqrt, ops::sqrt, true},
                                {"rsqrt", Unary::rsqrt, ops::rsqrt, true},
                                {"square", Unary::square, ops::square},
                                {"abs", Unary::abs, ops::abs},
                                {"sign", Unary::sign, ops::sign},
                                {"sin", Unary::sin, ops::sin},
                                {"cos", Unary::cos, ops::cos},
                                {"tanh", Unary::tanh, ops::tanh},
                                {"sigmoid", Unary::sigmoid, ops::sigmoid},
                                {"softplus", Unary::softplus, ops::softplus},
                                {"erf", Unary::erf, ops::erf}};

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
    std::vector<GradientCase> cases = {
        proof_of_two("pow", ops::pow, "one shape", positive_input({2, 3, 4}, 30), same),
        proof_of_two("pow", ops::pow, "a row to the power of a column", positive_input({4}, 31), column),
        proof_of_two("maximum", ops::maximum, "one shape", a, same),
        proof_of_two("maximum", ops::maximum, "a column and a row", column, row),
        proof_of_two("minimum", ops::minimum, "one shape", a, same),
        proof_of_two("minimum", ops::minimum, "a row to each row", a, row),
        {"pow", "squares and cubes", [](auto in) { return ops::add(ops::pow(in[0], 2), ops::pow(in[0], 3)); }, {same}},
        {"pow", "to -1.5", [](auto in) { return ops::pow(in[0], -1.5); }, {positive_input({3, 5}, 32)}},
        {"pow", "of a number", [](auto in) { return ops::pow(1.7, in[0]); }, {a}},
        {"maximum", "with a number", [](auto in) { return ops::maximum(in[0], 0.3); }, {a}},
        {"minimum", "with a number", [](auto in) { return ops::minimum(in[0], 0.3); }, {a}},
        {"clamp", "between -0.5 and 0.8", [](auto in) { return ops::clamp(in[0], -0.5, 0.8); }, {same}},
        {"clamp", "from below", [](auto in) { return ops::clamp(in[0], 0.1, kInfinity); }, {a}},
        {"where", "a number where it is not chosen", [](auto in) { return ops::where(in[0] > 0.2, in[0], -1.0); }, {a}},
        {"where",
         "a number where it is chosen",
         [](auto in) { return ops::where(in[0] < in[1], 2.0, in[0]); },
         {a, same},
         {.zero_by_symmetry = {1}}},
        {"sign", "no gradient", [](auto in) { return ops::sign(in[0]); }, {a}, {.zero_by_symmetry = {0}}},
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
        {"where", "one shape", choose(every_third({2, 3, 4})), {a, same}},
        {"where", "all three broadcast", choose(every_third({4, 1, 1})), {column, row}},
        {"scale", "by -2.5", [](auto in) { return ops::scale(in[0], -2.5); }, {random_input({3, 5}, 14)}},
        {"mul", "a tensor with itself", [](auto in) { return ops::mul(in[0], in[0]); }, {random_input({3, 5}, 15)}},
    };
    for (const OneNumber& each : kOneNumber) {
        if (each.function == Unary::sign) continue;
        const std::uint64_t seed = 40 + static_cast<std::uint64_t>(each.function);
        const Tensor x = each.positive ? positive_input({3, 5}, seed) : random_input({3, 5}, seed);
        cases.push_back(proof_of_one(each.name, each.tape, x));
    }
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

std::optional<Step> draw_power_of_two(Draw& draw) {
    std::optional<Step> step = draw_quotient(draw);
    std::swap(step->inputs[0], step->inputs[1]);
    return step;
}

std::optional<Step> draw_power(Draw& draw) {
    std::optional<Step> step = draw_positive(draw);
    step->options = {{"exponent", draw.uniform(-2, 3)}};
    return step;
}

std::optional<Step> draw_clamp(Draw& draw) {
    return Step{.inputs = {draw.any(0, 3)}, .options = {{"low", draw.uniform(-2, 0)}, {"high", draw.uniform(0, 2)}}};
}

bool clamp_suits(const Draw&, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor>) {
    const Tensor low = sub(in[0], Tensor::full({}, step.option<double>("low"), DType::f64));
    const Tensor high = sub(in[0], Tensor::full({}, step.option<double>("high"), DType::f64));
    return std::min(least_magnitude(low), least_magnitude(high)) > 1e-3;
}

// No input lies at 0, where abs and sign have a kink or a step.
bool far_from_zero(const Draw&, const Step&, const std::vector<Tensor>& in, std::span<const Tensor>) {
    return least_magnitude(in[0]) > 1e-3;
}

// Nowhere do the two meet.
bool far_from_each_other(const Draw&, const Step&, const std::vector<Tensor>& in, std::span<const Tensor>) {
    return least_magnitude(sub(in[0], in[1])) > 1e-3;
}

template <TapeUnary function>
Outputs apply_one(const Step&, Inputs in) {
    return {function(in[0], Where::current())};
}
template <TapeBinary function>
Outputs apply_two(const Step&, Inputs in) {
    return {function(in[0], in[1], Where::current())};
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

template <TapeUnary function>
BenchCase bench_one(const BenchSetting& on, const char* name, double traffic_back) {
    return row_case(on, name, "", 2, traffic_back, [](const RowInputs& in) { return function(fresh(in.x), Where::current()); });
}

// A function that wants positive numbers.
template <TapeUnary function>
BenchCase bench_positive(const BenchSetting& on, const char* name) {
    BenchCase one = bench_one<function>(on, name, 3);
    one.make_run = [shape = Shape{on.rows(), on.d_model}, on]() -> Run {
        const Variable x(unary(Unary::exp, cases::numbers(shape, on)), true);
        return [x] { return function(fresh(x), Where::current()); };
    };
    return one;
}

std::vector<BenchCase> bench_rows(const BenchSetting& on) {
    return {row_case(on, "add", "", 3, 2, [](const RowInputs& in) { return ops::add(fresh(in.x), fresh(in.y)); }),
            row_case(on, "add", " + a row", 2, 1, [](const RowInputs& in) { return ops::add(fresh(in.x), fresh(in.gamma)); }),
            row_case(on, "sub", "", 3, 2, [](const RowInputs& in) { return ops::sub(fresh(in.x), fresh(in.y)); }),
            row_case(on, "mul", "", 3, 5, [](const RowInputs& in) { return ops::mul(fresh(in.x), fresh(in.y)); }),
            row_case(on, "div", "", 3, 5, [](const RowInputs& in) { return ops::div(fresh(in.x), fresh(in.y)); }),
            row_case(on, "scale", "", 2, 2, [](const RowInputs& in) { return ops::scale(fresh(in.x), 2); }),
            row_case(on, "maximum", "", 3, 5, [](const RowInputs& in) { return ops::maximum(fresh(in.x), fresh(in.y)); }),
            row_case(on, "where", "", 3, 3, [](const RowInputs& in) { return ops::where(in.x > 0, fresh(in.x), fresh(in.y)); }),
            row_case(on, "clamp", "", 2, 3, [](const RowInputs& in) { return ops::clamp(fresh(in.x), -0.1, 0.1); }),
            bench_one<ops::neg>(on, "neg", 2),
            bench_one<ops::exp>(on, "exp", 3),
            bench_positive<ops::log>(on, "log"),
            bench_positive<ops::sqrt>(on, "sqrt"),
            bench_one<ops::square>(on, "square", 3),
            bench_one<ops::abs>(on, "abs", 3),
            bench_one<ops::sin>(on, "sin", 3),
            bench_one<ops::tanh>(on, "tanh", 3),
            bench_one<ops::sigmoid>(on, "sigmoid", 3),
            bench_one<ops::softplus>(on, "softplus", 3),
            bench_one<ops::erf>(on, "erf", 3)};
}

// Models of plain ops: what a user writes who has no fused one.
std::vector<BenchCase> bench_composed(const BenchSetting& on) {
    BenchSetting batch = on, tiny = on;
    batch.sentences = 2800;
    batch.length = 1;
    batch.d_model = 128;
    tiny.sentences = 16;
    tiny.length = 1;
    tiny.d_model = 8;
    const auto layer_norm = [](const RowInputs& in) {
        const Variable x = fresh(in.x), centred = x - ops::mean(x, -1, true);
        return centred / ops::sqrt(ops::mean(centred * centred, -1, true) + 1e-5) * fresh(in.gamma) + fresh(in.beta);
    };
    const auto attention = [](const RowInputs& in) {
        const auto part = [](const Variable& x) { return ops::reshape(fresh(x), {200, 14, 128}); };
        const Variable q = part(in.x), k = part(in.y), v = part(in.x);
        return ops::matmul(ops::softmax(ops::matmul(q, k, false, true) * 0.0884), v);
    };
    const auto many = [](const RowInputs& in) {
        const Variable x = fresh(in.x);
        Variable y = x;
        for (int i = 0; i < 2000; ++i) y = y + x;
        return y;
    };
    return {row_case(batch, "composed", " layer norm", 2, 3, layer_norm),
            row_case(batch, "composed", " attention", 4, 6, attention),
            row_case(tiny, "composed", " 2000 additions", 2, 3, many)};
}

// ---- what is explained

void explain_add(Session& s, Extents d) {
    const Tensor a = s.input("a", randn(d, 1)), b = s.input("b", row(d[1], 2));
    traced(s, "y", [&] { return add(a, b); });
}

}  // namespace

OpCases table() {
    return {
        .name = "elementwise",
        .place = 1,
        .proofs = proofs,
        .kernels = cases::elementwise_calls,
        .functions = {{"add", draw_two, apply_two<ops::add>, "return [inputs[0] + inputs[1]]"},
                      {"sub", draw_two, apply_two<ops::sub>, "return [inputs[0] - inputs[1]]"},
                      {"mul", draw_two, apply_two<ops::mul>, "return [inputs[0] * inputs[1]]"},
                      {"div", draw_quotient, apply_two<ops::div>, "return [inputs[0] / inputs[1]]"},
                      {"pow", draw_power_of_two, apply_two<ops::pow>, "return [inputs[0] ** inputs[1]]"},
                      {"power", draw_power,
                       [](const Step& s, Inputs in) -> Outputs { return {ops::pow(in[0], s.option<double>("exponent"))}; },
                       "return [inputs[0] ** options['exponent']]"},
                      {"maximum", draw_two, apply_two<ops::maximum>, "return [torch.maximum(inputs[0], inputs[1])]",
                       far_from_each_other},
                      {"minimum", draw_two, apply_two<ops::minimum>, "return [torch.minimum(inputs[0], inputs[1])]",
                       far_from_each_other},
                      {"clamp", draw_clamp,
                       [](const Step& s, Inputs in) -> Outputs {
                           return {ops::clamp(in[0], s.option<double>("low"), s.option<double>("high"))};
                       },
                       "return [inputs[0].clamp(options['low'], options['high'])]", clamp_suits},
                      {"neg", draw_one, apply_one<ops::neg>, "return [-inputs[0]]"},
                      {"exp", draw_one, apply_one<ops::exp>, "return [inputs[0].exp()]"},
                      {"expm1", draw_one, apply_one<ops::expm1>, "return [inputs[0].expm1()]"},
                      {"log", draw_positive, apply_one<ops::log>, "return [inputs[0].log()]"},
                      {"log1p", draw_positive, apply_one<ops::log1p>, "return [inputs[0].log1p()]"},
                      {"sqrt", draw_positive, apply_one<ops::sqrt>, "return [inputs[0].sqrt()]"},
                      {"rsqrt", draw_positive, apply_one<ops::rsqrt>, "return [inputs[0].rsqrt()]"},
                      {"square", draw_one, apply_one<ops::square>, "return [inputs[0].square()]"},
                      {"abs", draw_one, apply_one<ops::abs>, "return [inputs[0].abs()]", far_from_zero},
                      {"sign", draw_one, apply_one<ops::sign>, "return [inputs[0].sign()]", far_from_zero},
                      {"sin", draw_one, apply_one<ops::sin>, "return [inputs[0].sin()]"},
                      {"cos", draw_one, apply_one<ops::cos>, "return [inputs[0].cos()]"},
                      {"tanh", draw_one, apply_one<ops::tanh>, "return [inputs[0].tanh()]"},
                      {"sigmoid", draw_one, apply_one<ops::sigmoid>, "return [inputs[0].sigmoid()]"},
                      {"softplus", draw_one, apply_one<ops::softplus>, "return [F.softplus(inputs[0])]"},
                      {"erf", draw_one, apply_one<ops::erf>, "return [inputs[0].erf()]"},
                      {"scale", draw_scale,
                       [](const Step& s, Inputs in) -> Outputs { return {ops::scale(in[0], s.option<double>("factor"))}; },
                       "return [inputs[0] * options['factor']]"},
                      {"where", draw_where,
                       [](const Step& s, Inputs in) -> Outputs { return {ops::where(s.constant("condition"), in[0], in[1])}; },
                       "return [torch.where(constants['condition'].bool(), inputs[0], inputs[1])]"}},
        .benches = {{.cases = bench, .place = 170},
                    {.cases = at_row_shapes<bench_rows>, .place = 170, .sizes = "rows"},
                    {.cases = bench_composed, .place = 400, .sizes = "rows"}},
        .example_place = 4,
        .examples = {{"add", "a sum with broadcasting: a row added to each row", "rows, cols", {4, 64}, explain_add}}};
}

}  // namespace heddle::elementwise_cases
