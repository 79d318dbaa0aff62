#include "apps/translation/batching/batch_feed.h"

#include <utility>

#include "core/format.h"

namespace heddle::app {

BatchFeed::BatchFeed(const TokenPairs& pairs, const BatchPlan& plan, std::int64_t first, std::int64_t ahead, Prepare prepare)
    : pairs_(pairs), plan_(plan), ahead_(ahead), prepare_(std::move(prepare)), next_(first), making_(first) {
    if (ahead_ > 0) thread_ = std::thread([this] { run(); });
}

BatchFeed::~BatchFeed() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

PairBatch BatchFeed::make(std::int64_t number) const {
    PairBatch batch = make_batch(pairs_, plan_.batches[static_cast<std::size_t>(number)]);
    if (prepare_) prepare_(batch);
    return batch;
}

PairBatch BatchFeed::next() {
    check(next_ < static_cast<std::int64_t>(plan_.batches.size()), "batch feed: all {} batches were given", plan_.batches.size());
    if (ahead_ == 0) return make(next_++);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !made_.empty() || failed_ != nullptr; });
    if (made_.empty()) std::rethrow_exception(failed_);
    PairBatch batch = std::move(made_.front());
    made_.pop_front();
    ++next_;
    lock.unlock();
    changed_.notify_all();
    return batch;
}

void BatchFeed::run() {
    std::unique_lock lock(mutex_);
    for (;; ++making_) {
        changed_.wait(lock, [this] { return over_ || static_cast<std::int64_t>(made_.size()) < ahead_; });
        if (over_ || making_ == static_cast<std::int64_t>(plan_.batches.size())) return;
        lock.unlock();
        PairBatch batch;
        std::exception_ptr failed;
        try {
            batch = make(making_);
        } catch (...) {
            failed = std::current_exception();
        }
        lock.lock();
        if (failed != nullptr)
            failed_ = failed;
        else
            made_.push_back(std::move(batch));
        changed_.notify_all();
        if (failed != nullptr) return;
    }
}

EpochFeed::EpochFeed(EpochPlan& plan, std::int64_t first, MakeFeed make) : plan_(plan), next_(first), make_(std::move(make)) {}

PairBatch EpochFeed::next() {
    if (feed_ == nullptr || !plan_.holds(next_)) {
        feed_.reset();  // its thread reads the window that goes
        plan_.hold(next_);
        feed_ = make_(plan_.window(), next_ - plan_.first_batch());
    }
    ++next_;
    return feed_->next();
}

}  // namespace heddle::app
