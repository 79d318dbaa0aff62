#include "apps/translation/training/bucket_stream.h"

#include <algorithm>
#include <exception>

#include "core/device.h"

namespace heddle::app {

void BucketStream::run(std::span<const GradientBucket> buckets, const Exchange& exchange) {
    passed_.set();
    std::exception_ptr failure;
    {
        const device::WithStream own(stream_.get());
        try {
            run_here(buckets, exchange);
        } catch (...) {
            failure = std::current_exception();
        }
        ended_.set();
    }
    ended_.wait();  // after a failure, too: the caller frees what the stream still reads
    if (failure) std::rethrow_exception(failure);
}

void BucketStream::run_here(std::span<const GradientBucket> buckets, const Exchange& exchange) {
    for (std::size_t i = 0; i < early_; ++i) {
        const std::size_t bucket = buckets.size() - 1 - i;
        complete_[bucket].wait();
        exchange(buckets.subspan(bucket, 1));
        if (i == exchanged_.size()) exchanged_.emplace_back(true);
        exchanged_[i].set();
    }
    passed_.wait();
    if (early_ < buckets.size()) exchange(buckets.first(buckets.size() - early_));
}

std::size_t BucketStream::in_time() const {
    const double end = passed_.seconds_since(began_);
    const auto late = [&](const device::Mark& each) { return each.seconds_since(began_) > end; };
    const auto last = exchanged_.begin() + static_cast<std::ptrdiff_t>(early_);
    return static_cast<std::size_t>(std::find_if(exchanged_.begin(), last, late) - exchanged_.begin());
}

}  // namespace heddle::app
