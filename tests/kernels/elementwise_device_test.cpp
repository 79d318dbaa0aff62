// Arithmetic with broadcasting on every device, against the f64 reference.
#include "kernels/elementwise/elementwise.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

struct Pair {
    Shape a, b;
};
// Equal shapes around a vector and a block; then what is repeated: nothing, a row, a column, a scalar, several axes, on either
// side; rows of whole vectors and of odd length.
const Pair kPairs[] = {{{0}, {0}},    {{1}, {1}},      {{33}, {33}},        {{1025}, {1025}},          {{3, 8}, {8}},
                       {{3, 7}, {7}}, {{8}, {5, 8}},   {{5, 1}, {1, 16}},   {{4, 33}, {4, 1}},         {{4, 32}, {4, 1}},
                       {{}, {3, 40}}, {{3, 5}, {}},    {{2, 3, 8}, {3, 1}}, {{2, 1, 4, 8}, {3, 1, 8}}, {{2, 1, 5}, {7, 1}},
                       {{0, 3}, {3}}, {{70, 16}, {16}}};

using Binary = Tensor (*)(const Tensor&, const Tensor&);
struct BinaryFunction {
    const char* name;
    Binary function;
    bool one_shape;
};
const BinaryFunction kBinary[] = {{"add", add, false},
                                  {"sub", sub, false},
                                  {"mul", mul, false},
                                  {"div", div, false},
                                  {"exp_backward", exp_backward, true},
                                  {"sqrt_backward", sqrt_backward, true},
                                  {"tanh_backward", tanh_backward, true},
                                  {"log_backward", log_backward, true}};

Tensor positive(const Shape& shape, std::uint64_t key) {
    Tensor x = normal(shape, DType::f64, key);
    for (double& value : x.span<double>()) value = 0.5 + value * value / 2;
    return x;
}

// At the start of its memory, or one element behind it.
Tensor placed(const Numbers& numbers, const Tensor& tensor, bool offset) {
    return offset ? offset_by_one(in(numbers, tensor)) : in(numbers, tensor);
}

TEST(ElementwiseOnDevices, ComputesEveryFunctionOfTwoNumbers) {
    for (const Numbers& numbers : all_numbers())
        for (const BinaryFunction& function : kBinary)
            for (const Pair& shapes : kPairs) {
                if (function.one_shape && shapes.a != shapes.b) continue;
                const Tensor a = normal(shapes.a, DType::f64, 1), b = positive(shapes.b, 2);
                const Tensor want = function.function(rounded(numbers, a), rounded(numbers, b));
                for (const int offset : {0, 1, 2})
                    expect_close(function.function(placed(numbers, a, offset == 1), placed(numbers, b, offset == 2)), want,
                                 numbers,
                                 std::string(function.name) + " of " + shapes.a.str() + " and " + shapes.b.str() + ", offset " +
                                     std::to_string(offset));
            }
}

using Unary = Tensor (*)(const Tensor&);
struct UnaryFunction {
    const char* name;
    Unary function;
};
const UnaryFunction kUnary[] = {{"neg", neg},   {"exp", exp},   {"log", log},
                                {"sqrt", sqrt}, {"tanh", tanh}, {"scale", [](const Tensor& x) { return scale(x, -2.7); }}};

TEST(ElementwiseOnDevices, ComputesEveryFunctionOfOneNumber) {
    for (const Numbers& numbers : all_numbers())
        for (const UnaryFunction& function : kUnary)
            for (const Shape& shape : {Shape{0}, Shape{1}, Shape{31}, Shape{32}, Shape{3, 11}, Shape{1025}})
                for (const bool offset : {false, true}) {
                    const Tensor x = positive(shape, 1);
                    expect_close(function.function(placed(numbers, x, offset)), function.function(rounded(numbers, x)), numbers,
                                 std::string(function.name) + " of " + shape.str() + (offset ? ", offset by one" : ""));
                }
}

Tensor condition_of(const Shape& shape) {
    Tensor condition = Tensor::zeros(shape, DType::u8);
    for (std::int64_t i = 0; i < condition.numel(); i += 1 + i % 3)
        condition.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(1 + i % 5);
    return condition;
}

TEST(ElementwiseOnDevices, ChoosesAndLetsNothingElseThrough) {
    const Shape conditions[] = {{4, 16}, {16}, {4, 1}, {}};
    for (const Numbers& numbers : all_numbers())
        for (const Shape& shape : conditions)
            for (const std::int64_t cols : {16, 1}) {
                const Tensor condition = condition_of(shape), there = in(numbers, condition);
                Tensor a = normal({4, 16}, DType::f64, 1);
                const Tensor b = normal({4, cols}, DType::f64, 2);
                for (std::int64_t i = 0; i < a.numel(); i += 3) a.data<double>()[i] = std::numeric_limits<double>::quiet_NaN();
                for (const bool offset : {false, true}) {
                    const std::string what = "where " + shape.str() + (offset ? ", offset by one" : "");
                    expect_close(where(there, placed(numbers, a, offset), in(numbers, b)),
                                 where(condition, rounded(numbers, a), rounded(numbers, b)), numbers, what);
                    expect_close(where(there, in(numbers, b), placed(numbers, a, offset)),
                                 where(condition, rounded(numbers, b), rounded(numbers, a)), numbers, what);
                }
                for (const bool take : {true, false})
                    expect_close(where_backward(in(numbers, a), there, take),
                                 where_backward(rounded(numbers, a), condition, take), numbers, "where_backward");
            }
}

TEST(ElementwiseOnDevices, AddsInPlace) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t n : {0, 1, 33, 1025})
            for (const bool offset : {false, true}) {
                const Tensor before = normal({n}, DType::f64, 1), x = normal({n}, DType::f64, 2);
                Tensor target = placed(numbers, before, offset).clone();
                if (offset) target = offset_by_one(target);
                accumulate(target, placed(numbers, x, offset));
                expect_close(target, add(rounded(numbers, before), rounded(numbers, x)), numbers,
                             "accumulate " + std::to_string(n));
            }
}

TEST(ElementwiseOnDevices, GivesTheSameBitsAgain) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor a = in(numbers, normal({5, 40}, DType::f64, 1)), b = in(numbers, normal({40}, DType::f64, 2));
        expect_same_bits_again(
            [&] {
                return std::vector{add(a, b), mul(a, a), tanh(a)};
            },
            "elementwise on " + to_string(numbers));
    }
}

TEST(ElementwiseOnDevices, NamesTheArgumentThatLiesElsewhere) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor here = normal({4}, DType::f32, 1), there = here.to(Device::cuda);
    EXPECT_EQ(error_of([&] { add(there, here); }), "add: b lies on cpu, but a on cuda; move it with to()");
}

}  // namespace
}  // namespace heddle::kernels
