// cross_entropy_row for f32: three passes over a row that lies in the nearest caches (6000 logits are 24 kB).
//     1. the largest logit
//     2. the sum of e^d and of d = x - largest; e^d goes to dlogits when they are wanted
//     3. dlogits = e^d * scale / sum - smoothing share * scale
// Sums have 32 lanes on every level, two to eight vectors: additions do not wait for one another, a lane adds few numbers in
// float, and v3 and v4 give the same bits. What is left of a row is added in double, in order.
#include <cmath>

#include "kernels/cross_entropy/cross_entropy_row.h"
#include "kernels/simd.h"
#include "kernels/simd_rows.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

constexpr int kLanesOfSum = 32;
constexpr int kParts = kLanesOfSum / kFloats;

// Whether one of x[0 .. n) equals `value`.
bool contains(const float* x, std::int64_t n, float value) {
    VecI found{};
    std::int64_t j = 0;
    for (; j + kFloats <= n; j += kFloats) found |= load(x + j) == value;
    for (; j < n; ++j)
        if (x[j] == value) return true;
    for (int i = 0; i < kFloats; ++i)
        if (found[i]) return true;
    return false;
}

struct Sums {
    double exponentials;
    double deviations;
};

// kKeep: e^d to `kept` [n], which may be x.
template <bool kKeep>
Sums sum_row(const float* x, std::int64_t n, float shift, float* kept) {
    VecF exponentials[kParts]{}, deviations[kParts]{};
    std::int64_t j = 0;
    for (; j + kLanesOfSum <= n; j += kLanesOfSum)
        for (int i = 0; i < kParts; ++i) {
            const std::int64_t at = j + i * kFloats;
            const VecF d = load(x + at) - shift;
            const VecF e = exp_below_zero(d);
            exponentials[i] += e;
            deviations[i] += d;
            if constexpr (kKeep) store(kept + at, e);
        }
    double tail_exponentials = 0, tail_deviations = 0;
    for (; j < n; j += kFloats) {
        const VecF d = load_at(x, j, n, shift) - shift;
        const VecF e = exp_below_zero(d);
        float exponential[kFloats], deviation[kFloats];
        store(exponential, e);
        store(deviation, d);
        for (int i = 0; i < kFloats && j + i < n; ++i) {
            tail_exponentials += static_cast<double>(exponential[i]);
            tail_deviations += static_cast<double>(deviation[i]);
        }
        if constexpr (kKeep) store_at(kept, j, n, e);
    }
    return {static_cast<double>(sum(exponentials)) + tail_exponentials, static_cast<double>(sum(deviations)) + tail_deviations};
}

// x = x * factor - share
void scale_row(float* x, std::int64_t n, float factor, float share) {
    std::int64_t j = 0;
    for (; j + kFloats <= n; j += kFloats) store(x + j, load(x + j) * factor - share);
    for (; j < n; ++j) x[j] = x[j] * factor - share;
}

}  // namespace

RowLoss cross_entropy_row(const float* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                          double gradient_scale, float* dlogits) {
    const float shift = largest_of(logits, vocabulary);
    const bool correct = logits[target] == shift && !contains(logits, target, shift);
    const double of_target = static_cast<double>(logits[target]) - static_cast<double>(shift);
    const Sums sums = dlogits != nullptr ? sum_row<true>(logits, vocabulary, shift, dlogits)
                                         : sum_row<false>(logits, vocabulary, shift, nullptr);
    const double log_sum = std::log(sums.exponentials);
    const double share = label_smoothing / static_cast<double>(vocabulary);
    double loss = log_sum - (1 - label_smoothing) * of_target;
    if (label_smoothing != 0) loss -= share * sums.deviations;  // without smoothing a logit of -inf costs nothing
    if (dlogits != nullptr) {
        // p - q of the target in double: for a sure prediction the two nearly cancel.
        const double p = static_cast<double>(dlogits[target]) / sums.exponentials;
        scale_row(dlogits, vocabulary, static_cast<float>(gradient_scale / sums.exponentials),
                  static_cast<float>(share * gradient_scale));
        dlogits[target] = static_cast<float>((p - share - (1 - label_smoothing)) * gradient_scale);
    }
    return {loss, log_sum - of_target, correct};
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
