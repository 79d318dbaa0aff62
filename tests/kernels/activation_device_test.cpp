// ReLU and GELU on every device, against the f64 reference.
#include "kernels/activation/activation.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// Around one vector, and around one block of 256 threads.
const Shape kShapes[] = {{0}, {1}, {7}, {31}, {32}, {33}, {5, 127}, {1025}, {3, 4, 700}};

// Polynomial and exponential of GELU's f32 form: some units in the last place of the largest result.
constexpr Allowed kAllowed{.f64 = 1e-13, .f32 = 2e-6};

using Forward = Tensor (*)(const Tensor&);
using Backward = Tensor (*)(const Tensor& dy, const Tensor& saved);
struct Function {
    const char* name;
    Forward forward;
    Backward backward;
    bool saves_result;
};
const Function kFunctions[] = {
    {"relu", relu_forward, relu_backward, true},
    {"gelu", [](const Tensor& x) { return gelu_forward(x, false); },
     [](const Tensor& dy, const Tensor& x) { return gelu_backward(dy, x, false); }, false},
    {"gelu_tanh", [](const Tensor& x) { return gelu_forward(x, true); },
     [](const Tensor& dy, const Tensor& x) { return gelu_backward(dy, x, true); }, false},
};

TEST(ActivationOnDevices, FollowsTheReferenceForwardAndBackward) {
    for (const Numbers& numbers : all_numbers())
        for (const Function& function : kFunctions)
            for (const Shape& shape : kShapes)
                for (const bool offset : {false, true}) {
                    const std::string what =
                        std::string(function.name) + " of " + shape.str() + (offset ? ", offset by one" : "");
                    const auto placed = [&](const Tensor& t) { return offset ? offset_by_one(in(numbers, t)) : in(numbers, t); };
                    const Tensor x = normal(shape, DType::f64, 1, 0, 2), dy = normal(shape, DType::f64, 2);
                    const Tensor want = function.forward(rounded(numbers, x));
                    expect_close(function.forward(placed(x)), want, numbers, what, kAllowed);
                    const Tensor saved = function.saves_result ? want : x;
                    expect_close(function.backward(placed(dy), placed(saved)),
                                 function.backward(rounded(numbers, dy), rounded(numbers, saved)), numbers, what + ", backward",
                                 kAllowed);
                }
}

// Where exponentials overflow or vanish, and at the corners.
TEST(ActivationOnDevices, KeepsItsDigitsFarFromZeroAndNaN) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor x =
        Tensor::from(std::vector<double>{0, -0.0, 1e-20, -1e-20, 5, -5, 9, -9, 20, -20, 1e4, -1e4, 1e18, -1e18, inf, nan}, {16});
    const Tensor ones = Tensor::full(x.shape(), 1, DType::f64);
    for (const Numbers& numbers : all_numbers())
        for (const Function& function : kFunctions) {
            const std::vector<double> want = function.forward(rounded(numbers, x)).to_vector();
            const std::vector<double> got = function.forward(in(numbers, x)).to(Device::cpu).to_vector();
            const Tensor saved = function.saves_result ? function.forward(rounded(numbers, x)) : x;
            const std::vector<double> want_slope = function.backward(ones, rounded(numbers, saved)).to_vector();
            const std::vector<double> slope =
                function.backward(in(numbers, ones), in(numbers, saved)).to(Device::cpu).to_vector();
            const double relative = numbers.dtype == DType::bf16 ? 1.0 / 128 : numbers.dtype == DType::f32 ? 2e-5 : 1e-12;
            for (std::size_t i = 0; i < want.size(); ++i) {
                const auto near = [&](double a, double b) {
                    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= relative * std::abs(b) + 1e-26;
                };
                EXPECT_TRUE(near(got[i], want[i])) << function.name << "(" << x.to_vector()[i] << ") on " << to_string(numbers)
                                                   << " is " << got[i] << ", wanted " << want[i];
                if (!std::isfinite(want_slope[i])) continue;  // the reference's u' overflows, or x is NaN
                EXPECT_TRUE(near(slope[i], want_slope[i]))
                    << function.name << "'(" << x.to_vector()[i] << ") on " << to_string(numbers) << " is " << slope[i]
                    << ", wanted " << want_slope[i];
            }
            EXPECT_TRUE(std::isnan(got.back()));
        }
}

TEST(ActivationOnDevices, GivesTheSameBitsAgain) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor x = in(numbers, normal({777}, DType::f64, 1)), dy = in(numbers, normal({777}, DType::f64, 2));
        expect_same_bits_again(
            [&] {
                return std::vector{relu_forward(x), relu_backward(dy, x), gelu_forward(x), gelu_backward(dy, x, true)};
            },
            "activation on " + to_string(numbers));
    }
}

TEST(ActivationOnDevices, NamesTheArgumentThatLiesElsewhere) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor here = normal({4}, DType::f32, 1), there = here.to(Device::cuda);
    EXPECT_EQ(error_of([&] { relu_backward(there, here); }), "relu_backward: y lies on cpu, but dy on cuda; move it with to()");
}

}  // namespace
}  // namespace heddle::kernels
