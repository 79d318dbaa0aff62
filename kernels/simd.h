// Vectors of the native width for *_fast.cpp files, on the compiler's vector extension. Never included by a public header.
//
// The arithmetic operators work lane by lane; a * b + c becomes one fused multiply-add where the level has it (v3, v4).
// Every lane computes the same thing wherever it stands, so a row's bits do not depend on its place in the batch. Sums across
// lanes take as many lanes on every level: v3 and v4 give the same bits (same_bits() promises it, cpu_levels_test holds it).
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "core/random.h"

namespace heddle {
namespace HEDDLE_LEVEL {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
    typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename VectorOf<T>::type;
using VecF = Vec<float>;
using VecI = Vec<std::int32_t>;
using VecU = Vec<std::uint32_t>;

/// Lanes of a vector of T.
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
inline constexpr int kFloats = kLanes<float>;

template <class T>
inline Vec<T> load(const T* from) {
    Vec<T> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

template <class T>
inline void store(T* to, Vec<T> v) {
    std::memcpy(to, &v, sizeof v);
}

#if defined(__AVX512F__)
inline unsigned short first_lanes(int n) { return static_cast<unsigned short>((1u << n) - 1); }
#elif defined(__AVX__)
inline VecI first_lanes(int n) { return VecI{0, 1, 2, 3, 4, 5, 6, 7} < n; }
#endif

/// The first n (< lanes) elements, the others `rest`. AVX and AVX-512 read and write under a mask (by the compiler's builtins:
/// <immintrin.h> takes half a second to read); element by element a vector costs twenty times as much. noexcept, because GCC
/// takes the builtins for calls that may throw: a product before one and a sum after it would not become one operation.
template <class T>
inline Vec<T> load_part(const T* from, int n, T rest = 0) noexcept {
    Vec<T> v = rest - Vec<T>{};
#if defined(__AVX__)
    if constexpr (sizeof(T) == sizeof(float)) {
#if defined(__AVX512F__)
        const VecF read =
            __builtin_ia32_loadups512_mask(reinterpret_cast<const float*>(from), std::bit_cast<VecF>(v), first_lanes(n));
        return std::bit_cast<Vec<T>>(read);
#else
        const VecF read = __builtin_ia32_maskloadps256(reinterpret_cast<const VecF*>(from), first_lanes(n));
        return first_lanes(n) ? std::bit_cast<Vec<T>>(read) : v;
#endif
    }
#endif
    for (int i = 0; i < n; ++i) v[i] = from[i];
    return v;
}

template <class T>
inline void store_part(T* to, Vec<T> v, int n) noexcept {
#if defined(__AVX__)
    if constexpr (sizeof(T) == sizeof(float)) {
#if defined(__AVX512F__)
        __builtin_ia32_storeups512_mask(reinterpret_cast<float*>(to), std::bit_cast<VecF>(v), first_lanes(n));
#else
        __builtin_ia32_maskstoreps256(reinterpret_cast<VecF*>(to), first_lanes(n), std::bit_cast<VecF>(v));
#endif
        return;
    }
#endif
    for (int i = 0; i < n; ++i) to[i] = v[i];
}

/// The vector at column j of a row of `cols`; lanes past the end hold `rest`.
template <class T>
inline Vec<T> load_at(const T* row, std::int64_t j, std::int64_t cols, T rest = 0) {
    return cols - j >= kLanes<T> ? load(row + j) : load_part(row + j, static_cast<int>(cols - j), rest);
}

/// Stores at column j of a row of `cols` what lies within the row.
template <class T>
inline void store_at(T* row, std::int64_t j, std::int64_t cols, Vec<T> v) {
    if (cols - j >= kLanes<T>)
        store(row + j, v);
    else
        store_part(row + j, v, static_cast<int>(cols - j));
}

template <class T>
inline Vec<T> broadcast(T value) {
    return value - Vec<T>{};
}

/// `v` as it was rounded: the compiler joins no operation before this call with one after it to a fused multiply-add. Needed
/// where a sum has a product on either side: which of the two is fused would be the compiler's choice, and the bits of a level
/// its own.
inline VecF rounded(VecF v) {
#if defined(__aarch64__)
    __asm__("" : "+w"(v));
#elif defined(__SSE2__)
    __asm__("" : "+x"(v));
#endif
    return v;
}

template <class T>
inline Vec<T> maximum(Vec<T> a, Vec<T> b) {
    return a > b ? a : b;
}

/// Lanes 0, 1, 2, ...
template <class T>
inline Vec<T> iota() {
    Vec<T> v;
    for (int i = 0; i < kLanes<T>; ++i) v[i] = static_cast<T>(i);
    return v;
}

/// Lane i of the result is lane `lane(i)` of a and b; b's lanes are counted on from a's. GCC 11 has only its own builtin.
template <class V, class Lane, int... i>
inline V shuffle(V a, V b, Lane lane, std::integer_sequence<int, i...>) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, lane(i)...);
#else
    return __builtin_shuffle(a, b, decltype(a > b){lane(i)...});
#endif
}
template <class V, class Lane>
inline V shuffle(V a, V b, Lane lane) {
    return shuffle(a, b, lane, std::make_integer_sequence<int, static_cast<int>(sizeof(V) / sizeof(a[0]))>());
}

/// Lane i of the result is lane i ^ distance of `v`.
template <int distance, class V>
inline V exchange(V v) {
    return shuffle(v, v, [](int i) { return i ^ distance; });
}

/// All lanes joined by `join`, in a fixed order: the upper half meets the lower one until a single lane is left.
template <int distance, class V, class Join>
inline auto fold(V v, Join join) {
    if constexpr (distance == 0)
        return v[0];
    else
        return fold<distance / 2>(join(v, exchange<distance>(v)), join);
}

/// The sum of all lanes.
template <class T>
inline T sum(Vec<T> v) {
    return fold<kLanes<T> / 2>(v, [](Vec<T> a, Vec<T> b) { return a + b; });
}

/// Lanes of a sum over a row. A level's vectors take kSumVectors to hold them, so that v3 and v4 add in one order.
inline constexpr int kSumLanes = 16;
inline constexpr int kSumVectors = kSumLanes / kFloats;

/// The kSumLanes elements at column j of a row of `cols`; those past the end are `rest`, and then all of them stand in `buffer`.
inline const float* sum_block(const float* row, std::int64_t j, std::int64_t cols, float rest, float (&buffer)[kSumLanes]) {
    if (cols - j >= kSumLanes) return row + j;
    for (int i = 0; i < kSumLanes; ++i) buffer[i] = j + i < cols ? row[j + i] : rest;
    return buffer;
}

/// The vectors as one wide vector, whose upper half meets the lower one until a single vector is left: with sum() of that, as
/// many lanes give the same bits in vectors of every width.
template <int n>
inline VecF add_halves(VecF (&parts)[n]) {
    for (int half = n / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
    return parts[0];
}

/// The sum of all lanes of all vectors.
template <int n>
inline float sum(VecF (&parts)[n]) {
    return sum<float>(add_halves(parts));
}

template <class T>
inline T largest(Vec<T> v) {
    return fold<kLanes<T> / 2>(v, [](Vec<T> a, Vec<T> b) { return maximum<T>(a, b); });
}

/// x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite's two-part ln 2): e^x = 2^n e^r.
struct ExpParts {
    VecF p;     ///< e^r by the Taylor polynomial of degree 7
    VecI bits;  ///< of the float 1.5 * 2^23 + n, which has n in the low bits of its mantissa
};
inline ExpParts exp_parts(VecF x) {
    const VecF shifted = x * 1.44269504f + 12582912.0f;
    const VecF n = shifted - 12582912.0f;
    const VecF r = x - n * 0.693359375f + n * 2.12194440e-4f;
    VecF p = broadcast(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    VecI bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    return {p, bits};
}

/// e^x to about 2 ulp. Below -87.3 the result is 0 (also for -inf), above 88.7 it is inf; NaN stays NaN. e^r, and a shift of the
/// exponent by n.
inline VecF exp(VecF x) {
    const VecF clamped = x > 88.7228f ? broadcast(88.7228f) : (x < -87.3365f ? broadcast(-87.3365f) : x);
    const auto [p, bits] = exp_parts(clamped);
    // Half of the exponent shift at a time, so that n = 128 does not overflow before the multiplication.
    const VecI exponent = (bits & 0x7fffff) - 0x400000;
    const VecI half = exponent >> 1;
    const VecI first = (half + 127) << 23;
    const VecI second = (exponent - half + 127) << 23;
    VecF f1, f2;
    std::memcpy(&f1, &first, sizeof f1);
    std::memcpy(&f2, &second, sizeof f2);
    const VecF y = p * f1 * f2;
    const VecF low = x < -87.3365f ? broadcast(0.0f) : y;
    const VecF high = x > 88.7228f ? broadcast(std::numeric_limits<float>::infinity()) : low;
    return x != x ? x : high;
}

/// exp without the range above 0, where one shift of the exponent is enough: e^d for d <= 0. NaN stays NaN.
inline VecF exp_below_zero(VecF d) {
    const VecF clamped = d < -87.3365f ? broadcast(-87.3365f) : d;
    const auto [p, bits] = exp_parts(clamped);
    const VecI power = (bits + 127) << 23;  // the shift leaves n of 1.5 * 2^23 + n: 2^n
    VecF factor;
    std::memcpy(&factor, &power, sizeof factor);
    return d < -87.3365f ? broadcast(0.0f) : p * factor;
}

/// Counters of Philox, one per 64-bit lane; only the lower half of a lane counts, the upper may hold anything.
using VecL = Vec<std::uint64_t>;

/// The 64-bit products of the lanes' lower halves with `factor`.
inline VecL multiply_low(VecL lanes, std::uint32_t factor) {
    // GCC is told the instruction: it would take the general 64-bit product, which costs three times as much. (Its builtin, not
    // <immintrin.h>, which takes half a second to read.)
#if defined(__aarch64__)
    return (VecL)vmull_u32(vmovn_u64((uint64x2_t)lanes), vdup_n_u32(factor));
#elif defined(__clang__) || !defined(__SSE2__)
    return (lanes & 0xffffffffu) * factor;
#elif defined(__AVX512F__)
    return (VecL)__builtin_ia32_pmuludq512_mask((VecI)lanes, (VecI)broadcast<std::uint64_t>(factor), Vec<long long>{}, 0xff);
#elif defined(__AVX2__)
    return (VecL)__builtin_ia32_pmuludq256((VecI)lanes, (VecI)broadcast<std::uint64_t>(factor));
#else
    return (VecL)__builtin_ia32_pmuludq128((VecI)lanes, (VecI)broadcast<std::uint64_t>(factor));
#endif
}

/// Philox4x32-10 for one counter (c0, c1, c2, c3) per 64-bit lane, results in place.
inline void philox(std::uint64_t key, VecL& c0, VecL& c1, VecL& c2, VecL& c3) {
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const VecL p0 = multiply_low(c0, 0xD2511F53u);
        const VecL p1 = multiply_low(c2, 0xCD9E8D57u);
        c0 = (p1 >> 32) ^ c1 ^ k0;
        c2 = (p0 >> 32) ^ c3 ^ k1;
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/// Elements that one call of dropout_block decides on.
inline constexpr int kDropoutBlock = 4 * kFloats;
/// Groups of 8 elements that one call of dropout_block decides on.
inline constexpr int kDropoutGroups = kDropoutBlock / 8;

/// The lane of dropout_block that decides on group `group` (0 <= group < kDropoutGroups): the order in which the closing
/// interleave puts neighbouring groups side by side.
constexpr int lane_of_group(int group) { return group < kDropoutGroups / 2 ? 2 * group : 2 * (group - kDropoutGroups / 2) + 1; }

/// For each lane l and counter (c0, c1, c2, c3)[l] of a group of 8 elements: dropout.scale() where the element is kept, else 0.
/// out holds the groups in order: elements [8 g, 8 g + 8) are those of lane lane_of_group(g).
inline void dropout_block(const DropoutMask& dropout, VecL c0, VecL c1, VecL c2, VecL c3, VecF (&out)[4]) {
    using Halves = Vec<std::uint16_t>;
    philox(dropout.key, c0, c1, c2, c3);
    // Element j of a group takes half j % 2 of word j / 2: the four words in memory order are the eight integers in order.
    const VecL words01 = (c0 & 0xffffffffu) | (c1 << 32);
    const VecL words23 = (c2 & 0xffffffffu) | (c3 << 32);
    constexpr int n = kDropoutGroups;
    const VecL ordered[2] = {shuffle(words01, words23, [](int i) { return i % 2 == 0 ? i : n + i - 1; }),
                             shuffle(words01, words23, [](int i) { return i % 2 == 0 ? i + 1 : n + i; })};
    const VecF scale = broadcast(static_cast<float>(dropout.scale()));
    VecI scale_bits;
    std::memcpy(&scale_bits, &scale, sizeof scale_bits);
    for (int i = 0; i < 2; ++i) {
        typedef std::int16_t Half __attribute__((vector_size(kVectorBytes / 2)));
        Halves integers;
        std::memcpy(&integers, &ordered[i], sizeof integers);
        const auto kept = integers >= static_cast<std::uint16_t>(dropout.threshold);  // all bits of a kept element's lane
        Half parts[2];
        std::memcpy(parts, &kept, sizeof parts);
        for (int part = 0; part < 2; ++part) {
            const VecI bits = __builtin_convertvector(parts[part], VecI) & scale_bits;
            std::memcpy(&out[2 * i + part], &bits, sizeof bits);
        }
    }
}

/// The factors of kDropoutBlock elements of one row from column `start` (a multiple of 8) on; (c1, c2, c3) address the row as
/// DropoutMask::keeps says.
inline void dropout_block(const DropoutMask& dropout, std::int64_t start, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3,
                          VecF (&out)[4]) {
    VecL groups;
    for (int g = 0; g < kDropoutGroups; ++g) groups[lane_of_group(g)] = static_cast<std::uint64_t>(g);
    dropout_block(dropout, groups + static_cast<std::uint64_t>(start / 8), broadcast<std::uint64_t>(c1),
                  broadcast<std::uint64_t>(c2), broadcast<std::uint64_t>(c3), out);
}

/// factors[j] = dropout.scale() where DropoutMask::keeps(j, c1, c2, c3), else 0, for j < columns. `factors` has room for
/// `columns` rounded up to a multiple of kDropoutBlock.
inline void dropout_factors(const DropoutMask& dropout, std::int64_t columns, std::uint32_t c1, std::uint32_t c2,
                            std::uint32_t c3, float* factors) {
    for (std::int64_t start = 0; start < columns; start += kDropoutBlock) {
        VecF block[4];
        dropout_block(dropout, start, c1, c2, c3, block);
        for (int i = 0; i < 4; ++i) store(factors + start + i * kFloats, block[i]);
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle
