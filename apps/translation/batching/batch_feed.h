// Batches prepared ahead of training.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "apps/translation/batching/batch_plan.h"
#include "apps/translation/batching/batches.h"

namespace heddle::app {

/// The batches of a plan in their order. A separate thread packs them and prepares them for the device, so that the training
/// thread only launches work.
class BatchFeed {
  public:
    /// What is done with a batch beside packing it, on the feed's thread.
    using Prepare = std::function<void(PairBatch&)>;

    /// Batches `first`, `first` + 1, .. of the plan, up to `ahead` of them before they are asked for; 0: without a thread, when
    /// they are. What `pairs` views and `plan` must outlive the feed.
    BatchFeed(const TokenPairs& pairs, const BatchPlan& plan, std::int64_t first, std::int64_t ahead, Prepare prepare = {});
    ~BatchFeed();
    BatchFeed(const BatchFeed&) = delete;
    BatchFeed& operator=(const BatchFeed&) = delete;

    /// The next batch. Error when the plan has no more; what went wrong on the thread is thrown here.
    PairBatch next();

  private:
    PairBatch make(std::int64_t number) const;
    void run();

    TokenPairs pairs_;
    const BatchPlan& plan_;
    const std::int64_t ahead_;
    const Prepare prepare_;
    std::int64_t next_;  // to be given

    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::deque<PairBatch> made_;
    std::int64_t making_;  // the next one that is to be made
    std::exception_ptr failed_;
    bool over_ = false;
    std::thread thread_;
};

/// Goes through the windows of a plan; the feed of a window ends before the plan holds the next one.
class EpochFeed {
  public:
    /// Makes the feed of a window, from its batch `first` on.
    using MakeFeed = std::function<std::unique_ptr<BatchFeed>(const BatchPlan& window, std::int64_t first)>;

    /// From batch `first` of the epoch on. `plan` must outlive the object, which alone may change it meanwhile.
    EpochFeed(EpochPlan& plan, std::int64_t first, MakeFeed make);

    /// The next batch. Errors of EpochPlan::hold() and BatchFeed::next().
    PairBatch next();

  private:
    EpochPlan& plan_;
    std::int64_t next_;
    MakeFeed make_;
    std::unique_ptr<BatchFeed> feed_;  // of the window that is held; null before the first batch
};

}  // namespace heddle::app
