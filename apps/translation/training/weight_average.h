// The average of the weights at the last few validations: a cheap ensemble (Vaswani et al. 2017, section 6.1, "averaging the last
// checkpoints").
#pragma once

#include <cstdint>
#include <deque>

#include "core/tensor.h"

namespace heddle::app {

class WeightAverage {
  public:
    /// Keeps the last `count` snapshots. Error when it is below 1.
    explicit WeightAverage(std::int64_t count);

    /// Adds a copy of `weights` [n] and forgets the oldest snapshot when there are more than `count`. A snapshot never changes.
    void add(const Tensor& weights);
    /// Oldest first.
    const std::deque<Tensor>& snapshots() const { return snapshots_; }
    /// The mean of the snapshots, [n]. Error when there is none.
    Tensor mean() const;
    std::int64_t size() const { return static_cast<std::int64_t>(snapshots_.size()); }

  private:
    std::int64_t count_;
    std::deque<Tensor> snapshots_;
};

/// Whether a run keeps the mean, by the validation losses of the mean and of the last weights. The mean helps where weights
/// differ by noise; while they still improve fast, the older ones spoil it.
inline bool keeps_mean(double loss_of_mean, double loss_of_last) { return !(loss_of_mean > loss_of_last); }

}  // namespace heddle::app
