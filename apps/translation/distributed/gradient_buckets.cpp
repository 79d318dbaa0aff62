#include "apps/translation/distributed/gradient_buckets.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/device.h"
#include "core/format.h"

namespace heddle::app {
namespace {

constexpr std::int64_t told = -1;

std::int64_t common(const GradientBucket& bucket, const Span& range) {
    return std::max<std::int64_t>(0, std::min(bucket.end, range.start + range.length) - std::max(bucket.begin, range.start));
}

}  // namespace

GradientBuckets::GradientBuckets(std::span<const std::int64_t> bounds, std::span<const Span> leaves, std::int64_t elements) {
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        first_of_.push_back(buckets_.size());
        const std::int64_t size = bounds[i + 1] - bounds[i],
                           step = std::max(elements, (size + kMostOfSegment - 1) / kMostOfSegment);
        int number = 0;
        for (std::int64_t at = bounds[i]; at < bounds[i + 1]; at += step)
            buckets_.push_back({at, std::min(at + step, bounds[i + 1]), static_cast<int>(i), number++});
        most_of_segment_ = std::max(most_of_segment_, number);
    }
    first_of_.push_back(buckets_.size());
    for (const GradientBucket& bucket : buckets_) {
        std::int64_t& count = elements_.emplace_back(0);
        for (const Span& leaf : leaves) count += common(bucket, leaf);
    }
    begin();
}

std::span<const GradientBucket> GradientBuckets::of_segment(int owner) const {
    const auto i = static_cast<std::size_t>(owner);
    return std::span(buckets_).subspan(first_of_[i], first_of_[i + 1] - first_of_[i]);
}

void GradientBuckets::begin() { missing_ = elements_; }

void GradientBuckets::complete(Span leaf, const Ready& ready) {
    const auto first = std::ranges::upper_bound(buckets_, leaf.start, {}, &GradientBucket::end);
    for (auto i = static_cast<std::size_t>(first - buckets_.begin());
         i < buckets_.size() && buckets_[i].begin < leaf.start + leaf.length; ++i) {
        std::int64_t& missing = missing_[i];
        const std::int64_t here = common(buckets_[i], leaf);
        check(here <= missing, "gradient buckets: elements {} to {} are complete a second time, or are no leaf's", leaf.start,
              leaf.start + leaf.length);
        missing -= here;
        if (missing > 0) continue;
        missing = told;
        ready(buckets_[i]);
    }
}

void GradientBuckets::complete_rest(const Ready& ready) {
    for (std::size_t i = 0; i < buckets_.size(); ++i)
        if (std::exchange(missing_[i], told) != told) ready(buckets_[i]);
}

// ---- on a device

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
