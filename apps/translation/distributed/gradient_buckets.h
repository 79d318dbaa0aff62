// A flat gradient in pieces, each of which can be sent to another rank as soon as backward has completed its last element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "core/mark.h"
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

/// Gradients on a device travel while it computes: buckets are exchanged in a stream of their own, each after a mark that
/// backward sets where the bucket is complete.
///
/// A captured step holds the marks, so every replay sets them again, and the host need not know when. The exchange is not part of
/// the graph: the ranks' batches differ, so one may capture a step while another replays its own, and NCCL wants a captured
/// operation to be captured, and its graph launched, by all ranks alike
/// (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/cudagraph.html).
///
/// Sending early has a price. Backward completes the flat array from its end, and a rank owns one segment of it, so the buckets
/// that are complete at one time have one owner: R - 1 ranks send to it, and the other ways are idle. One after another all
/// buckets take up to R times as long as together. That pays only as far as backward hides it, so only so many are sent one by
/// one as were through before the end of the last pass; the others go together after it.
class BucketStream {
  public:
    /// For so many buckets. Error when there is no device.
    explicit BucketStream(std::size_t buckets) : complete_(buckets), early_(buckets) {}

    /// An update begins in the current stream: times count from here, and all buckets become complete after it.
    void begin() { began_.set(); }
    /// The bucket is complete by what is in the current stream now; may be captured.
    void complete(std::size_t bucket) { complete_[bucket].set(); }

    /// Puts the exchange of some buckets into the current stream.
    using Exchange = std::function<void(std::span<const GradientBucket>)>;
    /// The last pass is in the current stream. Calls exchange() in the own stream, for the last early() buckets one by one from
    /// the end, each behind its mark, then for all others together behind the pass. What follows in the current stream comes
    /// after all of it.
    void run(std::span<const GradientBucket> buckets, const Exchange& exchange);

    /// How many buckets run() exchanges one by one; at first all.
    std::size_t early() const { return early_; }
    /// How many of these were exchanged when the last pass was over. Waits for the device.
    std::size_t in_time() const;
    /// `in_time`: of the rank with the fewest. So many next time, and one more to find out whether it is.
    void send_early(std::size_t in_time) { early_ = std::min(in_time + 1, complete_.size()); }
    /// Seconds from the end of the last pass to that of the exchange. Waits for the device.
    double waited() const { return ended_.seconds_since(passed_); }

  private:
    void run_here(std::span<const GradientBucket> buckets, const Exchange& exchange);

    device::SideStream stream_;
    std::vector<device::Mark> complete_;  // by bucket
    std::deque<device::Mark> exchanged_;  // from the last bucket on
    device::Mark began_{true}, passed_{true}, ended_{true};
    std::size_t early_;
};

}  // namespace heddle::app
