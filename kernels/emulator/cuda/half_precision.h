// A type of 16 bits and its pair, as cuda_fp16.h and cuda_bf16.h declare them: each includes this file once, with
//
//     HEDDLE_NAME    the type in the names of functions: half, bfloat16
//     HEDDLE_ONE     the type: __half, __nv_bfloat16
//     HEDDLE_PAIR    the type of two: __half2, __nv_bfloat162
//     HEDDLE_BITS    what says how its bits are read and rounded (heddle::emulator::cuda::HalfBits)
//     HEDDLE_NUMBER  heddle::emulator::Number of one
//     HEDDLE_NUMBER2 that of two
//
// Each operation is rounded once, to the nearest, ties to even. The functions of h/hexp's family are the f32 ones, rounded.

#define HEDDLE_JOIN_(a, b) a##b
#define HEDDLE_JOIN(a, b) HEDDLE_JOIN_(a, b)
#define HEDDLE_JOIN3(a, b, c) HEDDLE_JOIN(HEDDLE_JOIN(a, b), c)
#define HEDDLE_RAW HEDDLE_JOIN(HEDDLE_ONE, _raw)
#define HEDDLE_PAIR_RAW HEDDLE_JOIN(HEDDLE_PAIR, _raw)
#define HEDDLE_PAIR_NAME HEDDLE_JOIN(HEDDLE_NAME, 2)
#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

struct alignas(2) HEDDLE_RAW {
    unsigned short x;
};
struct alignas(4) HEDDLE_PAIR_RAW {
    unsigned short x, y;
};

struct alignas(2) HEDDLE_ONE {
  protected:
    unsigned short __x;

  public:
    HEDDLE_ONE() = default;
    constexpr HEDDLE_ONE(const HEDDLE_RAW& raw) : __x(raw.x) {}    // NOLINT: implicit, as in CUDA
    constexpr HEDDLE_ONE(float x) : __x(HEDDLE_BITS::round(x)) {}  // NOLINT
    constexpr HEDDLE_ONE(double x) : __x(HEDDLE_BITS::round(x, heddle::emulator::Rounding::nearest)) {}  // NOLINT
#define HEDDLE_OF_INTEGER(T)                                                                                      \
    constexpr HEDDLE_ONE(T x) : __x(HEDDLE_BITS::round_integer(x, heddle::emulator::Rounding::nearest)) {}        \
    HEDDLE_ONE& operator=(T x) { return *this = HEDDLE_ONE(x); }                                                  \
    operator T() const {                                                                                          \
        return heddle::emulator::to_integer<T>(HEDDLE_BITS::value(__x), heddle::emulator::Rounding::zero, false); \
    }
    HEDDLE_OF_INTEGER(short)
    HEDDLE_OF_INTEGER(unsigned short)
    HEDDLE_OF_INTEGER(int)
    HEDDLE_OF_INTEGER(unsigned)
    HEDDLE_OF_INTEGER(long)
    HEDDLE_OF_INTEGER(unsigned long)
    HEDDLE_OF_INTEGER(long long)
    HEDDLE_OF_INTEGER(unsigned long long)
#undef HEDDLE_OF_INTEGER
    HEDDLE_ONE& operator=(const HEDDLE_RAW& raw) { return *this = HEDDLE_ONE(raw); }
    HEDDLE_ONE& operator=(float x) { return *this = HEDDLE_ONE(x); }
    HEDDLE_ONE& operator=(double x) { return *this = HEDDLE_ONE(x); }
    constexpr operator HEDDLE_RAW() const { return {__x}; }  // NOLINT
    // Inlined into host code, too, which is compiled unwatched.
    [[gnu::always_inline]] constexpr operator float() const { return HEDDLE_BITS::value(__x); }  // NOLINT
    constexpr operator bool() const { return (__x & 0x7fffu) != 0; }                             // NOLINT
    operator signed char() const {                                                               // NOLINT
        return heddle::emulator::to_integer<signed char>(HEDDLE_BITS::value(__x), heddle::emulator::Rounding::zero, false);
    }
    operator char() const { return static_cast<char>(static_cast<signed char>(*this)); }  // NOLINT
    operator unsigned char() const {                                                      // NOLINT
        return heddle::emulator::to_integer<unsigned char>(HEDDLE_BITS::value(__x), heddle::emulator::Rounding::zero, false);
    }
};

struct alignas(4) HEDDLE_PAIR {
    HEDDLE_ONE x, y;
    HEDDLE_PAIR() = default;
    constexpr HEDDLE_PAIR(const HEDDLE_ONE& x_, const HEDDLE_ONE& y_) : x(x_), y(y_) {}
    constexpr HEDDLE_PAIR(const HEDDLE_PAIR_RAW& raw) : x(HEDDLE_RAW{raw.x}), y(HEDDLE_RAW{raw.y}) {}  // NOLINT
    HEDDLE_PAIR& operator=(const HEDDLE_PAIR_RAW& raw) { return *this = HEDDLE_PAIR(raw); }
    constexpr operator HEDDLE_PAIR_RAW() const {  // NOLINT
        return {static_cast<HEDDLE_RAW>(x).x, static_cast<HEDDLE_RAW>(y).x};
    }
};

namespace heddle::emulator::cuda {

constexpr HEDDLE_ONE of_bits(HEDDLE_BITS, unsigned short bits) { return HEDDLE_RAW{bits}; }
constexpr unsigned short bits_of(HEDDLE_ONE x) { return static_cast<HEDDLE_RAW>(x).x; }
constexpr float value_of(HEDDLE_ONE x) { return HEDDLE_BITS::value(bits_of(x)); }
constexpr bool is_nan(HEDDLE_ONE x) { return (bits_of(x) & 0x7fffu) > HEDDLE_BITS::infinity; }

}  // namespace heddle::emulator::cuda

// ---- conversions ----

inline unsigned short HEDDLE_JOIN3(__, HEDDLE_NAME, _as_ushort)(HEDDLE_ONE x) { return heddle::emulator::cuda::bits_of(x); }
inline short HEDDLE_JOIN3(__, HEDDLE_NAME, _as_short)(HEDDLE_ONE x) {
    return static_cast<short>(heddle::emulator::cuda::bits_of(x));
}
inline HEDDLE_ONE HEDDLE_JOIN(__ushort_as_, HEDDLE_NAME)(unsigned short bits) { return HEDDLE_RAW{bits}; }
inline HEDDLE_ONE HEDDLE_JOIN(__short_as_, HEDDLE_NAME)(short bits) { return HEDDLE_RAW{static_cast<unsigned short>(bits)}; }
inline float HEDDLE_JOIN3(__, HEDDLE_NAME, 2float)(HEDDLE_ONE x) { return heddle::emulator::cuda::value_of(x); }
inline HEDDLE_ONE HEDDLE_JOIN(__float2, HEDDLE_NAME)(float x) { return x; }
inline HEDDLE_ONE HEDDLE_JOIN(__double2, HEDDLE_NAME)(double x) { return x; }
#define HEDDLE_FROM(From, name, suffix, mode)                                  \
    inline HEDDLE_ONE HEDDLE_JOIN3(__##name##2, HEDDLE_NAME, suffix)(From x) { \
        return HEDDLE_RAW{HEDDLE_BITS::round_integer(x, mode)};                \
    }
#define HEDDLE_TO(To, name, suffix, mode)                                                                    \
    inline To HEDDLE_JOIN3(__, HEDDLE_NAME, 2##name##suffix)(HEDDLE_ONE x) {                                 \
        return heddle::emulator::to_integer<To>(heddle::emulator::cuda::value_of(x), mode, sizeof(To) == 8); \
    }
#define HEDDLE_FROM_AND_TO(suffix, mode)                                                                                       \
    inline HEDDLE_ONE HEDDLE_JOIN3(__float2, HEDDLE_NAME, suffix)(float x) { return HEDDLE_RAW{HEDDLE_BITS::round(x, mode)}; } \
    HEDDLE_FROM(short, short, suffix, mode)                                                                                    \
    HEDDLE_FROM(unsigned short, ushort, suffix, mode)                                                                          \
    HEDDLE_FROM(int, int, suffix, mode)                                                                                        \
    HEDDLE_FROM(unsigned, uint, suffix, mode)                                                                                  \
    HEDDLE_FROM(long long, ll, suffix, mode)                                                                                   \
    HEDDLE_FROM(unsigned long long, ull, suffix, mode)                                                                         \
    HEDDLE_TO(short, short, suffix, mode)                                                                                      \
    HEDDLE_TO(unsigned short, ushort, suffix, mode)                                                                            \
    HEDDLE_TO(int, int, suffix, mode)                                                                                          \
    HEDDLE_TO(unsigned, uint, suffix, mode)                                                                                    \
    HEDDLE_TO(long long, ll, suffix, mode)                                                                                     \
    HEDDLE_TO(unsigned long long, ull, suffix, mode)
HEDDLE_FROM_AND_TO(_rn, heddle::emulator::Rounding::nearest)
HEDDLE_FROM_AND_TO(_rz, heddle::emulator::Rounding::zero)
HEDDLE_FROM_AND_TO(_ru, heddle::emulator::Rounding::up)
HEDDLE_FROM_AND_TO(_rd, heddle::emulator::Rounding::down)
HEDDLE_TO(signed char, char, _rz, heddle::emulator::Rounding::zero)
HEDDLE_TO(unsigned char, uchar, _rz, heddle::emulator::Rounding::zero)
#undef HEDDLE_FROM_AND_TO
#undef HEDDLE_TO
#undef HEDDLE_FROM

inline HEDDLE_PAIR HEDDLE_JOIN(make_, HEDDLE_PAIR_NAME)(HEDDLE_ONE x, HEDDLE_ONE y) { return {x, y}; }
inline HEDDLE_PAIR HEDDLE_JOIN(__halves2, HEDDLE_PAIR_NAME)(HEDDLE_ONE x, HEDDLE_ONE y) { return {x, y}; }
inline HEDDLE_PAIR HEDDLE_JOIN3(__, HEDDLE_NAME, HEDDLE_JOIN(2, HEDDLE_PAIR_NAME))(HEDDLE_ONE x) { return {x, x}; }
inline HEDDLE_PAIR HEDDLE_JOIN3(__float2, HEDDLE_PAIR_NAME, _rn)(float x) { return {x, x}; }
inline HEDDLE_PAIR HEDDLE_JOIN3(__floats2, HEDDLE_PAIR_NAME, _rn)(float x, float y) { return {x, y}; }
inline HEDDLE_PAIR HEDDLE_JOIN3(__float22, HEDDLE_PAIR_NAME, _rn)(float2 v) { return {v.x, v.y}; }
inline float2 HEDDLE_JOIN3(__, HEDDLE_PAIR_NAME, 2float2)(HEDDLE_PAIR v) {
    return {heddle::emulator::cuda::value_of(v.x), heddle::emulator::cuda::value_of(v.y)};
}
inline float __low2float(HEDDLE_PAIR v) { return heddle::emulator::cuda::value_of(v.x); }
inline float __high2float(HEDDLE_PAIR v) { return heddle::emulator::cuda::value_of(v.y); }
inline HEDDLE_ONE HEDDLE_JOIN(__low2, HEDDLE_NAME)(HEDDLE_PAIR v) { return v.x; }
inline HEDDLE_ONE HEDDLE_JOIN(__high2, HEDDLE_NAME)(HEDDLE_PAIR v) { return v.y; }
inline HEDDLE_PAIR HEDDLE_JOIN(__low2, HEDDLE_PAIR_NAME)(HEDDLE_PAIR v) { return {v.x, v.x}; }
inline HEDDLE_PAIR HEDDLE_JOIN(__high2, HEDDLE_PAIR_NAME)(HEDDLE_PAIR v) { return {v.y, v.y}; }
inline HEDDLE_PAIR HEDDLE_JOIN(__lows2, HEDDLE_PAIR_NAME)(HEDDLE_PAIR a, HEDDLE_PAIR b) { return {a.x, b.x}; }
inline HEDDLE_PAIR HEDDLE_JOIN(__highs2, HEDDLE_PAIR_NAME)(HEDDLE_PAIR a, HEDDLE_PAIR b) { return {a.y, b.y}; }
inline HEDDLE_PAIR __lowhigh2highlow(HEDDLE_PAIR v) { return {v.y, v.x}; }

// ---- arithmetic ----

#define HEDDLE_BINARY(name, operation)                                                                                       \
    inline HEDDLE_ONE __h##name(HEDDLE_ONE a, HEDDLE_ONE b) {                                                                \
        return HEDDLE_RAW{HEDDLE_BITS::operation(heddle::emulator::cuda::value_of(a), heddle::emulator::cuda::value_of(b))}; \
    }
#define HEDDLE_BINARY_FORMS(name, operation)                                                                             \
    HEDDLE_BINARY(name, operation)                                                                                       \
    HEDDLE_BINARY(name##_rn, operation)                                                                                  \
    inline HEDDLE_ONE __h##name##_sat(HEDDLE_ONE a, HEDDLE_ONE b) {                                                      \
        return ::__saturatef(heddle::emulator::cuda::value_of(__h##name(a, b)));                                         \
    }                                                                                                                    \
    inline HEDDLE_PAIR __h##name##2(HEDDLE_PAIR a, HEDDLE_PAIR b) { return {__h##name(a.x, b.x), __h##name(a.y, b.y)}; } \
    inline HEDDLE_PAIR __h##name##2_rn(HEDDLE_PAIR a, HEDDLE_PAIR b) { return __h##name##2(a, b); }                      \
    inline HEDDLE_PAIR __h##name##2_sat(HEDDLE_PAIR a, HEDDLE_PAIR b) {                                                  \
        return {__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y)};                                                   \
    }
HEDDLE_BINARY_FORMS(add, add)
HEDDLE_BINARY_FORMS(sub, subtract)
HEDDLE_BINARY_FORMS(mul, multiply)
HEDDLE_BINARY(div, divide)
inline HEDDLE_PAIR __h2div(HEDDLE_PAIR a, HEDDLE_PAIR b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
#undef HEDDLE_BINARY_FORMS
#undef HEDDLE_BINARY
inline HEDDLE_ONE __habs(HEDDLE_ONE a) {
    return HEDDLE_RAW{static_cast<unsigned short>(heddle::emulator::cuda::bits_of(a) & 0x7fffu)};
}
inline HEDDLE_ONE __hneg(HEDDLE_ONE a) {
    if (heddle::emulator::cuda::is_nan(a)) return HEDDLE_RAW{0x7fff};
    return HEDDLE_RAW{static_cast<unsigned short>(heddle::emulator::cuda::bits_of(a) ^ 0x8000u)};
}
inline HEDDLE_ONE __hfma(HEDDLE_ONE a, HEDDLE_ONE b, HEDDLE_ONE c) {
    return HEDDLE_RAW{HEDDLE_BITS::fused(heddle::emulator::cuda::value_of(a), heddle::emulator::cuda::value_of(b),
                                         heddle::emulator::cuda::value_of(c))};
}
inline HEDDLE_ONE __hfma_sat(HEDDLE_ONE a, HEDDLE_ONE b, HEDDLE_ONE c) {
    return ::__saturatef(heddle::emulator::cuda::value_of(__hfma(a, b, c)));
}
/// A negative result becomes 0; a NaN stays.
inline HEDDLE_ONE __hfma_relu(HEDDLE_ONE a, HEDDLE_ONE b, HEDDLE_ONE c) {
    const HEDDLE_ONE result = __hfma(a, b, c);
    return heddle::emulator::cuda::value_of(result) < 0 ? HEDDLE_ONE(HEDDLE_RAW{0}) : result;
}
#define HEDDLE_FUSED_PAIR(suffix)                                                     \
    inline HEDDLE_PAIR __hfma2##suffix(HEDDLE_PAIR a, HEDDLE_PAIR b, HEDDLE_PAIR c) { \
        return {__hfma##suffix(a.x, b.x, c.x), __hfma##suffix(a.y, b.y, c.y)};        \
    }
HEDDLE_FUSED_PAIR()
HEDDLE_FUSED_PAIR(_sat)
HEDDLE_FUSED_PAIR(_relu)
#undef HEDDLE_FUSED_PAIR
/// The product of two complex numbers and a sum.
inline HEDDLE_PAIR __hcmadd(HEDDLE_PAIR a, HEDDLE_PAIR b, HEDDLE_PAIR c) {
    return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}
inline HEDDLE_PAIR __habs2(HEDDLE_PAIR a) { return {__habs(a.x), __habs(a.y)}; }
inline HEDDLE_PAIR __hneg2(HEDDLE_PAIR a) { return {__hneg(a.x), __hneg(a.y)}; }

// ---- comparisons. The forms with u also hold if an operand is a NaN ----

inline bool __hisnan(HEDDLE_ONE a) { return heddle::emulator::cuda::is_nan(a); }
inline int __hisinf(HEDDLE_ONE a) {
    const unsigned short bits = heddle::emulator::cuda::bits_of(a);
    return (bits & 0x7fffu) != HEDDLE_BITS::infinity ? 0 : bits >> 15 != 0 ? -1 : 1;
}
inline HEDDLE_PAIR __hisnan2(HEDDLE_PAIR a) { return {__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f}; }
#define HEDDLE_COMPARISON(name, formula)                                                                \
    inline bool __h##name(HEDDLE_ONE a_, HEDDLE_ONE b_) {                                               \
        const float a = heddle::emulator::cuda::value_of(a_), b = heddle::emulator::cuda::value_of(b_); \
        return formula;                                                                                 \
    }                                                                                                   \
    inline HEDDLE_PAIR __h##name##2(HEDDLE_PAIR a, HEDDLE_PAIR b) {                                     \
        return {__h##name(a.x, b.x) ? 1.0f : 0.0f, __h##name(a.y, b.y) ? 1.0f : 0.0f};                  \
    }                                                                                                   \
    inline unsigned __h##name##2_mask(HEDDLE_PAIR a, HEDDLE_PAIR b) {                                   \
        return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);         \
    }                                                                                                   \
    inline bool __hb##name##2(HEDDLE_PAIR a, HEDDLE_PAIR b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
HEDDLE_COMPARISON(eq, a == b)
HEDDLE_COMPARISON(ne, a<b || a> b)
HEDDLE_COMPARISON(lt, a < b)
HEDDLE_COMPARISON(le, a <= b)
HEDDLE_COMPARISON(gt, a > b)
HEDDLE_COMPARISON(ge, a >= b)
HEDDLE_COMPARISON(equ, !(a < b || a > b))
HEDDLE_COMPARISON(neu, !(a == b))
HEDDLE_COMPARISON(ltu, !(a >= b))
HEDDLE_COMPARISON(leu, !(a > b))
HEDDLE_COMPARISON(gtu, !(a <= b))
HEDDLE_COMPARISON(geu, !(a < b))
#undef HEDDLE_COMPARISON
// The larger and the smaller; -0 is below +0. A NaN loses, or wins in the forms with _nan.
#define HEDDLE_EXTREME(name, first_wins)                                                                                 \
    inline HEDDLE_ONE __h##name##_nan(HEDDLE_ONE a_, HEDDLE_ONE b_) {                                                    \
        if (__hisnan(a_) || __hisnan(b_)) return HEDDLE_RAW{0x7fff};                                                     \
        const float a = heddle::emulator::cuda::value_of(a_), b = heddle::emulator::cuda::value_of(b_);                  \
        return (first_wins) ? a_ : b_;                                                                                   \
    }                                                                                                                    \
    inline HEDDLE_ONE __h##name(HEDDLE_ONE a, HEDDLE_ONE b) {                                                            \
        return __hisnan(a) && !__hisnan(b) ? b : __hisnan(b) && !__hisnan(a) ? a : __h##name##_nan(a, b);                \
    }                                                                                                                    \
    inline HEDDLE_PAIR __h##name##2(HEDDLE_PAIR a, HEDDLE_PAIR b) { return {__h##name(a.x, b.x), __h##name(a.y, b.y)}; } \
    inline HEDDLE_PAIR __h##name##2_nan(HEDDLE_PAIR a, HEDDLE_PAIR b) {                                                  \
        return {__h##name##_nan(a.x, b.x), __h##name##_nan(a.y, b.y)};                                                   \
    }
HEDDLE_EXTREME(max, a > b || (a == b && heddle::emulator::cuda::bits_of(a_) >> 15 == 0))
HEDDLE_EXTREME(min, a < b || (a == b && heddle::emulator::cuda::bits_of(a_) >> 15 != 0))
#undef HEDDLE_EXTREME

// ---- operators ----

#define HEDDLE_OPERATOR(symbol, function, function2)                                                           \
    inline HEDDLE_ONE operator symbol(const HEDDLE_ONE& a, const HEDDLE_ONE& b) { return function(a, b); }     \
    inline HEDDLE_ONE& operator symbol##=(HEDDLE_ONE& a, const HEDDLE_ONE& b) { return a = function(a, b); }   \
    inline HEDDLE_PAIR operator symbol(const HEDDLE_PAIR& a, const HEDDLE_PAIR& b) { return function2(a, b); } \
    inline HEDDLE_PAIR& operator symbol##=(HEDDLE_PAIR& a, const HEDDLE_PAIR& b) { return a = function2(a, b); }
HEDDLE_OPERATOR(+, __hadd, __hadd2)
HEDDLE_OPERATOR(-, __hsub, __hsub2)
HEDDLE_OPERATOR(*, __hmul, __hmul2)
HEDDLE_OPERATOR(/, __hdiv, __h2div)
#undef HEDDLE_OPERATOR
#define HEDDLE_OPERATOR(symbol, function)                                                                 \
    inline bool operator symbol(const HEDDLE_ONE& a, const HEDDLE_ONE& b) { return __h##function(a, b); } \
    inline bool operator symbol(const HEDDLE_PAIR& a, const HEDDLE_PAIR& b) { return __hb##function##2(a, b); }
HEDDLE_OPERATOR(==, eq)
HEDDLE_OPERATOR(!=, neu)
HEDDLE_OPERATOR(<, lt)
HEDDLE_OPERATOR(<=, le)
HEDDLE_OPERATOR(>, gt)
HEDDLE_OPERATOR(>=, ge)
#undef HEDDLE_OPERATOR
#define HEDDLE_OPERATORS(T, negate, one)                 \
    inline T operator+(const T& a) { return a; }         \
    inline T operator-(const T& a) { return negate(a); } \
    inline T& operator++(T& a) { return a = a + one; }   \
    inline T& operator--(T& a) { return a = a - one; }   \
    inline T operator++(T& a, int) {                     \
        const T old = a;                                 \
        ++a;                                             \
        return old;                                      \
    }                                                    \
    inline T operator--(T& a, int) {                     \
        const T old = a;                                 \
        --a;                                             \
        return old;                                      \
    }
HEDDLE_OPERATORS(HEDDLE_ONE, __hneg, HEDDLE_ONE(1.0f))
HEDDLE_OPERATORS(HEDDLE_PAIR, __hneg2, HEDDLE_PAIR(1.0f, 1.0f))
#undef HEDDLE_OPERATORS

// ---- functions ----

#define HEDDLE_FUNCTION(name, formula)                       \
    inline HEDDLE_ONE h##name(HEDDLE_ONE a) {                \
        const float x = heddle::emulator::cuda::value_of(a); \
        return static_cast<float>(formula);                  \
    }                                                        \
    inline HEDDLE_PAIR h2##name(HEDDLE_PAIR a) { return {h##name(a.x), h##name(a.y)}; }
HEDDLE_FUNCTION(sqrt, std::sqrt(x))
HEDDLE_FUNCTION(rsqrt, ::rsqrtf(x))
HEDDLE_FUNCTION(rcp, 1 / x)
HEDDLE_FUNCTION(exp, std::exp(x))
HEDDLE_FUNCTION(exp2, std::exp2(x))
HEDDLE_FUNCTION(exp10, ::exp10f(x))
HEDDLE_FUNCTION(log, std::log(x))
HEDDLE_FUNCTION(log2, std::log2(x))
HEDDLE_FUNCTION(log10, std::log10(x))
HEDDLE_FUNCTION(sin, std::sin(x))
HEDDLE_FUNCTION(cos, std::cos(x))
HEDDLE_FUNCTION(tanh, std::tanh(x))
HEDDLE_FUNCTION(tanh_approx, std::tanh(x))
HEDDLE_FUNCTION(ceil, std::ceil(x))
HEDDLE_FUNCTION(floor, std::floor(x))
HEDDLE_FUNCTION(trunc, std::trunc(x))
HEDDLE_FUNCTION(rint, std::nearbyint(x))
#undef HEDDLE_FUNCTION

// ---- warps and atomics ----

HEDDLE_SHUFFLES(HEDDLE_ONE)
HEDDLE_SHUFFLES(HEDDLE_PAIR)
#define HEDDLE_ATOMIC_ADD(T, number, name)                                                                             \
    inline T name(T* address, T value, HEDDLE_PLACE) {                                                                 \
        return heddle::emulator::cuda::atomic_of(heddle::emulator::Atomic::add, number, address, value, value, place); \
    }
HEDDLE_ATOMIC_ADD(HEDDLE_ONE, HEDDLE_NUMBER, atomicAdd)
HEDDLE_ATOMIC_ADD(HEDDLE_ONE, HEDDLE_NUMBER, atomicAdd_block)
HEDDLE_ATOMIC_ADD(HEDDLE_ONE, HEDDLE_NUMBER, atomicAdd_system)
HEDDLE_ATOMIC_ADD(HEDDLE_PAIR, HEDDLE_NUMBER2, atomicAdd)
HEDDLE_ATOMIC_ADD(HEDDLE_PAIR, HEDDLE_NUMBER2, atomicAdd_block)
HEDDLE_ATOMIC_ADD(HEDDLE_PAIR, HEDDLE_NUMBER2, atomicAdd_system)
#undef HEDDLE_ATOMIC_ADD

#undef HEDDLE_PLACE
#undef HEDDLE_PAIR_NAME
#undef HEDDLE_PAIR_RAW
#undef HEDDLE_RAW
#undef HEDDLE_JOIN3
#undef HEDDLE_JOIN
#undef HEDDLE_JOIN_
#undef HEDDLE_NAME
#undef HEDDLE_ONE
#undef HEDDLE_PAIR
#undef HEDDLE_BITS
#undef HEDDLE_NUMBER
#undef HEDDLE_NUMBER2
