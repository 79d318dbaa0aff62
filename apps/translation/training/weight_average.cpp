#include "apps/translation/training/weight_average.h"

#include <vector>

#include "core/check.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::app {

WeightAverage::WeightAverage(std::int64_t count) : count_(count) {
    check(count >= 1, "average: {} snapshots asked for, at least 1 wanted", count);
}

void WeightAverage::add(const Tensor& weights) {
    if (size() == count_) snapshots_.pop_front();
    snapshots_.push_back(copy_on_cpu(weights));
}

Tensor WeightAverage::mean() const {
    check(!snapshots_.empty(), "average: there are no weights yet");
    if (size() == 1) return snapshots_.front();
    Tensor mean = Tensor::empty(snapshots_.front().shape(), snapshots_.front().dtype());
    dispatch_float("average", mean, [&]<class T>(TypeTag<T>) {
        std::vector<const T*> from;
        for (const Tensor& snapshot : snapshots_) from.push_back(snapshot.data<T>());
        T* to = mean.mutable_data<T>();
        parallel_for(mean.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                double sum = 0;
                for (const T* weights : from) sum += static_cast<double>(weights[i]);
                to[i] = static_cast<T>(sum / static_cast<double>(from.size()));
            }
        });
    });
    return mean;
}

}  // namespace heddle::app
