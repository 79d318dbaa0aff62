// What several *_fast.cpp files do with a row. Lanes of sums are as many on every level, so v3 and v4 give the same bits.
#pragma once

#include <algorithm>

#include "kernels/simd.h"

namespace heddle {
namespace HEDDLE_LEVEL {

/// The largest of x[0 .. n), -infinity when n is 0. NaN is passed over.
inline float largest_of(const float* x, std::int64_t n) {
    constexpr float kLeast = -std::numeric_limits<float>::infinity();
    constexpr std::int64_t kStep = 4 * kFloats;
    VecF best[4] = {broadcast(kLeast), broadcast(kLeast), broadcast(kLeast), broadcast(kLeast)};
    std::int64_t j = 0;
    for (; j + kStep <= n; j += kStep)
        for (int i = 0; i < 4; ++i) best[i] = maximum<float>(load(x + j + i * kFloats), best[i]);
    for (; j < n; j += kFloats) best[0] = maximum<float>(load_at(x, j, n, kLeast), best[0]);
    return largest<float>(maximum<float>(maximum<float>(best[0], best[1]), maximum<float>(best[2], best[3])));
}

/// Calls body(at) for j = 0, kFloats, .. < n; at.take(row, rest) is the vector at column j of a row of n, with `rest` in the
/// lanes behind its end, and at.put(row, v) stores one. Neither has a branch, at which a compiler would not join a product and a
/// sum: so the bits are those of the other levels.
struct WholeVector {
    std::int64_t j;
    VecF take(const float* row, float = 0) const { return load(row + j); }
    void put(float* row, VecF v) const { store(row + j, v); }
};
struct LastVector {
    std::int64_t j, n;
    VecF take(const float* row, float rest = 0) const { return load_part(row + j, static_cast<int>(n - j), rest); }
    void put(float* row, VecF v) const { store_part(row + j, v, static_cast<int>(n - j)); }
};
/// A whole or the last one.
struct AnyVector {
    std::int64_t j, n;
    VecF take(const float* row, float rest = 0) const { return load_at(row, j, n, rest); }
    void put(float* row, VecF v) const { store_at(row, j, n, v); }
};
template <class Body>
inline void for_vectors(std::int64_t n, Body body) {
    std::int64_t j = 0;
    for (; j + kFloats <= n; j += kFloats) body(WholeVector{j});
    if (j < n) body(LastVector{j, n});
}

inline constexpr int kRowLanes = 32;
inline constexpr int kRowVectors = kRowLanes / kFloats;

/// The sum of value(at) for at = WholeVector or AnyVector of a row of n. `value` returns a vector whose lanes behind the row's
/// end are 0. A lane adds at most 32 numbers in f32; sums of so many blocks are added in f64, in order.
template <class Value>
inline double sum_in_blocks(std::int64_t n, Value value) {
    constexpr std::int64_t kBlock = 32 * kRowLanes;
    double total = 0;
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
        const std::int64_t end = std::min(n, begin + kBlock);
        VecF lanes[kRowVectors]{};
        std::int64_t j = begin;
        for (; j + kRowLanes <= end; j += kRowLanes)
            for (int i = 0; i < kRowVectors; ++i) lanes[i] += value(WholeVector{j + i * kFloats});
        for (int i = 0; j < end; ++i, j += kFloats) lanes[i] += value(AnyVector{j, n});
        total += static_cast<double>(sum(lanes));
    }
    return total;
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle
