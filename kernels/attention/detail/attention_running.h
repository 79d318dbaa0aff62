// The online softmax of one query row, a key at a time; shared by the reference loops of this folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/dual.h"

namespace heddle::kernels {

template <class T>
Accumulator<T> dot(const T* a, const T* b, std::int64_t n) {
    Accumulator<T> sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += Accumulator<T>(a[i]) * Accumulator<T>(b[i]);
    return sum;
}

/// After add(s_1, f_1, v_1), add(s_2, ...), ...: largest = max s, sum = sum e^{s - largest}, mean = sum e^{s - largest} f v, not
/// yet divided by sum. T is the element type of values and outputs.
template <class T>
class RunningSoftmax {
  public:
    using A = Accumulator<T>;

    explicit RunningSoftmax(std::int64_t width) : mean_(static_cast<std::size_t>(width)) {}

    void start() {
        largest_ = -std::numeric_limits<double>::infinity();
        sum_ = 0;
        std::fill(mean_.begin(), mean_.end(), A(0));
    }
    void add(const A& score, double factor, const T* value) {
        using std::exp;
        if (!(score <= largest_)) shrink_to(score);  // a NaN comes through here and stays
        const A weight = exp(score - largest_);
        sum_ += weight;
        for (std::size_t c = 0; c < mean_.size(); ++c) mean_[c] += weight * factor * A(value[c]);
    }
    /// Zeros when nothing was added.
    void finish(T* output) const {
        const A inverse = sum_ == 0 ? A(0) : 1 / sum_;
        for (std::size_t c = 0; c < mean_.size(); ++c) output[c] = static_cast<T>(mean_[c] * inverse);
    }
    /// +inf when nothing was added: backward's e^{s - log_sum} is then 0.
    A log_sum() const {
        using std::log;
        return sum_ == 0 ? A(std::numeric_limits<double>::infinity()) : largest_ + log(sum_);
    }

  private:
    void shrink_to(const A& score) {
        using std::exp;
        const A factor = exp(largest_ - score);
        largest_ = score;
        sum_ *= factor;
        for (A& mean : mean_) mean *= factor;
    }

    A largest_ = 0;
    A sum_ = 0;
    std::vector<A> mean_;
};

}  // namespace heddle::kernels
