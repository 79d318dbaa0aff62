// Activations and dropout on every device. ReLU and GELU against the f64 reference; where dropout's key lies, and NaN.
#include <cstring>

#include "core/random.h"
#include "kernels/activation/activation.h"
#include "kernels/dropout/dropout.h"
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

// A key of which one part lies in memory, where it changes between two launches.
TEST(DropoutOnDevices, CompletesItsKeyFromMemory) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    Generator keys;
    keys.seed = 5;
    Tensor step = Tensor::empty({1}, DType::f64, Device::cuda);  // eight bytes
    const Tensor x = normal({9, 264}, DType::f32, 1);
    for (const std::uint64_t update : {1, 2}) {
        keys.start(update, 0);
        const Dropout told = keys.next_dropout("dropout", 0.4);
        keys.start(update, 0);
        keys.step_key_on_device = reinterpret_cast<const std::uint64_t*>(step.bytes_data());
        const Dropout completed = keys.next_dropout("dropout", 0.4);
        keys.step_key_on_device = nullptr;
        const std::uint64_t key = keys.step_key();
        double bits = 0;
        std::memcpy(&bits, &key, sizeof bits);
        step.copy_(Tensor::from(std::vector<double>{bits}, {1}));
        EXPECT_NE(told.key, completed.key);
        EXPECT_TRUE(same_bits(dropout_forward(x.to(Device::cuda), completed).to(Device::cpu), dropout_forward(x, told)));
    }
}

TEST(DropoutOnDevices, LetsNaNThroughAlsoWhereItDrops) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor x = Tensor::full({4, 24}, std::numeric_limits<double>::quiet_NaN(), DType::f64);
        for (const double value : dropout_forward(in(numbers, x), Dropout(0.5, 3)).to(Device::cpu).to_vector())
            EXPECT_TRUE(std::isnan(value)) << to_string(numbers);
    }
}

}  // namespace
}  // namespace heddle::kernels
