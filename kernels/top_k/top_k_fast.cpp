#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/simd.h"
#include "kernels/top_k/top_k.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::int64_t kBlock = 128;
constexpr std::int64_t kStep = 4 * kFloats;  // kBlock is a multiple of it on every level

// maxima[b] = the largest of x[128 b .. 128 b + 128); the largest of all is returned.
float block_maxima(const float* x, std::int64_t n, float* maxima) {
    float best = kMinusInfinity;
    for (std::int64_t start = 0; start < n; start += kBlock) {
        const std::int64_t end = n - start < kBlock ? n : start + kBlock;
        VecF a = broadcast(kMinusInfinity), b = a, c = a, d = a;
        std::int64_t j = start;
        for (; j + kStep <= end; j += kStep) {
            a = maximum<float>(load(x + j), a);
            b = maximum<float>(load(x + j + kFloats), b);
            c = maximum<float>(load(x + j + 2 * kFloats), c);
            d = maximum<float>(load(x + j + 3 * kFloats), d);
        }
        for (; j < end; j += kFloats) a = maximum<float>(load_at(x, j, end, kMinusInfinity), a);
        const float here = largest<float>(maximum<float>(maximum<float>(a, b), maximum<float>(c, d)));
        maxima[start / kBlock] = here;
        best = here > best ? here : best;
    }
    return best;
}

double exponential_sum(const float* x, std::int64_t n, float shift) {
    constexpr int lanes = 32, parts = lanes / kFloats;  // as in cross_entropy_fast.cpp
    VecF sums[parts]{};
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes)
        for (int i = 0; i < parts; ++i) sums[i] += exp_below_zero(load(x + j + i * kFloats) - shift);
    double tail = 0;
    for (; j < n; j += kFloats) {
        float e[kFloats];
        store(e, exp_below_zero(load_at(x, j, n, kMinusInfinity) - shift));
        for (int i = 0; i < kFloats && j + i < n; ++i) tail += static_cast<double>(e[i]);
    }
    return static_cast<double>(sum(sums)) + tail;
}

// A bound that the k best logits reach: each of the k blocks with the largest maxima holds one logit that does.
float bound_of(std::vector<float> maxima, std::int64_t k) {
    if (static_cast<std::int64_t>(maxima.size()) < k) return kMinusInfinity;
    const auto place = maxima.begin() + (k - 1);
    std::nth_element(maxima.begin(), place, maxima.end(), std::greater<>());
    return *place;
}

// The k best (logit, column) seen so far, falling; equal logits by column. Columns must be offered in ascending order.
class Best {
  public:
    Best(float* logits, std::int32_t* ids, std::int64_t k) : logits_(logits), ids_(ids), k_(k) {}

    // An element must exceed this to enter.
    float threshold() const { return threshold_; }
    bool full() const { return size_ == k_; }

    void offer(float logit, std::int32_t id) {
        std::int64_t place = full() ? k_ - 1 : size_++;
        for (; place > 0 && logit > logits_[place - 1]; --place) {
            logits_[place] = logits_[place - 1];
            ids_[place] = ids_[place - 1];
        }
        logits_[place] = logit;
        ids_[place] = id;
        if (full()) threshold_ = logits_[k_ - 1];
    }

  private:
    float* logits_;
    std::int32_t* ids_;
    std::int64_t k_;
    std::int64_t size_ = 0;
    float threshold_ = kMinusInfinity;
};

}  // namespace

bool top_k_row(const float* logits, std::int64_t vocabulary, std::int64_t k, float* values, std::int32_t* ids) {
    std::vector<float> maxima(static_cast<std::size_t>((vocabulary + kBlock - 1) / kBlock));
    const float shift = block_maxima(logits, vocabulary, maxima.data());
    const double total = exponential_sum(logits, vocabulary, shift);
    if (!(total >= 1)) return false;  // NaN, also from the difference of two infinities
    const float bound = bound_of(maxima, k);
    Best best(values, ids, k);
    for (std::int64_t start = 0; start < vocabulary; start += kBlock) {
        const float here = maxima[static_cast<std::size_t>(start / kBlock)];
        if (here < bound || (best.full() && here <= best.threshold())) continue;
        const std::int64_t end = vocabulary - start < kBlock ? vocabulary : start + kBlock;
        for (std::int64_t j = start; j < end; ++j)
            if (logits[j] >= bound && (!best.full() || logits[j] > best.threshold()))
                best.offer(logits[j], static_cast<std::int32_t>(j));
    }
    const double log_total = std::log(total);
    for (std::int64_t i = 0; i < k; ++i)
        values[i] = static_cast<float>(static_cast<double>(values[i]) - static_cast<double>(shift) - log_total);
    return true;
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
