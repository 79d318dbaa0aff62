// Sums and maxima for f32. Two layouts, as on CUDA: a row is reduced by lanes that meet at its end, and neighbouring results are
// reduced side by side, row by row. Sums are kept in f64 as in the reference.
#include <algorithm>

#include "kernels/reduce/detail/reduce.h"
#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

using VecD = Vec<double>;
constexpr int kDoubles = kLanes<double>;
constexpr int kSumLanesOfRow = 32;  // on every level: v3 and v4 give the same bits
constexpr int kParts = kSumLanesOfRow / kDoubles;

typedef float Half __attribute__((vector_size(kVectorBytes / 2)));

bool any(VecI flags) {
    return fold<kFloats / 2>(flags, [](VecI a, VecI b) { return a | b; }) != 0;
}

Half half_of(const float* from) {
    Half half;
    std::memcpy(&half, from, sizeof half);
    return half;
}

VecD widened(Half half) { return __builtin_convertvector(half, VecD); }

// The sums of `pairs` pairs of rows are added to sums [cols], in order.
template <int pairs>
void add_pairs(const float* x, std::int64_t pitch, std::int64_t cols, double* sums) {
    std::int64_t j = 0;
    for (; j + kDoubles <= cols; j += kDoubles) {
        VecD total = load(sums + j);
        for (int k = 0; k < pairs; ++k) total += widened(half_of(x + 2 * k * pitch + j) + half_of(x + (2 * k + 1) * pitch + j));
        store(sums + j, total);
    }
    for (; j < cols; ++j)
        for (int k = 0; k < pairs; ++k) sums[j] += static_cast<double>(x[2 * k * pitch + j] + x[(2 * k + 1) * pitch + j]);
}

}  // namespace

double sum_of_row(const float* x, std::int64_t n) {
    VecD lanes[kParts]{};
    const auto add = [&lanes](const float* from) {
        for (int i = 0; i < kParts; ++i) {
            const float* at = from + i * kDoubles;
            lanes[i] += widened(half_of(at) + half_of(at + kSumLanesOfRow));
        }
    };
    std::int64_t k = 0;
    for (; k + 2 * kSumLanesOfRow <= n; k += 2 * kSumLanesOfRow) add(x + k);
    if (k < n) {
        float rest[2 * kSumLanesOfRow]{};
        std::memcpy(rest, x + k, static_cast<std::size_t>(n - k) * sizeof(float));
        add(rest);
    }
    for (int half = kParts / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return sum<double>(lanes[0]);
}

void add_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols, double* sums) {
    std::int64_t k = 0;
    for (; k + 8 <= rows; k += 8) add_pairs<4>(x + k * pitch, pitch, cols, sums);
    for (; k + 2 <= rows; k += 2) add_pairs<1>(x + k * pitch, pitch, cols, sums);
    for (std::int64_t j = 0; k < rows && j < cols; ++j) sums[j] += static_cast<double>(x[k * pitch + j]);
}

std::int64_t place_of_maximum(const float* x, std::int64_t n) {
    constexpr float kLeast = -std::numeric_limits<float>::infinity();
    VecF best[4] = {broadcast(kLeast), broadcast(kLeast), broadcast(kLeast), broadcast(kLeast)};
    VecI unordered{};
    std::int64_t k = 0;
    for (; k + 4 * kFloats <= n; k += 4 * kFloats)
        for (int i = 0; i < 4; ++i) {
            const VecF at = load(x + k + i * kFloats);
            unordered |= at != at;
            best[i] = maximum<float>(at, best[i]);
        }
    for (; k < n; k += kFloats) {
        const VecF at = load_at(x, k, n, kLeast);
        unordered |= at != at;
        best[0] = maximum<float>(at, best[0]);
    }
    const bool nan = any(unordered);
    const float wanted = largest<float>(maximum<float>(maximum<float>(best[0], best[1]), maximum<float>(best[2], best[3])));
    const auto found = [=](auto at) { return nan ? at != at : at == wanted; };
    for (k = 0; k + kFloats <= n; k += kFloats)
        if (any(found(load(x + k)))) break;
    while (k < n && !(nan ? x[k] != x[k] : x[k] == wanted)) ++k;
    return k;
}

void maxima_of_columns(const float* x, std::int64_t rows, std::int64_t pitch, std::int64_t cols, float* y,
                       std::int32_t* indices) {
    std::copy_n(x, cols, y);
    std::fill_n(indices, cols, 0);
    for (std::int64_t k = 1; k < rows; ++k) {
        const float* row = x + k * pitch;
        const auto number = static_cast<std::int32_t>(k);
        std::int64_t j = 0;
        for (; j + kFloats <= cols; j += kFloats) {
            const VecF at = load(row + j), best = load(y + j);
            const VecI better = ~(at <= best) & (best == best);  // a NaN is better than a number, and nothing than a NaN
            store(y + j, better ? at : best);
            store(indices + j, better ? broadcast(number) : load(indices + j));
        }
        for (; j < cols; ++j)
            if (!(row[j] <= y[j]) && y[j] == y[j]) {
                y[j] = row[j];
                indices[j] = number;
            }
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
