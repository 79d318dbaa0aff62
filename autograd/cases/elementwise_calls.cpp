#include "autograd/cases/elementwise_calls.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "kernels/elementwise/elementwise.h"

namespace heddle::cases {
namespace {

using namespace kernels;

OpFunction of_one(Unary function, const UnaryNumbers& numbers = {}) {
    return [=](const Tensors& in) { return Tensors{unary(function, in[0], numbers)}; };
}
OpFunction slope_of(Unary function, const UnaryNumbers& numbers = {}) {
    return [=](const Tensors& in) { return Tensors{unary_backward(function, in[0], in[1], numbers)}; };
}
OpFunction of_two(Binary function) {
    return [function](const Tensors& in) { return Tensors{binary(function, in[0], in[1])}; };
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

// A function of one number, forward and backward.
void add_one_number(std::vector<KernelCase>& cases, const std::string& name, Unary function, bool positive_only,
                    const UnaryNumbers& arguments = {}) {
    // Gradients of these are 0 at some places, whatever dy is there.
    const bool cuts = function == Unary::sign || function == Unary::clamp || (function == Unary::power && arguments.first == 0);
    for (const Shape& shape : {Shape{0}, {1}, {31}, {32}, {3, 11}, {127}, {1025}}) {
        const Tensor x = positive_only ? positive(shape, 1) : numbers(shape, 1);
        cases.push_back({.what = name + " of " + shape.str(),
                         .inputs = {x},
                         .run = of_one(function, arguments),
                         .nan = function == Unary::power ? NanSpreads::unknown : NanSpreads::nowhere});
        cases.push_back({.what = name + " of " + shape.str() + ", backward",
                         .inputs = {numbers(shape, 2), saves(function) == Saves::y ? unary(function, x, arguments) : x},
                         .run = slope_of(function, arguments),
                         .offset = KernelCase::each_offset,
                         .nan = cuts ? NanSpreads::unknown : NanSpreads::nowhere});
    }
}

// Numbers among which many are equal, with a NaN and infinities.
Tensor few_values(const Shape& shape, std::uint64_t key) {
    Tensor x = numbers(shape, key);
    for (double& value : x.mutable_values<double>()) value = std::round(value);
    if (x.numel() > 4) {
        x.mutable_data<double>()[1] = std::numeric_limits<double>::quiet_NaN();
        x.mutable_data<double>()[2] = kInfinity;
        x.mutable_data<double>()[3] = -kInfinity;
    }
    return x;
}

void add_masks(std::vector<KernelCase>& cases, const Pair& shapes) {
    const std::string what = " of " + shapes.a.str() + " and " + shapes.b.str();
    const Tensor a = few_values(shapes.a, 1), b = few_values(shapes.b, 2);
    cases.push_back({.what = "comparisons" + what,
                     .inputs = {a, b},
                     .run =
                         [](const Tensors& in) {
                             Tensors masks;
                             for (const Comparison each :
                                  {Comparison::equal, Comparison::not_equal, Comparison::less, Comparison::less_equal,
                                   Comparison::greater, Comparison::greater_equal})
                                 masks.push_back(compare(each, in[0], in[1]));
                             return masks;
                         },
                     .exact = true,
                     .offset = KernelCase::each_offset});
    cases.push_back({.what = "the larger and the smaller" + what,
                     .inputs = {a, b},
                     .run =
                         [](const Tensors& in) {
                             return Tensors{maximum(in[0], in[1]), minimum(in[0], in[1]),
                                            binary(Binary::maximum_share, in[0], in[1]),
                                            binary(Binary::minimum_share, in[0], in[1])};
                         },
                     .exact = true,
                     .offset = KernelCase::each_offset});
    cases.push_back({.what = "logical functions and whole numbers" + what,
                     .inputs = {condition_of(shapes.a), condition_of(shapes.b), numbers(shapes.a, 3, 0, 2).to(DType::i32),
                                numbers(shapes.b, 4, 0, 2).to(DType::i32)},
                     .run =
                         [](const Tensors& in) {
                             return Tensors{
                                 logical(Logical::logical_and, in[0], in[1]), logical(Logical::logical_or, in[0], in[1]),
                                 logical(Logical::logical_xor, in[0], in[1]), kernels::logical_not(in[0]),
                                 compare(Comparison::less, in[2], in[3]),     compare(Comparison::equal, in[0], in[1])};
                         },
                     .exact = true});
}

}  // namespace

std::vector<KernelCase> elementwise_calls() {
    const std::pair<const char*, Binary> of_two_numbers[] = {{"add", Binary::add},         {"sub", Binary::sub},
                                                             {"mul", Binary::mul},         {"div", Binary::div},
                                                             {"maximum", Binary::maximum}, {"minimum", Binary::minimum}};
    std::vector<KernelCase> cases;
    for (const auto& [name, function] : of_two_numbers)
        for (const Pair& shapes : kPairs)
            cases.push_back({.what = name + (" of " + shapes.a.str()) + " and " + shapes.b.str(),
                             .inputs = {numbers(shapes.a, 1), positive(shapes.b, 2)},
                             .run = of_two(function),
                             .offset = KernelCase::each_offset,
                             .nan = shapes.a == shapes.b ? NanSpreads::nowhere : NanSpreads::unknown});
    for (const Pair& shapes : kPairs) {
        add_masks(cases, shapes);
        cases.push_back({.what = "pow of " + shapes.a.str() + " and " + shapes.b.str(),
                         .inputs = {positive(shapes.a, 1), numbers(shapes.b, 2)},
                         .run =
                             [](const Tensors& in) {
                                 return Tensors{pow(in[0], in[1]), binary(Binary::pow_base, in[0], in[1]),
                                                binary(Binary::pow_exponent, in[0], in[1])};
                             },
                         .allowed = {.f64 = 1e-13, .f32 = 2e-6}});
    }
    for (const auto& [function, name] : enum_words(Unary())) {
        const bool takes_more = function == Unary::scale || function == Unary::power || function == Unary::clamp;
        const bool positive_only =
            function == Unary::log || function == Unary::log1p || function == Unary::sqrt || function == Unary::rsqrt;
        if (!takes_more) add_one_number(cases, std::string(name), function, positive_only);
    }
    add_one_number(cases, "scale", Unary::scale, false, {-2.7});
    for (const double exponent : {-1.0, 0.0, 0.5, 2.0, 3.0, 1.7})
        add_one_number(cases, "power " + std::to_string(exponent), Unary::power, true, {exponent});
    add_one_number(cases, "cubes", Unary::power, false, {3});
    add_one_number(cases, "clamp", Unary::clamp, false, {-0.5, 0.8});
    add_one_number(cases, "clamp from above", Unary::clamp, false, {-kInfinity, 0.5});
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
                         .formula = of_two(Binary::add)});
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

}  // namespace heddle::cases
