// ReLU, GELU and SiLU on every device, against the f64 reference.
#include "kernels/activation/activation.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

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
    {"silu", silu_forward, silu_backward, false},
};

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

}  // namespace
}  // namespace heddle::kernels
