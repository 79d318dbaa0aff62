// A flat gradient in pieces, each of which can be sent to another rank as soon as backward has completed its last element.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/spans.h"

namespace heddle::app {

/// A run of elements of the flat gradient, all of one rank's segment.
struct GradientBucket {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    int owner = 0;   ///< whose segment it is part of
    int number = 0;  ///< among those of its segment, from 0
};

/// Cuts segments into buckets, and sees when each is complete.
class GradientBuckets {
  public:
    /// 256 KiB of f32: small, so that little is left to be sent at the end of the pass (2 ms on gigabit Ethernet), but large
    /// beside the fixed cost of a message.
    static constexpr std::int64_t kElements = 1 << 16;
    /// 4 MiB, by calculation: 17 us at 250 GB/s, so that starting an exchange is not most of it. Not measured on GPUs.
    static constexpr std::int64_t kElementsOnDevice = 1 << 20;
    /// A segment has no more buckets than this: those of a very large one are larger.
    static constexpr std::int64_t kMostOfSegment = 256;

    using Ready = std::function<void(const GradientBucket&)>;

    /// `bounds`: where the segments begin, and the end of the last one. `leaves`: the ranges of elements that complete() will be
    /// called with, disjoint; what lies between them is always complete.
    GradientBuckets(std::span<const std::int64_t> bounds, std::span<const Span> leaves, std::int64_t elements = kElements);

    /// Ascending.
    std::span<const GradientBucket> all() const { return buckets_; }
    /// How many buckets the longest segment has.
    int most_of_segment() const { return most_of_segment_; }
    /// Those of a rank's segment, ascending.
    std::span<const GradientBucket> of_segment(int owner) const;

    /// A pass begins: no leaf is complete.
    void begin();
    /// This leaf is: calls ready(bucket) for each bucket that is now complete. Error when it was so before.
    void complete(Span leaf, const Ready& ready);
    /// The pass is over: ready(bucket) for all buckets that are left.
    void complete_rest(const Ready& ready);

  private:
    std::vector<GradientBucket> buckets_;           // ascending
    std::vector<std::size_t> first_of_;             // each segment's first bucket, and the number of all
    std::vector<std::int64_t> elements_, missing_;  // of leaves in each bucket; -1 once ready() was called for it
    int most_of_segment_ = 0;
};

}  // namespace heddle::app
