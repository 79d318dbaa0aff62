// The functions of activation.h on one number, for kernels: alone (activation.cu) or after a product.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/device/number.h"

namespace heddle::device {

/// a / b. The f32 form has an error of 2 units in the last place and a fraction of the instructions; it gives 0 where b is
/// above 2^126.
__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }

/// Phi(x), the normal distribution function, and exp(-x^2 / 2), which its derivative needs.
template <class A>
struct NormalDistribution {
    A phi;
    A bell;
};

/// In f64, with the library's functions.
__device__ __forceinline__ NormalDistribution<double> normal_distribution(double x) {
    return {0.5 * ::erfc(-x * 0.70710678118654752440), ::exp(-0.5 * x * x)};
}

/// In f32. erfcf alone would cost some 70 instructions (of PTX) an element, three times what all of this does. The tail below
/// -|x| is erfcx(z) exp(-z^2) / 2 with z = |x| / sqrt 2, and erfcx(z) = t p(t), t = 2 / (2 + z), with the polynomial of
/// activation_simd.h: relative error 1.7e-7. No difference of near numbers, so small probabilities keep their digits. One
/// exponential serves both results.
__device__ __forceinline__ NormalDistribution<float> normal_distribution(float x) {
    const float t = quotient(2.0f, ::fabsf(x) * 0.707106781f + 2.0f);
    float r = -0.05954839289188385f;
    r = r * t + 0.2869803309440613f;
    r = r * t + -0.49228909611701965f;
    r = r * t + 0.28396937251091003f;
    r = r * t + -0.030707022175192833f;
    r = r * t + 0.20439951121807098f;
    r = r * t + 0.2426805943250656f;
    r = r * t + 0.2824312448501587f;
    r = r * t + 0.2820833921432495f;
    const float bell = exponential(x * x * -0.5f);
    const float below = 0.5f * bell * t * r;
    return {x < 0 ? below : 1.0f - below, bell};
}

/// x Phi(x)
template <class A>
__device__ __forceinline__ A gelu(A x) {
    return x * normal_distribution(x).phi;
}
/// Phi(x) + x phi(x)
template <class A>
__device__ __forceinline__ A gelu_slope(A x) {
    const NormalDistribution<A> at = normal_distribution(x);
    return at.phi + x * at.bell * static_cast<A>(0.39894228040143267794);
}

/// exp(-2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
__device__ __forceinline__ double gelu_tanh_exponential(double x) {
    return ::exp(x * (x * x * -0.071354816272600248 + -1.5957691216057308));
}
__device__ __forceinline__ float gelu_tanh_exponential(float x) {
    return exponential(x * (x * x * -0.0713548163f + -1.59576912f));
}

/// x s, s = 1 / (1 + exp(-2 u))
template <class A>
__device__ __forceinline__ A gelu_tanh(A x) {
    return quotient(x, A{1} + gelu_tanh_exponential(x));
}
/// s + x s (1 - s) 2 u'
template <class A>
__device__ __forceinline__ A gelu_tanh_slope(A wide) {
    // Beyond this the slope is 0 or 1, and the exponential or u' would overflow.
    constexpr A kEnd = std::is_same_v<A, double> ? 18 : 9;
    const A x = wide > kEnd ? kEnd : (wide < -kEnd ? -kEnd : wide);
    const A e = gelu_tanh_exponential(x);
    const A s = quotient(A{1}, A{1} + e);
    return s +
           x * (s * e) * s * (x * x * static_cast<A>(0.21406444881780074) + static_cast<A>(1.5957691216057308));  // 1 - s = s e
}

/// x s, s = 1 / (1 + exp(-x))
template <class A>
__device__ __forceinline__ A silu(A x) {
    return quotient(x, A{1} + exponential(-x));
}
/// s + x s (1 - s)
template <class A>
__device__ __forceinline__ A silu_slope(A wide) {
    // Below this the slope is 0 in A, and the exponential or the quotient's divisor would overflow.
    constexpr A kEnd = std::is_same_v<A, double> ? -700 : -87;
    const A x = wide < kEnd ? kEnd : wide;
    const A e = exponential(-x);
    const A s = quotient(A{1}, A{1} + e);
    return s + x * (s * e) * s;  // 1 - s = s e
}

/// max(0, x); a NaN stays.
template <class A>
__device__ __forceinline__ A relu(A x) {
    return x < 0 ? A{0} : x;
}

}  // namespace heddle::device
