#include "kernels/elementwise/elementwise.h"

#include "autograd/cases/kernel_case.h"
#include "autograd/ops.h"
#include "kernels/elementwise/detail/elementwise.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// The element of x that stands at index `at` of the broadcast shape: axes aligned at the end, extents of 1 repeated.
double element(const Tensor& x, const Shape& shape, std::int64_t at) {
    std::int64_t offset = 0, stride = 1;
    for (int i = 1; i <= shape.rank(); ++i) {
        const std::int64_t index = at % shape[-i];
        at /= shape[-i];
        if (i > x.rank()) continue;
        if (x.dim(-i) != 1) offset += index * stride;
        stride *= x.dim(-i);
    }
    return x.to_vector()[static_cast<std::size_t>(offset)];
}

struct Pair {
    Shape a, b, result;
};

const Pair kPairs[] = {{{3, 4}, {3, 4}, {3, 4}},
                       {{2, 3, 4}, {4}, {2, 3, 4}},
                       {{3, 1}, {1, 4}, {3, 4}},
                       {{3, 1}, {4}, {3, 4}},
                       {{}, {2, 3}, {2, 3}},
                       {{}, {}, {}},
                       {{2, 1, 4, 1}, {3, 1, 5}, {2, 3, 4, 5}},
                       {{5, 1, 1}, {5, 2, 3}, {5, 2, 3}},
                       {{1, 1}, {3, 3}, {3, 3}},
                       {{0, 3}, {3}, {0, 3}},
                       {{0, 1}, {1, 3}, {0, 3}},
                       {{1}, {0}, {0}},
                       {{33, 31}, {1, 31}, {33, 31}},
                       {{1025}, {1}, {1025}}};

TEST(Elementwise, BroadcastsAsNumpyDoes) {
    using Function = Tensor (*)(const Tensor&, const Tensor&);
    using Formula = double (*)(double, double);
    const std::pair<Function, Formula> ops[] = {{add, [](double x, double y) { return x + y; }},
                                                {sub, [](double x, double y) { return x - y; }},
                                                {mul, [](double x, double y) { return x * y; }},
                                                {div, [](double x, double y) { return x / y; }}};
    for (const auto& [function, formula] : ops)
        for (const Pair& pair : kPairs)
            for (const bool swapped : {false, true}) {
                const Tensor a = normal(swapped ? pair.b : pair.a, DType::f64, 1),
                             b = normal(swapped ? pair.a : pair.b, DType::f64, 2);
                const Tensor y = function(a, b);
                ASSERT_EQ(y.shape(), pair.result);
                for (std::int64_t i = 0; i < y.numel(); ++i)
                    EXPECT_EQ(y.data<double>()[i], formula(element(a, pair.result, i), element(b, pair.result, i)));
                EXPECT_TRUE(relative_error(function(a.to(DType::f32), b.to(DType::f32)), y) < 1e-4)
                    << pair.a.str() << pair.b.str();
            }
}

TEST(Elementwise, WhereBroadcastsAllThree) {
    const Tensor choice = Tensor::from(std::vector<std::uint8_t>{1, 0, 7}, {3, 1});
    const Tensor a = normal({4}, DType::f32, 1), b = normal({2, 1, 1}, DType::f32, 2), y = where(choice, a, b);
    ASSERT_EQ(y.shape(), (Shape{2, 3, 4}));
    for (std::int64_t i = 0; i < 24; ++i)
        EXPECT_EQ(y.data<float>()[i], element(element(choice, y.shape(), i) != 0 ? a : b, y.shape(), i));
}

TEST(Elementwise, WhereLetsNoNanOfTheOtherBranchThrough) {
    const Tensor choice = Tensor::from(std::vector<std::uint8_t>{1, 0}, {2});
    Variable a(Tensor::from(std::vector<double>{1, std::nan("")}, {2}), true),
        b(Tensor::from(std::vector<double>{std::nan(""), 2}, {2}), true);
    const Variable y = ops::where(choice, a, b);
    EXPECT_EQ(y.value().to_vector(), (std::vector<double>{1, 2}));
    backward(y, Tensor::from(std::vector<double>{3, 4}, {2}));
    EXPECT_EQ(a.grad().to_vector(), (std::vector<double>{3, 0}));
    EXPECT_EQ(b.grad().to_vector(), (std::vector<double>{0, 4}));
}

TEST(Elementwise, UnaryFunctionsEqualTheStandardLibrarys) {
    for (const std::int64_t n : {0, 1, 31, 33, 1025, 40000}) {
        Tensor x = Tensor::empty({n}, DType::f64);
        fill_uniform(x, 0.01, 5, 3);
        const auto expect = [&](const Tensor& y, double (*formula)(double)) {
            for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(y.data<double>()[i], formula(x.data<double>()[i]));
        };
        expect(neg(x), [](double v) { return -v; });
        expect(exp(x), [](double v) { return std::exp(v); });
        expect(log(x), [](double v) { return std::log(v); });
        expect(sqrt(x), [](double v) { return std::sqrt(v); });
        expect(tanh(x), [](double v) { return std::tanh(v); });
        expect(scale(x, -2.5), [](double v) { return -2.5 * v; });
    }
}

// Large enough for many ranges of one pass; under AddressSanitizer no range may end behind the array.
TEST(Elementwise, GradientsOfManyRangesAreThoseOfEachPart) {
    constexpr std::int64_t kParts = 4, kPart = 50'001;
    const Tensor dy = cases::numbers({kParts * kPart}, 1).to(DType::f32), y = cases::numbers({kParts * kPart}, 2).to(DType::f32);
    const Tensor dx = unary_backward(Unary::tanh, dy, y);
    for (std::int64_t i = 0; i < kParts; ++i) {
        const auto part = [&](const Tensor& of) { return of.slice(i * kPart, (i + 1) * kPart); };
        EXPECT_TRUE(same_bits(part(dx), unary_backward(Unary::tanh, part(dy), part(y)))) << "part " << i;
    }
}

TEST(Elementwise, PowersAndExtremaKnowTheirEdges) {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    for (const DType dtype : {DType::f64, DType::f32}) {
        const auto numbers = [dtype](const std::vector<double>& values) {
            return Tensor::from(values, {static_cast<std::int64_t>(values.size())}).to(dtype);
        };
        EXPECT_EQ(maximum(numbers({1, 2, -0.0, inf}), numbers({3, 1, 0, 5})).to_vector(), (std::vector<double>{3, 2, 0, inf}));
        EXPECT_EQ(minimum(numbers({1, 2, -inf}), numbers({3, 1, 5})).to_vector(), (std::vector<double>{1, 1, -inf}));
        for (const auto function : {Binary::maximum, Binary::minimum}) {
            EXPECT_TRUE(std::isnan(binary(function, numbers({nan}), numbers({1})).item()));
            EXPECT_TRUE(std::isnan(binary(function, numbers({1}), numbers({nan})).item()));
        }
        // A tie is shared.
        EXPECT_EQ(binary(Binary::maximum_share, numbers({1, 2, 3}), numbers({1, 1, 4})).to_vector(),
                  (std::vector<double>{0.5, 1, 0}));
        EXPECT_EQ(pow(numbers({-2, 0, 4, -8}), numbers({3, 0, 0.5, 2})).to_vector(), (std::vector<double>{-8, 1, 2, 64}));
        EXPECT_EQ(binary(Binary::pow_base, numbers({0, 3}), numbers({0, 2})).to_vector(), (std::vector<double>{0, 6}));
        EXPECT_EQ(binary(Binary::pow_exponent, numbers({0, 1}), numbers({2, 2})).to_vector(), (std::vector<double>{0, 0}));
        EXPECT_EQ(unary(Unary::clamp, numbers({-1, 0.5, 2}), {0, 1}).to_vector(), (std::vector<double>{0, 0.5, 1}));
        EXPECT_TRUE(std::isnan(unary(Unary::clamp, numbers({nan}), {0, 1}).item()));
        EXPECT_EQ(unary_backward(Unary::clamp, numbers({5, 6, 7}), numbers({0, 1, 1.5}), {0, 1}).to_vector(),
                  (std::vector<double>{5, 6, 0}));
        EXPECT_EQ(unary_backward(Unary::power, numbers({5}), numbers({0}), {0}).item(), 0);
    }
}

TEST(Elementwise, ComparesNumbersOfEveryDtype) {
    for (const DType dtype : {DType::f64, DType::f32, DType::i32, DType::u8}) {
        const Tensor a = Tensor::from(std::vector<double>{1, 2, 3}, {3}).to(dtype),
                     b = Tensor::from(std::vector<double>{2}, {1}).to(dtype);
        EXPECT_EQ(compare(Comparison::less, a, b).to_vector(), (std::vector<double>{1, 0, 0})) << name(dtype);
        EXPECT_EQ(compare(Comparison::greater_equal, a, b).to_vector(), (std::vector<double>{0, 1, 1})) << name(dtype);
    }
    expect_error([] { compare(Comparison::less, Tensor::zeros({2}, DType::f32), Tensor::zeros({2}, DType::i32)); },
                 "compare: b is i32, wanted f32");
    expect_error([] { logical(Logical::logical_or, Tensor::zeros({2}, DType::f32), Tensor::zeros({2}, DType::u8)); },
                 "logical_or: a is f32, wanted u8");
}

TEST(Elementwise, AccumulatesInPlace) {
    Tensor target = normal({33, 1025}, DType::f32, 1);
    const Tensor x = normal({33, 1025}, DType::f32, 2), wanted = add(target, x);
    accumulate(target, x);
    EXPECT_TRUE(same_bits(target, wanted));
    expect_error([&] { accumulate(target, Tensor::zeros({33}, DType::f32)); }, "accumulate: x has shape [33], wanted [33, 1025]");
}

TEST(Elementwise, NamesShapesThatDoNotBroadcast) {
    const Tensor a = Tensor::zeros({2, 3}, DType::f32);
    expect_error([&] { add(a, Tensor::zeros({2}, DType::f32)); },
                 "add: shapes [2, 3] and [2] do not broadcast: aligned at the end, 3 meets 2");
    expect_error([&] { mul(a, Tensor::zeros({2, 3}, DType::f64)); }, "mul: b is f64, wanted f32");
    expect_error([&] { where(a, a, a); }, "where: condition is f32, wanted u8");
    expect_error([&] { exp(Tensor::zeros({2}, DType::i32)); }, "i32");
    expect_error([&] { unary_backward(Unary::tanh, a, Tensor::zeros({3}, DType::f32)); },
                 "tanh_backward: y has shape [3], wanted [2, 3]");
}

}  // namespace
}  // namespace heddle::kernels
