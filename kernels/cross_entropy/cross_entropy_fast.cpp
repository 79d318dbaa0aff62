// cross_entropy_row for f32: three passes over a row that lies in the nearest caches (6000 logits are 24 kB).
//     1. the largest logit
//     2. the sum of e^d and of d = x - largest; e^d goes to dlogits when they are wanted
//     3. dlogits = e^d * scale / sum - smoothing share * scale
// With smoothing, another pass looks for forbidden logits (cross_entropy.h); a row that has some pays a little more: the second
// pass keeps -1 - e^d for such a logit, so that the third knows it when dlogits have taken the logits' place.
// Sums have 32 lanes on every level, two to eight vectors: additions do not wait for one another, a lane adds few numbers in
// float, and v3 and v4 give the same bits. What is left of a row is added in double, in order.
#include <cmath>

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/cross_entropy/cross_entropy_row.h"
#include "kernels/simd.h"
#include "kernels/simd_rows.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

constexpr int kLanesOfSum = 32;
constexpr int kParts = kLanesOfSum / kFloats;

constexpr auto kForbidden = static_cast<float>(kForbiddenLogit);

bool any(VecI found) {
    for (int i = 0; i < kFloats; ++i)
        if (found[i]) return true;
    return false;
}

bool has_forbidden(const float* x, std::int64_t n) {
    VecI found{};
    std::int64_t j = 0;
    for (; j + kFloats <= n; j += kFloats) found |= load(x + j) <= kForbidden;
    return any(found | (load_at(x, j, n) <= kForbidden));
}

// Whether one of x[0 .. n) equals `value`.
bool contains(const float* x, std::int64_t n, float value) {
    VecI found{};
    std::int64_t j = 0;
    for (; j + kFloats <= n; j += kFloats) found |= load(x + j) == value;
    for (; j < n; ++j)
        if (x[j] == value) return true;
    return any(found);
}

struct Sums {
    double exponentials;
    double deviations;
    std::int64_t forbidden = 0;
};

// kKeep: e^d to `kept` [n], which may be x. kForbids: some logits are forbidden, see above.
template <bool kKeep, bool kForbids>
Sums sum_row(const float* x, std::int64_t n, float shift, float* kept) {
    VecF exponentials[kParts]{}, deviations[kParts]{};
    VecI forbidden{};
    std::int64_t j = 0;
    for (; j + kLanesOfSum <= n; j += kLanesOfSum)
        for (int i = 0; i < kParts; ++i) {
            const std::int64_t at = j + i * kFloats;
            const VecF value = load(x + at), d = value - shift;
            const VecF e = exp_below_zero(d);
            exponentials[i] += e;
            if constexpr (kForbids) {
                const auto out = value <= kForbidden;
                forbidden -= out;  // true is -1
                deviations[i] += out ? VecF{} : d;
                if constexpr (kKeep) store(kept + at, out ? -1.0f - e : e);
            } else {
                deviations[i] += d;
                if constexpr (kKeep) store(kept + at, e);
            }
        }
    double tail_exponentials = 0, tail_deviations = 0;
    std::int64_t tail_forbidden = 0;
    for (; j < n; j += kFloats) {
        const VecF value = load_at(x, j, n, shift), d = value - shift;
        const VecF e = exp_below_zero(d);
        const auto out = value <= kForbidden;
        float exponential[kFloats], deviation[kFloats];
        store(exponential, e);
        store(deviation, kForbids ? (out ? VecF{} : d) : d);
        for (int i = 0; i < kFloats && j + i < n; ++i) {
            tail_exponentials += static_cast<double>(exponential[i]);
            tail_deviations += static_cast<double>(deviation[i]);
            if (kForbids && out[i]) ++tail_forbidden;
        }
        if constexpr (kKeep) store_at(kept, j, n, kForbids ? (out ? -1.0f - e : e) : e);
    }
    for (int i = 0; i < kFloats; ++i) tail_forbidden += forbidden[i];
    return {static_cast<double>(sum(exponentials)) + tail_exponentials, static_cast<double>(sum(deviations)) + tail_deviations,
            tail_forbidden};
}

// The sums of x, and e^d in the place of `kept` unless it is null.
Sums sum_of(const float* x, std::int64_t n, float shift, float* kept, bool forbids) {
    if (kept == nullptr) return forbids ? sum_row<false, true>(x, n, shift, kept) : sum_row<false, false>(x, n, shift, kept);
    return forbids ? sum_row<true, true>(x, n, shift, kept) : sum_row<true, false>(x, n, shift, kept);
}

// e^d of what sum_row keeps.
float exponential_of(float kept) { return kept < 0 ? -1.0f - kept : kept; }

// x = x * factor - share
void scale_row(float* x, std::int64_t n, float factor, float share, bool forbids) {
    std::int64_t j = 0;
    if (forbids) {
        for (; j < n; j += kFloats) {
            const VecF kept = load_at(x, j, n);
            const auto out = kept < 0.0f;
            store_at(x, j, n, (out ? -1.0f - kept : kept) * factor - (out ? VecF{} : broadcast(share)));
        }
        return;
    }
    for (; j + kFloats <= n; j += kFloats) store(x + j, load(x + j) * factor - share);
    for (; j < n; ++j) x[j] = x[j] * factor - share;
}

}  // namespace

RowLoss cross_entropy_row(const float* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                          double gradient_scale, float* dlogits) {
    const float shift = largest_of(logits, vocabulary);
    const bool forbids = label_smoothing != 0 && has_forbidden(logits, vocabulary);
    const bool correct = logits[target] == shift && !contains(logits, target, shift);
    const double of_target = static_cast<double>(logits[target]) - static_cast<double>(shift);
    const Sums sums = sum_of(logits, vocabulary, shift, dlogits, forbids);
    const double log_sum = std::log(sums.exponentials);
    const std::int64_t smoothed = vocabulary - sums.forbidden;
    const double share = smoothed == 0 ? 0 : label_smoothing / static_cast<double>(smoothed);
    double loss = log_sum - (1 - label_smoothing) * of_target;
    if (label_smoothing != 0) loss -= share * sums.deviations;  // without smoothing a logit of -inf costs nothing
    if (dlogits != nullptr) {
        // p - q of the target in double: for a sure prediction the two nearly cancel.
        const double p = static_cast<double>(exponential_of(dlogits[target])) / sums.exponentials;
        const double share_of_target = dlogits[target] < 0 ? 0 : share;
        scale_row(dlogits, vocabulary, static_cast<float>(gradient_scale / sums.exponentials),
                  static_cast<float>(share * gradient_scale), forbids);
        dlogits[target] = static_cast<float>((p - share_of_target - (1 - label_smoothing)) * gradient_scale);
    }
    return {loss, log_sum - of_target, correct};
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
