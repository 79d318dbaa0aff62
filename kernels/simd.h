// Vectors of the native width for *_fast.cpp files, on the compiler's vector extension. Never included by a public header.
//
// The arithmetic operators work lane by lane; a * b + c becomes one fused multiply-add where the level has it (v3, v4).
// Every lane computes the same thing wherever it stands, so a row's bits do not depend on its place in the batch.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

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

/// The first n (< lanes) elements, the others `rest`.
template <class T>
inline Vec<T> load_part(const T* from, int n, T rest = 0) {
    Vec<T> v = Vec<T>{} + rest;
    for (int i = 0; i < n; ++i) v[i] = from[i];
    return v;
}

template <class T>
inline void store_part(T* to, Vec<T> v, int n) {
    for (int i = 0; i < n; ++i) to[i] = v[i];
}

template <class T>
inline Vec<T> broadcast(T value) {
    return Vec<T>{} + value;
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

/// The sum of all lanes, in a fixed order (halves are folded together).
template <class T>
inline T sum(Vec<T> v) {
    T lanes[kLanes<T>];
    store(lanes, v);
    for (int half = kLanes<T> / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
}

template <class T>
inline T largest(Vec<T> v) {
    T best = v[0];
    for (int i = 1; i < kLanes<T>; ++i) best = v[i] > best ? v[i] : best;
    return best;
}

/// e^x to about 2 ulp. Below -87.3 the result is 0 (also for -inf), above 88.7 it is inf; NaN stays NaN.
/// x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite's two-part ln 2), then the Taylor polynomial of degree 7 and a shift of the exponent.
inline VecF exp(VecF x) {
    const VecF clamped = x > 88.7228f ? broadcast(88.7228f) : (x < -87.3365f ? broadcast(-87.3365f) : x);
    const VecF shifted = clamped * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the integer part moves into the low mantissa bits
    const VecF n = shifted - 12582912.0f;
    const VecF r = clamped - n * 0.693359375f + n * 2.12194440e-4f;
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

/// Philox4x32-10 for one counter per lane: counters (c0, c1, c2, c3), results in place.
inline void philox(std::uint64_t key, VecU& c0, VecU& c1, VecU& c2, VecU& c3) {
    typedef std::uint64_t Wide __attribute__((vector_size(2 * kVectorBytes)));
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const Wide p0 = __builtin_convertvector(c0, Wide) * 0xD2511F53u;
        const Wide p1 = __builtin_convertvector(c2, Wide) * 0xCD9E8D57u;
        const VecU high0 = __builtin_convertvector(p0 >> 32, VecU), low0 = __builtin_convertvector(p0, VecU);
        const VecU high1 = __builtin_convertvector(p1 >> 32, VecU), low1 = __builtin_convertvector(p1, VecU);
        const VecU next0 = high1 ^ c1 ^ k0;
        const VecU next2 = high0 ^ c3 ^ k1;
        c1 = low1;
        c3 = low0;
        c0 = next0;
        c2 = next2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/// factors[j] = dropout.scale() where Dropout::keeps(j, c1, c2, c3), else 0, for j < columns. `factors` has room for a multiple of
/// 8 * lanes elements past any start: round `columns` up to it.
inline void dropout_factors(const Dropout& dropout, std::int64_t columns, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3,
                            float* factors) {
    const auto scale = static_cast<float>(dropout.scale());
    for (std::int64_t start = 0; start < columns; start += 8 * kFloats) {
        VecU words[4] = {iota<std::uint32_t>() + static_cast<std::uint32_t>(start / 8), broadcast(c1), broadcast(c2), broadcast(c3)};
        philox(dropout.key, words[0], words[1], words[2], words[3]);
        // Lane g holds the 8 decisions of group g: word w, half h decides on element 8 g + 2 w + h.
        float by_element[8][kFloats];
        for (int w = 0; w < 4; ++w) {
            const VecF low = (words[w] & 0xffffu) >= dropout.threshold ? broadcast(scale) : broadcast(0.0f);
            const VecF high = (words[w] >> 16) >= dropout.threshold ? broadcast(scale) : broadcast(0.0f);
            store(by_element[2 * w], low);
            store(by_element[2 * w + 1], high);
        }
        for (int g = 0; g < kFloats; ++g)
            for (int e = 0; e < 8; ++e) factors[start + 8 * g + e] = by_element[e][g];
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle
