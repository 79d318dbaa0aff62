// The online softmax of one query row, a key at a time; shared by the reference loops of this folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace heddle::kernels {

template <class T>
double dot(const T* a, const T* b, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

/// After add(s_1, f_1, v_1), add(s_2, ...), ...: largest = max s, sum = sum e^{s - largest}, mean = sum e^{s - largest} f v, not
/// yet divided by sum.
class RunningSoftmax {
  public:
    explicit RunningSoftmax(std::int64_t width) : mean_(static_cast<std::size_t>(width)) {}

    void start() {
        largest_ = -std::numeric_limits<double>::infinity();
        sum_ = 0;
        std::fill(mean_.begin(), mean_.end(), 0.0);
    }
    template <class T>
    void add(double score, double factor, const T* value) {
        if (!(score <= largest_)) shrink_to(score);  // a NaN comes through here and stays
        const double weight = std::exp(score - largest_);
        sum_ += weight;
        for (std::size_t c = 0; c < mean_.size(); ++c) mean_[c] += weight * factor * static_cast<double>(value[c]);
    }
    /// Zeros when nothing was added.
    template <class T>
    void finish(T* output) const {
        const double inverse = sum_ == 0 ? 0 : 1 / sum_;
        for (std::size_t c = 0; c < mean_.size(); ++c) output[c] = static_cast<T>(mean_[c] * inverse);
    }
    /// +inf when nothing was added: backward's e^{s - log_sum} is then 0.
    double log_sum() const { return sum_ == 0 ? std::numeric_limits<double>::infinity() : largest_ + std::log(sum_); }

  private:
    void shrink_to(double score) {
        const double factor = std::exp(largest_ - score);
        largest_ = score;
        sum_ *= factor;
        for (double& mean : mean_) mean *= factor;
    }

    double largest_ = 0;
    double sum_ = 0;
    std::vector<double> mean_;
};

}  // namespace heddle::kernels
