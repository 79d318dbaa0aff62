// Sums and maxima for f32. Two layouts, as on CUDA: a row is reduced by lanes that meet at its end, and neighbouring results are
// reduced side by side, row by row. Sums are kept in f64 as in the reference.
#include <algorithm>
#include <utility>

#include "kernels/reduce/detail/reduce.h"
#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

using VecD = Vec<double>;
constexpr int kDoubles = kLanes<double>;
constexpr int kSumLanesOfRow = 32;  // on every level: v3 and v4 give the same bits
constexpr int kAhead = 1024;        // floats to fetch ahead: a long row comes from memory
constexpr int kParts = kSumLanesOfRow / kDoubles;

typedef float Half __attribute__((vector_size(kVectorBytes / 2)));

bool any(VecI flags) {
    return fold<kFloats / 2>(flags, [](VecI a, VecI b) { return a | b; }) != 0;
}

// The halves of a vector of floats as doubles. GCC 12 is told the instruction: it would convert a quarter at a time.
VecD widened(const float* from) {
    Half half;
    std::memcpy(&half, from, sizeof half);
#if defined(__AVX512F__) && !defined(__clang__)
    return __builtin_ia32_cvtps2pd512_mask(half, VecD{}, -1, 4);  // 4: the rounding in use, though none happens
#else
    return __builtin_convertvector(half, VecD);
#endif
}

// The indices are constants, so that the lanes stay in registers.
template <int... i>
double sum_in_lanes(const float* x, std::int64_t n, std::integer_sequence<int, i...>) {
    VecD lanes[kParts] = {(static_cast<void>(i), VecD{})...};
    std::int64_t k = 0;
    for (; k + kSumLanesOfRow <= n; k += kSumLanesOfRow) {
        __builtin_prefetch(x + k + kAhead);
        __builtin_prefetch(x + k + kAhead + kSumLanesOfRow / 2);
        ((lanes[i] += widened(x + k + i * kDoubles)), ...);
    }
    if (k < n) {
        float rest[kSumLanesOfRow];
        for (int j = 0; j < kSumLanesOfRow; ++j) rest[j] = k + j < n ? x[k + j] : 0;
        ((lanes[i] += widened(rest + i * kDoubles)), ...);
    }
    // The upper half meets the lower one until a single vector is left.
    if constexpr (kParts >= 16) ((i < 8 ? void(lanes[i % 8] += lanes[8 + i % 8]) : void()), ...);
    if constexpr (kParts >= 8) ((i < 4 ? void(lanes[i % 4] += lanes[4 + i % 4]) : void()), ...);
    ((i < 2 ? void(lanes[i % 2] += lanes[2 + i % 2]) : void()), ...);
    return sum<double>(lanes[0] + lanes[1]);
}

// The sums of `count` rows are added to sums [cols], in order.
template <int count>
void add_rows(const float* x, std::int64_t pitch, std::int64_t cols, double* sums) {
    std::int64_t j = 0;
    for (; j + kDoubles <= cols; j += kDoubles) {
        VecD total = load(sums + j);
        for (int k = 0; k < count; ++k) total += widened(x + k * pitch + j);
        store(sums + j, total);
    }
    for (; j < cols; ++j)
        for (int k = 0; k < count; ++k) sums[j] += static_cast<double>(x[k * pitch + j]);
}

// The larger number of each lane, or the smaller. A NaN of `at` is passed over.
template <bool smallest>
VecF further(VecF at, VecF best) {
    return smallest ? (at < best ? at : best) : (at > best ? at : best);
}

template <bool smallest>
std::int64_t place_of_extremum(const float* x, std::int64_t n) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLeast = smallest ? kInfinity : -kInfinity;
    VecF best[4] = {broadcast(kLeast), broadcast(kLeast), broadcast(kLeast), broadcast(kLeast)};
    VecI unordered{};
    std::int64_t k = 0;
    for (; k + 4 * kFloats <= n; k += 4 * kFloats)
        for (int i = 0; i < 4; ++i) {
            const VecF at = load(x + k + i * kFloats);
            unordered |= at != at;
            best[i] = further<smallest>(at, best[i]);
        }
    for (; k < n; k += kFloats) {
        const VecF at = load_at(x, k, n, kLeast);
        unordered |= at != at;
        best[0] = further<smallest>(at, best[0]);
    }
    const bool nan = any(unordered);
    const VecF joined = further<smallest>(further<smallest>(best[0], best[1]), further<smallest>(best[2], best[3]));
    const float wanted = fold<kFloats / 2>(joined, [](VecF a, VecF b) { return further<smallest>(a, b); });
    const auto found = [=](auto at) { return nan ? at != at : at == wanted; };
    for (k = 0; k + kFloats <= n; k += kFloats)
        if (any(found(load(x + k)))) break;
    while (k < n && !(nan ? x[k] != x[k] : x[k] == wanted)) ++k;
    return k;
}

template <bool smallest>
void extrema_of_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols, float* y,
                        std::int32_t* indices) {
    std::copy_n(x, cols, y);
    std::fill_n(indices, cols, 0);
    for (std::int64_t k = 1; k < rows; ++k) {
        const float* row = x + k * pitch;
        const auto number = static_cast<std::int32_t>(k);
        std::int64_t j = 0;
        for (; j + kFloats <= cols; j += kFloats) {
            const VecF at = load(row + j), best = load(y + j);
            // A NaN comes before a number, and nothing before a NaN.
            const VecI better = ~(smallest ? at >= best : at <= best) & (best == best);
            store(y + j, better ? at : best);
            store(indices + j, better ? broadcast(number) : load(indices + j));
        }
        for (; j < cols; ++j)
            if (!(smallest ? row[j] >= y[j] : row[j] <= y[j]) && y[j] == y[j]) {
                y[j] = row[j];
                indices[j] = number;
            }
    }
}

}  // namespace

double sum_of_row(const float* x, std::int64_t n) { return sum_in_lanes(x, n, std::make_integer_sequence<int, kParts>()); }

void add_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols, double* sums) {
    std::int64_t k = 0;
    for (; k + 8 <= rows; k += 8) add_rows<8>(x + k * pitch, pitch, cols, sums);
    for (; k < rows; ++k) add_rows<1>(x + k * pitch, pitch, cols, sums);
}

std::int64_t place_of_extremum(const float* x, std::int64_t n, bool smallest) {
    return smallest ? place_of_extremum<true>(x, n) : place_of_extremum<false>(x, n);
}

void extrema_of_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols, bool smallest, float* y,
                        std::int32_t* indices) {
    (smallest ? extrema_of_columns<true> : extrema_of_columns<false>)(x, rows, pitch, cols, y, indices);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
