// CUDA's mathematical functions for foreign files: the overloads that <cmath> lacks, min and max with CUDA's conversions, the
// fast functions (exact here) and arithmetic in each rounding mode.
#pragma once

#include <cmath>
#include <cstdlib>

#include <stdlib.h>  // NOLINT: abs(long long) and its like in the global namespace

// CUDA has the overloads of <cmath> in the global namespace. libstdc++'s <math.h> adds std::lerp and C++17's special functions,
// whose names people give to functions of their own (lerp in NVIDIA's helper_math.h), so it is taken as read.
#if defined(__GLIBCXX__)
#define _GLIBCXX_MATH_H 1  // NOLINT
using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cbrt, std::ceil,
    std::copysign;
using std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::fabs, std::fdim, std::floor, std::fma,
    std::fmax;
using std::fmin, std::fmod, std::fpclassify, std::frexp, std::hypot, std::ilogb, std::isfinite, std::isgreater,
    std::isgreaterequal;
using std::isinf, std::isless, std::islessequal, std::islessgreater, std::isnan, std::isnormal, std::isunordered, std::ldexp;
using std::lgamma, std::llrint, std::llround, std::log, std::log10, std::log1p, std::log2, std::logb, std::lrint, std::lround,
    std::modf;
using std::nearbyint, std::nextafter, std::nexttoward, std::pow, std::remainder, std::remquo, std::rint, std::round, std::scalbln;
using std::scalbn, std::signbit, std::sin, std::sinh, std::sqrt, std::tan, std::tanh, std::tgamma, std::trunc;
#else
#include <math.h>
#endif

#include "kernels/emulator/device_calls.h"

// ---- min and max, with C++'s usual conversions. Of a NaN and a number they are the number ----

#define HEDDLE_MIN_MAX(R, A, B)                                                               \
    constexpr R min(const A a, const B b) {                                                   \
        return static_cast<R>(b) < static_cast<R>(a) ? static_cast<R>(b) : static_cast<R>(a); \
    }                                                                                         \
    constexpr R max(const A a, const B b) {                                                   \
        return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a); \
    }
HEDDLE_MIN_MAX(int, int, int)
HEDDLE_MIN_MAX(unsigned, unsigned, unsigned)
HEDDLE_MIN_MAX(unsigned, int, unsigned)
HEDDLE_MIN_MAX(unsigned, unsigned, int)
HEDDLE_MIN_MAX(long, long, long)
HEDDLE_MIN_MAX(unsigned long, unsigned long, unsigned long)
HEDDLE_MIN_MAX(unsigned long, long, unsigned long)
HEDDLE_MIN_MAX(unsigned long, unsigned long, long)
HEDDLE_MIN_MAX(long long, long long, long long)
HEDDLE_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
HEDDLE_MIN_MAX(unsigned long long, long long, unsigned long long)
HEDDLE_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef HEDDLE_MIN_MAX
#define HEDDLE_MIN_MAX(R, A, B)                                                                    \
    inline R min(const A a, const B b) { return std::fmin(static_cast<R>(a), static_cast<R>(b)); } \
    inline R max(const A a, const B b) { return std::fmax(static_cast<R>(a), static_cast<R>(b)); }
HEDDLE_MIN_MAX(float, float, float)
HEDDLE_MIN_MAX(double, double, double)
HEDDLE_MIN_MAX(double, float, double)
HEDDLE_MIN_MAX(double, double, float)
#undef HEDDLE_MIN_MAX
constexpr unsigned umin(unsigned a, unsigned b) { return min(a, b); }
constexpr unsigned umax(unsigned a, unsigned b) { return max(a, b); }
constexpr long long llmin(long long a, long long b) { return min(a, b); }
constexpr long long llmax(long long a, long long b) { return max(a, b); }
constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

// ---- functions that <cmath> lacks: `name` for double, and `name` and `namef` for float, computed in double ----

#define HEDDLE_FUNCTION(name, formula)                                                           \
    inline double name(double x) { return formula; }                                             \
    inline float name##f(float x) { return static_cast<float>(::name(static_cast<double>(x))); } \
    inline float name(float x) { return ::name##f(x); }
HEDDLE_FUNCTION(rsqrt, 1 / std::sqrt(x))
HEDDLE_FUNCTION(rcbrt, 1 / std::cbrt(x))
HEDDLE_FUNCTION(erfinv, heddle::emulator::inverse_erf(x))
HEDDLE_FUNCTION(erfcinv, heddle::emulator::inverse_erfc(x))
HEDDLE_FUNCTION(normcdf, 0.5 * std::erfc(x * -0.70710678118654752440))
HEDDLE_FUNCTION(normcdfinv, -1.41421356237309504880 * heddle::emulator::inverse_erfc(2 * x))
// The remainder is exact, so the angle is small and right.
HEDDLE_FUNCTION(sinpi, std::sin(3.14159265358979323846 * std::remainder(x, 2.0)))
HEDDLE_FUNCTION(cospi, std::cos(3.14159265358979323846 * std::remainder(x, 2.0)))
#undef HEDDLE_FUNCTION

inline float exp10(float x) { return ::exp10f(x); }
inline float j0(float x) { return ::j0f(x); }
inline float j1(float x) { return ::j1f(x); }
inline float jn(int n, float x) { return ::jnf(n, x); }
inline float y0(float x) { return ::y0f(x); }
inline float y1(float x) { return ::y1f(x); }
inline float yn(int n, float x) { return ::ynf(n, x); }
inline void sincos(float x, float* sine, float* cosine) {
    *sine = std::sin(x);
    *cosine = std::cos(x);
}
inline void sincospi(double x, double* sine, double* cosine) {
    *sine = ::sinpi(x);
    *cosine = ::cospi(x);
}
inline void sincospif(float x, float* sine, float* cosine) {
    *sine = ::sinpif(x);
    *cosine = ::cospif(x);
}
inline void sincospi(float x, float* sine, float* cosine) { ::sincospif(x, sine, cosine); }
inline double copysign(double x, float sign) { return std::copysign(x, static_cast<double>(sign)); }
inline double copysign(float x, double sign) { return std::copysign(static_cast<double>(x), sign); }

inline double norm3d(double a, double b, double c) {
    const double x[3] = {a, b, c};
    return heddle::emulator::length(3, x);
}
inline double norm4d(double a, double b, double c, double d) {
    const double x[4] = {a, b, c, d};
    return heddle::emulator::length(4, x);
}
inline double rhypot(double a, double b) { return 1 / std::hypot(a, b); }
inline double rnorm3d(double a, double b, double c) { return 1 / ::norm3d(a, b, c); }
inline double rnorm4d(double a, double b, double c, double d) { return 1 / ::norm4d(a, b, c, d); }
inline float norm3df(float a, float b, float c) { return static_cast<float>(::norm3d(a, b, c)); }
inline float norm4df(float a, float b, float c, float d) { return static_cast<float>(::norm4d(a, b, c, d)); }
inline float rhypotf(float a, float b) { return static_cast<float>(::rhypot(static_cast<double>(a), static_cast<double>(b))); }
inline float rhypot(float a, float b) { return ::rhypotf(a, b); }
inline float rnorm3df(float a, float b, float c) { return static_cast<float>(::rnorm3d(a, b, c)); }
inline float rnorm4df(float a, float b, float c, float d) { return static_cast<float>(::rnorm4d(a, b, c, d)); }
inline double norm(int n, const double* x) { return heddle::emulator::length(n, x); }
inline double rnorm(int n, const double* x) { return 1 / heddle::emulator::length(n, x); }
inline float normf(int n, const float* x) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return static_cast<float>(std::sqrt(sum));
}
inline float rnormf(int n, const float* x) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return static_cast<float>(1 / std::sqrt(sum));
}

// ---- the fast functions: the exact ones here ----

inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __tanhf(float x) { return std::tanh(x); }
inline void __sincosf(float x, float* sine, float* cosine) { ::sincos(x, sine, cosine); }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return ::exp10f(x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline double fdivide(double a, double b) { return a / b; }
inline float fdivide(float a, float b) { return a / b; }
/// x within [0, 1]; 0 for NaN.
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float __frsqrt_rn(float x) { return static_cast<float>(1 / std::sqrt(static_cast<long double>(x))); }

// ---- arithmetic in each rounding mode ----

#define HEDDLE_ROUNDED(T, f, name, suffix, mode)                                                                                 \
    inline T __##f##add_##suffix(T a, T b) { return heddle::emulator::rounded(heddle::emulator::Arithmetic::add, mode, a, b); }  \
    inline T __##f##sub_##suffix(T a, T b) { return heddle::emulator::rounded(heddle::emulator::Arithmetic::add, mode, a, -b); } \
    inline T __##f##mul_##suffix(T a, T b) {                                                                                     \
        return heddle::emulator::rounded(heddle::emulator::Arithmetic::multiply, mode, a, b);                                    \
    }                                                                                                                            \
    inline T __##f##div_##suffix(T a, T b) {                                                                                     \
        return heddle::emulator::rounded(heddle::emulator::Arithmetic::divide, mode, a, b);                                      \
    }                                                                                                                            \
    inline T __##f##rcp_##suffix(T a) { return heddle::emulator::rounded(heddle::emulator::Arithmetic::divide, mode, T{1}, a); } \
    inline T __##f##sqrt_##suffix(T a) { return heddle::emulator::rounded(heddle::emulator::Arithmetic::root, mode, a); }        \
    inline T name##_##suffix(T a, T b, T c) {                                                                                    \
        return heddle::emulator::rounded(heddle::emulator::Arithmetic::fused, mode, a, b, c);                                    \
    }
#define HEDDLE_NEAREST(T, f, name)                        \
    inline T __##f##add_rn(T a, T b) { return a + b; }    \
    inline T __##f##sub_rn(T a, T b) { return a - b; }    \
    inline T __##f##mul_rn(T a, T b) { return a * b; }    \
    inline T __##f##div_rn(T a, T b) { return a / b; }    \
    inline T __##f##rcp_rn(T a) { return 1 / a; }         \
    inline T __##f##sqrt_rn(T a) { return std::sqrt(a); } \
    inline T name##_rn(T a, T b, T c) { return std::fma(a, b, c); }
HEDDLE_NEAREST(float, f, __fmaf)
HEDDLE_ROUNDED(float, f, __fmaf, rz, heddle::emulator::Rounding::zero)
HEDDLE_ROUNDED(float, f, __fmaf, ru, heddle::emulator::Rounding::up)
HEDDLE_ROUNDED(float, f, __fmaf, rd, heddle::emulator::Rounding::down)
HEDDLE_NEAREST(double, d, __fma)
HEDDLE_ROUNDED(double, d, __fma, rz, heddle::emulator::Rounding::zero)
HEDDLE_ROUNDED(double, d, __fma, ru, heddle::emulator::Rounding::up)
HEDDLE_ROUNDED(double, d, __fma, rd, heddle::emulator::Rounding::down)
#undef HEDDLE_ROUNDED
#undef HEDDLE_NEAREST
#define __fmaf_ieee_rn __fmaf_rn
#define __fmaf_ieee_rz __fmaf_rz
#define __fmaf_ieee_ru __fmaf_ru
#define __fmaf_ieee_rd __fmaf_rd
