// Proves, or refutes, the gradient of a function from elsewhere: all that it takes is its value and its derivative as plain C++.
#include <heddle/heddle.h>

#include <cmath>

using namespace heddle;

// The foreign function: the Huber loss of n numbers, whose gradient goes to `gradient`.
double huber(const double* x, int n, double* gradient) {
    double sum = 0;
    for (int i = 0; i < n; ++i) {
        const bool inside = std::abs(x[i]) <= 1;
        sum += inside ? x[i] * x[i] / 2 : std::abs(x[i]) - 0.5;
        gradient[i] = inside ? x[i] : std::copysign(1, x[i]);
    }
    return sum;
}

// The same with a mistake: outside, the sign is forgotten.
double wrong_huber(const double* x, int n, double* gradient) {
    const double sum = huber(x, n, gradient);
    for (int i = 0; i < n; ++i) gradient[i] = std::abs(x[i]) <= 1 ? x[i] : 1;
    return sum;
}

// What gradcheck takes: the value, and its gradient times that of the result.
PlainFunction plain(double (*function)(const double*, int, double*)) {
    const auto call = [function](const Tensor& x, Tensor gradient) {
        return function(x.values<double>().data(), static_cast<int>(x.numel()), gradient.mutable_values<double>().data());
    };
    return {.forward = [call](auto in) -> std::vector<Tensor> {
                return {Tensor::full({}, call(in[0], Tensor::empty(in[0].shape(), DType::f64)), DType::f64)};
            },
            .backward = [call](auto in, auto, auto cotangents) -> std::vector<Tensor> {
                Tensor gradient = Tensor::empty(in[0].shape(), DType::f64);
                call(in[0], gradient);
                for (double& each : gradient.mutable_values<double>()) each *= cotangents[0].item();
                return {gradient};
            },
            .name = "huber"};
}

int main() {
    const Tensor x = Tensor::from({-2.5, -0.3, 0.1, 0.6, 1.7, -1.4}, {6});  // none at the kinks, -1 and 1
    const auto right = gradcheck(plain(huber), {x});
    fmt::print("huber: {}\n", right.passed ? fmt::format("proven, {} derivatives", right.compared) : right.message);
    const auto wrong = gradcheck(plain(wrong_huber), {x});
    fmt::print("wrong_huber: {}\n", wrong.passed ? "proven" : wrong.message);
    return right.passed && !wrong.passed ? 0 : 1;
}
