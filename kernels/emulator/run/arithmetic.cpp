// CUDA's arithmetic beyond the C library's: operations in each rounding mode, and a few special functions.
#include <cfenv>
#include <cmath>
#include <limits>

#include "kernels/emulator/device_calls.h"

namespace heddle::emulator {
namespace {

int mode_of(Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest: return FE_TONEAREST;
        case Rounding::zero: return FE_TOWARDZERO;
        case Rounding::up: return FE_UPWARD;
        case Rounding::down: return FE_DOWNWARD;
    }
    return FE_TONEAREST;
}

// Volatile operands and results keep the compiler from moving the operation out of the changed mode.
template <class T>
T in_mode(Arithmetic operation, Rounding rounding, T a_, T b_, T c_) {
    const volatile T a = a_, b = b_, c = c_;
    volatile T result = 0;
    std::fesetround(mode_of(rounding));
    switch (operation) {
        case Arithmetic::add: result = a + b; break;
        case Arithmetic::multiply: result = a * b; break;
        case Arithmetic::divide: result = a / b; break;
        case Arithmetic::root: result = std::sqrt(a); break;
        case Arithmetic::fused: result = std::fma(a, b, c); break;
    }
    std::fesetround(FE_TONEAREST);
    return result;
}

}  // namespace

float rounded(Arithmetic operation, Rounding rounding, float a, float b, float c) {
    return in_mode(operation, rounding, a, b, c);
}
double rounded(Arithmetic operation, Rounding rounding, double a, double b, double c) {
    return in_mode(operation, rounding, a, b, c);
}

double inverse_erfc(double y) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!(y >= 0 && y <= 2)) return std::numeric_limits<double>::quiet_NaN();
    if (y == 0 || y == 2) return y == 0 ? infinity : -infinity;
    if (y > 1) return -inverse_erfc(2 - y);
    // Abramowitz and Stegun 26.2.22, then Halley's steps.
    const double t = std::sqrt(-2 * std::log(y / 2));
    double x = 0.70710678118654752 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
    for (int i = 0; i < 3; ++i) {
        const double error = std::erfc(x) - y;
        x += error / (1.12837916709551257 * std::exp(-x * x) - x * error);
    }
    return x;
}

double inverse_erf(double x) {
    if (std::abs(x) > 0.5) return std::copysign(inverse_erfc(1 - std::abs(x)), x);
    double y = x * 0.886226925452758014;  // the slope at 0
    for (int i = 0; i < 4; ++i) {
        const double error = std::erf(y) - x;
        y -= error / (1.12837916709551257 * std::exp(-y * y) + y * error);
    }
    return y;
}

double length(int n, const double* x) {
    double result = 0;
    for (int i = 0; i < n; ++i) result = std::hypot(result, x[i]);
    return result;
}

}  // namespace heddle::emulator
