// The arithmetic that foreign kernels get: cuda_fp16.h, cuda_bf16.h, conversions and sums in each rounding mode, functions on
// bits. A rounded result is compared with the exact one, which f64 holds here, and with its neighbours.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

#include "kernels/emulator/include/cuda_bf16.h"
#include "kernels/emulator/include/cuda_fp16.h"

namespace heddle::emulator {
namespace {

struct F16 {
    using One = __half;
    using Pair = __half2;
    static constexpr int exponent_bits = 5, mantissa_bits = 10;
    static One of(unsigned bits) { return __ushort_as_half(static_cast<unsigned short>(bits)); }
    static unsigned bits(One x) { return __half_as_ushort(x); }
    static One from(float x, Rounding r) {
        return r == Rounding::nearest ? __float2half_rn(x)
               : r == Rounding::zero  ? __float2half_rz(x)
               : r == Rounding::up    ? __float2half_ru(x)
                                      : __float2half_rd(x);
    }
    static One from_int(long long x, Rounding r) {
        return r == Rounding::nearest ? __ll2half_rn(x)
               : r == Rounding::zero  ? __ll2half_rz(x)
               : r == Rounding::up    ? __ll2half_ru(x)
                                      : __ll2half_rd(x);
    }
};
struct Bf16 {
    using One = __nv_bfloat16;
    using Pair = __nv_bfloat162;
    static constexpr int exponent_bits = 8, mantissa_bits = 7;
    static One of(unsigned bits) { return __ushort_as_bfloat16(static_cast<unsigned short>(bits)); }
    static unsigned bits(One x) { return __bfloat16_as_ushort(x); }
    static One from(float x, Rounding r) {
        return r == Rounding::nearest ? __float2bfloat16_rn(x)
               : r == Rounding::zero  ? __float2bfloat16_rz(x)
               : r == Rounding::up    ? __float2bfloat16_ru(x)
                                      : __float2bfloat16_rd(x);
    }
    static One from_int(long long x, Rounding r) {
        return r == Rounding::nearest ? __ll2bfloat16_rn(x)
               : r == Rounding::zero  ? __ll2bfloat16_rz(x)
               : r == Rounding::up    ? __ll2bfloat16_ru(x)
                                      : __ll2bfloat16_rd(x);
    }
};

// The value of finite bits by the definition of the format; infinity counts as the next power of two.
template <class F>
double value(unsigned bits) {
    const unsigned magnitude = bits & 0x7fffu, field = magnitude >> F::mantissa_bits;
    const unsigned fraction = magnitude & ((1u << F::mantissa_bits) - 1);
    const int bias = (1 << (F::exponent_bits - 1)) - 1;
    const double significand = field == 0 ? fraction : fraction + (1u << F::mantissa_bits);
    const double x = std::ldexp(significand, static_cast<int>(field == 0 ? 1 : field) - bias - F::mantissa_bits);
    return bits >> 15 != 0 ? -x : x;
}
template <class F>
constexpr unsigned infinity() {
    return ((1u << F::exponent_bits) - 1) << F::mantissa_bits;
}

// The bits of x, found by halving the range of magnitudes: slow, and by the definition of each mode.
template <class F>
unsigned rounded_bits(double x, Rounding rounding) {
    const bool negative = std::signbit(x);
    const double magnitude = std::abs(x);
    unsigned low = 0, high = infinity<F>();
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        (value<F>(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - value<F>(low), above = value<F>(high) - magnitude;
    bool away = rounding == Rounding::up ? !negative && below > 0 : rounding == Rounding::down && negative && below > 0;
    if (rounding == Rounding::nearest) away = below > above || (below == above && low % 2 == 1);
    return (away ? high : low) | (negative ? 0x8000u : 0u);
}

constexpr Rounding kModes[] = {Rounding::nearest, Rounding::zero, Rounding::up, Rounding::down};

template <class F>
class SmallFloats : public testing::Test {};
using Formats = testing::Types<F16, Bf16>;
TYPED_TEST_SUITE(SmallFloats, Formats);

TYPED_TEST(SmallFloats, EachValueConvertsExactly) {
    using F = TypeParam;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const auto x = F::of(bits);
        const auto f = static_cast<float>(x);
        if ((bits & 0x7fffu) > infinity<F>()) {
            ASSERT_TRUE(std::isnan(f) && __hisnan(x)) << bits;
            ASSERT_EQ(F::bits(typename F::One(f)), 0x7fffu);
            continue;
        }
        ASSERT_EQ(F::bits(typename F::One(f)), bits);
        ASSERT_EQ(F::bits(typename F::One(static_cast<double>(f))), bits);
        ASSERT_EQ(F::bits(__hneg(x)), bits ^ 0x8000u);
        ASSERT_EQ(F::bits(__habs(x)), bits & 0x7fffu);
        if ((bits & 0x7fffu) == infinity<F>()) {
            ASSERT_EQ(__hisinf(x), bits >> 15 != 0 ? -1 : 1);
            continue;
        }
        ASSERT_EQ(f, value<F>(bits));
        ASSERT_EQ(static_cast<float>(hfloor(x)), std::floor(f));
        ASSERT_EQ(static_cast<int>(x), to_integer<int>(std::trunc(value<F>(bits)), Rounding::zero, false));
        for (const Rounding mode : kModes) ASSERT_EQ(F::bits(F::from(f, mode)), bits);
    }
}

// Between two neighbours: the middle, and what lies a little below and above it.
TYPED_TEST(SmallFloats, WhatLiesBetweenIsRoundedInEachMode) {
    using F = TypeParam;
    for (unsigned bits = 0; bits < infinity<F>(); ++bits) {
        const double low = value<F>(bits), high = value<F>(bits + 1), middle = (low + high) / 2;
        for (const double wanted :
             {low + (high - low) / 1024, middle, middle + (high - low) / 1024, middle - (high - low) / 1024}) {
            const auto x = static_cast<float>(wanted);
            for (const float signed_x : {x, -x})
                for (const Rounding mode : kModes)
                    ASSERT_EQ(F::bits(F::from(signed_x, mode)), rounded_bits<F>(signed_x, mode))
                        << signed_x << " " << static_cast<int>(mode);
            ASSERT_EQ(F::bits(typename F::One(wanted)), rounded_bits<F>(wanted, Rounding::nearest)) << wanted;
        }
    }
    const float large = std::numeric_limits<float>::max();
    EXPECT_EQ(F::bits(F::from(large, Rounding::zero)), infinity<F>() - 1);
    EXPECT_EQ(F::bits(F::from(-large, Rounding::up)), (infinity<F>() - 1) | 0x8000u);
    EXPECT_EQ(F::bits(F::from(large, Rounding::up)), infinity<F>());
}

TYPED_TEST(SmallFloats, IntegersAreRoundedOnce) {
    using F = TypeParam;
    std::mt19937_64 random(1);
    for (int i = 0; i < 20'000; ++i) {
        const auto x = static_cast<long long>(random()) >> (12 + i % 52);  // 52 bits: exact in f64
        for (const Rounding mode : kModes)
            ASSERT_EQ(F::bits(F::from_int(x, mode)), rounded_bits<F>(static_cast<double>(x), mode)) << x;
    }
    // One more than a tie: f64 alone would lose it.
    EXPECT_EQ(F::bits(F::from_int((1ll << 60) + (1ll << (59 - Bf16::mantissa_bits)) + 1, Rounding::zero)),
              rounded_bits<F>(0x1p60 + 0x1p52, Rounding::zero));
}

// a + b, a - b, a b, a / b and a b + c: rounded once.
TYPED_TEST(SmallFloats, OperationsAreRoundedOnce) {
    using F = TypeParam;
    std::mt19937 random(2);
    int compared = 0;
    for (int i = 0; i < 100'000; ++i) {
        unsigned bits[3];
        for (unsigned& b : bits) b = random() & 0xffffu;
        if (i % 2 == 0)  // near exponents
            for (unsigned k : {1u, 2u})
                bits[k] = (bits[k] & ~infinity<F>()) | ((bits[0] + ((random() % 9) << F::mantissa_bits)) & infinity<F>());
        bool finite = true;
        for (const unsigned b : bits) finite = finite && (b & 0x7fffu) < infinity<F>();
        if (!finite) continue;
        const auto a = F::of(bits[0]), b = F::of(bits[1]), c = F::of(bits[2]);
        const double x = value<F>(bits[0]), y = value<F>(bits[1]), z = value<F>(bits[2]);
        const auto is = [](auto got, double exact) {
            return exact == 0 ? static_cast<float>(got) == 0 : F::bits(got) == rounded_bits<F>(exact, Rounding::nearest);
        };
        const auto is_exact = [](double p, double q) {  // p + q in f64
            const double sum = p + q, back = sum - p;
            return (p - (sum - back)) + (q - back) == 0;
        };
        if (is_exact(x, y)) {
            ASSERT_TRUE(is(a + b, x + y)) << x << " + " << y;
        }
        if (is_exact(x, -y)) {
            ASSERT_TRUE(is(a - b, x - y)) << x << " - " << y;
        }
        ASSERT_TRUE(is(a * b, x * y)) << x << " * " << y;
        if (y != 0) {
            ASSERT_TRUE(is(a / b, x / y)) << x << " / " << y;
        }
        if (is_exact(x * y, z)) {
            ++compared;
            ASSERT_TRUE(is(__hfma(a, b, c), x * y + z)) << x << " * " << y << " + " << z;
        }
        const typename F::Pair pair = __hfma2({a, b}, {b, a}, {c, c});
        ASSERT_EQ(F::bits(pair.x), F::bits(__hfma(a, b, c)));
        ASSERT_EQ(a < b, x < y);
        ASSERT_EQ(a == b, x == y);
        ASSERT_EQ(static_cast<float>(__hmax(a, b)), std::max(x, y));
    }
    EXPECT_GT(compared, 20'000);
}

TYPED_TEST(SmallFloats, NanLosesOrWins) {
    using F = TypeParam;
    const auto nan = F::of(0x7fff), one = typename F::One(1.0f), zero = F::of(0), minus_zero = F::of(0x8000);
    EXPECT_EQ(F::bits(__hmax(nan, one)), F::bits(one));
    EXPECT_EQ(F::bits(__hmin(one, nan)), F::bits(one));
    EXPECT_TRUE(__hisnan(__hmax_nan(nan, one)));
    EXPECT_EQ(F::bits(__hmax(minus_zero, zero)), 0u);
    EXPECT_EQ(F::bits(__hmin(zero, minus_zero)), 0x8000u);
    EXPECT_FALSE(__heq(nan, nan));
    EXPECT_TRUE(__hequ(nan, one) && __hltu(nan, one) && nan != nan);
    EXPECT_EQ(__heq2_mask({one, nan}, {one, nan}), 0x0000ffffu);
    EXPECT_EQ(static_cast<float>(__hadd_sat(one, one)), 1.0f);
    EXPECT_EQ(static_cast<float>(__hfma_relu(one, -one, zero)), 0.0f);
}

// A double sum of two floats of near exponents is exact, and so is a product: the directed results enclose it.
TEST(RoundedArithmetic, EnclosesTheExactResult) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> draw(-1000, 1000);
    const float huge = std::numeric_limits<float>::infinity();
    for (int i = 0; i < 20'000; ++i) {
        const float a = draw(random), b = draw(random);
        const auto check = [&](double exact, float down, float up, float zero, float nearest) {
            ASSERT_LE(static_cast<double>(down), exact);
            ASSERT_GE(static_cast<double>(up), exact);
            ASSERT_TRUE(up == down ? exact == up : up == std::nextafter(down, huge)) << a << " " << b;
            ASSERT_EQ(zero, exact < 0 ? up : down);
            ASSERT_EQ(nearest, static_cast<float>(exact));
        };
        check(static_cast<double>(a) + b, __fadd_rd(a, b), __fadd_ru(a, b), __fadd_rz(a, b), __fadd_rn(a, b));
        check(static_cast<double>(a) - b, __fsub_rd(a, b), __fsub_ru(a, b), __fsub_rz(a, b), __fsub_rn(a, b));
        check(static_cast<double>(a) * b, __fmul_rd(a, b), __fmul_ru(a, b), __fmul_rz(a, b), __fmul_rn(a, b));
        if (a > 0) {
            const float low = __fdiv_rd(b, a), high = __fdiv_ru(b, a);  // their products with a are exact in f64
            ASSERT_LE(static_cast<double>(low) * a, b);
            ASSERT_GE(static_cast<double>(high) * a, b);
            const float root_low = __fsqrt_rd(a), root_high = __fsqrt_ru(a);
            ASSERT_LE(static_cast<double>(root_low) * root_low, a);
            ASSERT_GE(static_cast<double>(root_high) * root_high, a);
            ASSERT_LE(root_high, std::nextafter(root_low, huge));
        }
    }
    EXPECT_EQ(__fmaf_rd(0x1.000002p0f, 0x1.000002p0f, 0.0f), 0x1.000004p0f);
    EXPECT_EQ(__fmaf_ru(0x1.000002p0f, 0x1.000002p0f, 0.0f), 0x1.000006p0f);
    EXPECT_LT(__dadd_rd(1, -1e-20), 1.0);
    EXPECT_EQ(__dadd_ru(1, -1e-20), 1.0);
    EXPECT_EQ(1.0 + 1e-20, 1.0);  // the mode is back
}

TEST(Conversions, SaturateAndTakeEachMode) {
    EXPECT_EQ(__float2int_rn(2.5f), 2);
    EXPECT_EQ(__float2int_rn(-3.5f), -4);
    EXPECT_EQ(__float2int_rz(-2.9f), -2);
    EXPECT_EQ(__float2int_ru(2.1f), 3);
    EXPECT_EQ(__float2int_rd(-2.1f), -3);
    EXPECT_EQ(__float2int_rn(1e20f), std::numeric_limits<int>::max());
    EXPECT_EQ(__float2int_rn(-1e20f), std::numeric_limits<int>::min());
    EXPECT_EQ(__float2uint_rn(-5), 0u);
    EXPECT_EQ(__float2int_rn(NAN), 0);
    EXPECT_EQ(__double2ll_rz(NAN), std::numeric_limits<long long>::min());
    EXPECT_EQ(__double2ull_rd(1e30), ~0ull);
    EXPECT_EQ(__int2float_rd((1 << 24) + 1), 0x1p24f);
    EXPECT_EQ(__int2float_ru((1 << 24) + 1), 0x1p24f + 2);
    EXPECT_EQ(__ull2double_rz(~0ull), 0x1.fffffffffffffp63);
    EXPECT_EQ(__ull2double_rn(~0ull), 0x1p64);
    EXPECT_EQ(__double2float_rz(0.1), std::nextafter(0.1f, 0.0f));
    EXPECT_EQ(__double2float_ru(0.1), 0.1f);
    EXPECT_EQ(__double2float_rd(1e300), std::numeric_limits<float>::max());
    EXPECT_EQ(__hiloint2double(__double2hiint(-3.25), __double2loint(-3.25)), -3.25);
    EXPECT_EQ(__int_as_float(__float_as_int(-1.5f)), -1.5f);
}

TEST(Bits, FollowTheirDefinitions) {
    EXPECT_EQ(__brev(1u), 0x80000000u);
    EXPECT_EQ(__brevll(0x3ull), 0xc000000000000000ull);
    EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x7410u), 0x77441100u);
    EXPECT_EQ(__byte_perm(0x80u, 0u, 0x0008u), 0x808080ffu);
    EXPECT_EQ(__funnelshift_l(0x80000000u, 1u, 1u), 3u);
    EXPECT_EQ(__funnelshift_rc(5u, 7u, 40u), 7u);
    EXPECT_EQ(__funnelshift_lc(5u, 7u, 32u), 5u);
    EXPECT_EQ(__umulhi(0xffffffffu, 0xffffffffu), 0xfffffffeu);
    EXPECT_EQ(__mul64hi(-1ll, 5ll), -1ll);
    EXPECT_EQ(__mul24(0x01ffffff, 2), -2);
    EXPECT_EQ(__fns(0b10110u, 0u, 2), 2u);
    EXPECT_EQ(__fns(0b10110u, 4u, -2), 2u);
    EXPECT_EQ(__fns(1u, 1u, 1), ~0u);
    EXPECT_EQ(__sad(-5, 7, 1u), 13u);
    EXPECT_EQ(__hadd(-3, 0), -2);
    EXPECT_EQ(__rhadd(-3, 0), -1);
    EXPECT_EQ(__dp4a(static_cast<int>(0xff010203u), 0x01010101, 10), 15);
    EXPECT_EQ(__dp4a(0xff010203u, 0x01010101u, 10u), 271u);
    EXPECT_EQ(__dp2a_hi(0x00020001, static_cast<int>(0x03ff0000u), 0), 5);
}

TEST(Functions, AreTheInversesOfTheirInverses) {
    for (const double x : {-0.999999, -0.7, -0.2, 1e-9, 0.3, 0.55, 0.98, 0.9999999})
        EXPECT_NEAR(std::erf(erfinv(x)), x, std::abs(x) * 1e-14);
    for (const double y : {1e-250, 1e-12, 0.3, 1.0, 1.7, 1.999999}) EXPECT_NEAR(std::erfc(erfcinv(y)), y, y * 1e-12);
    EXPECT_NEAR(normcdfinv(normcdf(1.25)), 1.25, 1e-13);
    EXPECT_EQ(sinpi(1e15), 0.0);
    EXPECT_EQ(cospi(1.0), -1.0);
    EXPECT_EQ(norm3d(2e200, 3e200, 6e200), 7e200);
    EXPECT_EQ(max(1, 2u), 2u);
    EXPECT_EQ(min(-1, 2u), 2u);  // C++'s usual conversions
    EXPECT_EQ(min(1.5f, 0.25), 0.25);
    EXPECT_EQ(max(NAN, 1.0f), 1.0f);
    EXPECT_EQ(__saturatef(NAN), 0.0f);
}

}  // namespace
}  // namespace heddle::emulator
