// The functions of elementwise.h for f32. Every element goes through a vector, the last ones too, so that its bits do not depend
// on its place.
#include <cmath>

#include "kernels/elementwise/detail/elementwise.h"
#include "kernels/simd_functions.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;
namespace simd = ::heddle::HEDDLE_LEVEL;  // tensors have functions of these names, too

namespace {

// y[i] = function(x[i])
template <class Function>
void sweep(const float* x, float* y, std::int64_t n, Function function) {
    for (std::int64_t i = 0; i < n; i += kFloats) store_at(y, i, n, function(load_at(x, i, n)));
}

// An operand that steps by 1 or, if repeated, by 0.
struct Stepping {
    const float* from;
    std::int64_t step;
    VecF repeated = step == 0 ? broadcast(*from) : VecF{};

    VecF at(std::int64_t i, std::int64_t n) const { return step == 0 ? repeated : load_at(from, i, n); }
};

// y[i] = function(a[i * step_a], b[i * step_b])
template <class Function>
void sweep(const float* a, std::int64_t step_a, const float* b, std::int64_t step_b, float* y, std::int64_t n,
           Function function) {
    if (n == 0) return;
    if (step_a == 1 && step_b == 1) {
        for (std::int64_t i = 0; i < n; i += kFloats) store_at(y, i, n, function(load_at(a, i, n), load_at(b, i, n)));
        return;
    }
    const Stepping first{a, step_a}, second{b, step_b};
    for (std::int64_t i = 0; i < n; i += kFloats) store_at(y, i, n, function(first.at(i, n), second.at(i, n)));
}

// No formula for vectors: lane by lane.
VecF power(VecF a, VecF b) {
    float bases[kFloats], exponents[kFloats];
    store(bases, a);
    store(exponents, b);
    for (int i = 0; i < kFloats; ++i) bases[i] = std::pow(bases[i], exponents[i]);
    return load(bases);
}

VecF power(VecF x, float exponent) { return power(x, broadcast(exponent)); }

const VecF kNothing{};

VecF sign_of(VecF x) { return x > 0.0f ? kNothing + 1.0f : (x < 0.0f ? kNothing - 1.0f : (x == 0.0f ? kNothing : x)); }

}  // namespace

void unary_values(Unary function, const UnaryNumbers& numbers, const float* x, float* y, std::int64_t n) {
    const auto first = static_cast<float>(numbers.first), second = static_cast<float>(numbers.second);
    switch (function) {
        case Unary::neg: return sweep(x, y, n, [](VecF at) { return -at; });
        case Unary::exp: return sweep(x, y, n, [](VecF at) { return exp_gradual(at); });
        case Unary::expm1: return sweep(x, y, n, [](VecF at) { return expm1(at); });
        case Unary::log: return sweep(x, y, n, [](VecF at) { return simd::log(at); });
        case Unary::log1p: return sweep(x, y, n, [](VecF at) { return log1p(at); });
        case Unary::sqrt:  // the compiler makes vectors of it
            for (std::int64_t i = 0; i < n; ++i) y[i] = std::sqrt(x[i]);
            return;
        case Unary::rsqrt:
            for (std::int64_t i = 0; i < n; ++i) y[i] = 1 / std::sqrt(x[i]);
            return;
        case Unary::square: return sweep(x, y, n, [](VecF at) { return at * at; });
        case Unary::abs: return sweep(x, y, n, [](VecF at) { return magnitude(at); });
        case Unary::sign: return sweep(x, y, n, [](VecF at) { return sign_of(at); });
        case Unary::sin: return sweep(x, y, n, [](VecF at) { return sin(at); });
        case Unary::cos: return sweep(x, y, n, [](VecF at) { return cos(at); });
        case Unary::tanh: return sweep(x, y, n, [](VecF at) { return simd::tanh(at); });
        case Unary::sigmoid: return sweep(x, y, n, [](VecF at) { return sigmoid(at); });
        case Unary::softplus: return sweep(x, y, n, [](VecF at) { return softplus(at); });
        case Unary::erf: return sweep(x, y, n, [](VecF at) { return simd::erf(at); });
        case Unary::scale: return sweep(x, y, n, [first](VecF at) { return first * at; });
        case Unary::power: return sweep(x, y, n, [first](VecF at) { return power(at, first); });
        case Unary::clamp:
            return sweep(x, y, n, [=](VecF at) {
                const VecF raised = at < first ? broadcast(first) : at;
                return raised > second ? broadcast(second) : raised;
            });
    }
}

void unary_gradients(Unary function, const UnaryNumbers& numbers, const float* dy, const float* saved, float* dx,
                     std::int64_t n) {
    const auto first = static_cast<float>(numbers.first), second = static_cast<float>(numbers.second);
    const auto each = [=](auto slope) { sweep(dy, 1, saved, 1, dx, n, slope); };
    switch (function) {
        case Unary::neg: return sweep(dy, dx, n, [](VecF g) { return -g; });
        case Unary::scale: return sweep(dy, dx, n, [first](VecF g) { return first * g; });
        case Unary::sign: return sweep(dy, dx, n, [](VecF) { return kNothing; });
        case Unary::exp: return each([](VecF g, VecF y) { return g * y; });
        case Unary::expm1: return each([](VecF g, VecF y) { return g * (y + 1.0f); });
        case Unary::log: return each([](VecF g, VecF x) { return g / x; });
        case Unary::log1p: return each([](VecF g, VecF x) { return g / (x + 1.0f); });
        case Unary::sqrt: return each([](VecF g, VecF y) { return g / (2.0f * y); });
        case Unary::rsqrt: return each([](VecF g, VecF y) { return -0.5f * g * (y * y * y); });
        case Unary::square: return each([](VecF g, VecF x) { return 2.0f * g * x; });
        case Unary::abs: return each([](VecF g, VecF x) { return g * sign_of(x); });
        case Unary::sin: return each([](VecF g, VecF x) { return g * cos(x); });
        case Unary::cos: return each([](VecF g, VecF x) { return -g * sin(x); });
        case Unary::tanh: return each([](VecF g, VecF y) { return g * (1.0f - y * y); });
        case Unary::sigmoid: return each([](VecF g, VecF y) { return g * (y * (1.0f - y)); });
        case Unary::softplus: return each([](VecF g, VecF x) { return g * sigmoid(x); });
        case Unary::erf: return each([](VecF g, VecF x) { return g * (1.12837917f * exp_gradual(-x * x)); });
        case Unary::power:
            if (first == 0) return sweep(dy, dx, n, [](VecF) { return kNothing; });
            return each([first](VecF g, VecF x) { return g * (first * power(x, first - 1)); });
        case Unary::clamp: return each([=](VecF g, VecF x) { return ((x >= first) & (x <= second)) ? g : kNothing; });
    }
}

void binary_values(Binary function, const float* a, std::int64_t step_a, const float* b, std::int64_t step_b, float* y,
                   std::int64_t n) {
    const auto each = [=](auto formula) { sweep(a, step_a, b, step_b, y, n, formula); };
    switch (function) {
        case Binary::add: return each([](VecF l, VecF r) { return l + r; });
        case Binary::sub: return each([](VecF l, VecF r) { return l - r; });
        case Binary::mul: return each([](VecF l, VecF r) { return l * r; });
        case Binary::div: return each([](VecF l, VecF r) { return l / r; });
        case Binary::pow: return each([](VecF l, VecF r) { return power(l, r); });
        case Binary::pow_base: return each([](VecF l, VecF r) { return r == 0.0f ? kNothing : r * power(l, r - 1.0f); });
        case Binary::pow_exponent:
            return each([](VecF l, VecF r) { return ((l == 0.0f) & (r >= 0.0f)) ? kNothing : power(l, r) * simd::log(l); });
        case Binary::maximum: return each([](VecF l, VecF r) { return ((l > r) | (l != l)) ? l : r; });
        case Binary::minimum: return each([](VecF l, VecF r) { return ((l < r) | (l != l)) ? l : r; });
        case Binary::maximum_share:
            return each([](VecF l, VecF r) { return l == r ? kNothing + 0.5f : (l < r ? kNothing : kNothing + 1.0f); });
        case Binary::minimum_share:
            return each([](VecF l, VecF r) { return l == r ? kNothing + 0.5f : (l > r ? kNothing : kNothing + 1.0f); });
    }
}

void where_values(const std::uint8_t* condition, std::int64_t step, const float* a, std::int64_t step_a, const float* b,
                  std::int64_t step_b, float* y, std::int64_t n) {
    typedef std::uint8_t Flags __attribute__((vector_size(kFloats)));
    if (n == 0) return;
    const Stepping first{a, step_a}, second{b, step_b};
    const Flags all = *condition - Flags{};
    for (std::int64_t i = 0; i < n; i += kFloats) {
        Flags flags = all;
        if (step != 0) std::memcpy(&flags, condition + i, static_cast<std::size_t>(n - i < kFloats ? n - i : kFloats));
        store_at(y, i, n, __builtin_convertvector(flags, VecI) != 0 ? first.at(i, n) : second.at(i, n));
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
