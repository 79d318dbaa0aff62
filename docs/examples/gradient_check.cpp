// Proves, or refutes, the gradient of a function from elsewhere: all that it takes is its value and its derivative as plain C++.
#include <heddle/heddle.h>

#include <cmath>

// The foreign function: the Huber loss of some numbers.
double huber(std::span<const double> x) {
    double sum = 0;
    for (const double each : x) sum += std::abs(each) <= 1 ? each * each / 2 : std::abs(each) - 0.5;
    return sum;
}

// Its derivative.
void huber_slope(std::span<const double> x, std::span<double> dx) {
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] = std::abs(x[i]) <= 1 ? x[i] : std::copysign(1, x[i]);
}

// The same with a mistake: outside, the sign is forgotten.
void wrong_slope(std::span<const double> x, std::span<double> dx) {
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] = std::abs(x[i]) <= 1 ? x[i] : 1;
}

int main() {
    const std::vector<double> x{-2.5, -0.3, 0.1, 0.6, 1.7, -1.4};  // none at the kinks, -1 and 1
    const auto right = heddle::gradcheck(huber, huber_slope, x);
    fmt::print("huber_slope: {}\n", right.passed ? fmt::format("proven, {} derivatives", right.compared) : right.message);
    const auto wrong = heddle::gradcheck(huber, wrong_slope, x);
    fmt::print("wrong_slope: {}\n", wrong.passed ? "proven" : wrong.message);
    return right.passed && !wrong.passed ? 0 : 1;
}
