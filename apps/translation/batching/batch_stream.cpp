#include "apps/translation/batching/batch_stream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/format.h"
#include "core/parallel.h"
#include "core/random.h"

namespace heddle::app {
namespace {

// Numbers of an epoch's own, or of one of its windows (`part` > 0): neither the next epoch nor the next seed draws them again.
Sequence epoch_numbers(std::uint64_t seed, std::uint64_t epoch, std::uint32_t part = 0) {
    const Counter bits = philox4x32(seed ^ stable_hash("batches"),
                                    {static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32), part, 0});
    return Sequence(bits[0] | std::uint64_t{bits[1]} << 32);
}

void check_limits(const BatchLimits& limits) {
    check(limits.batch_tokens >= 0 && limits.batch_sentences >= 0 && (limits.batch_tokens > 0 || limits.batch_sentences > 0),
          "batches: batch_tokens is {} and batch_sentences {}; wanted one of them above 0, and 0 for no limit",
          limits.batch_tokens, limits.batch_sentences);
    check(limits.max_length >= 0, "batches: max_length is {}; wanted a number of tokens, or 0 for no limit", limits.max_length);
}

// Whether a pair may stand in a batch; it is counted in either case.
bool count(const PairLengths& pair, const BatchLimits& limits, PlanCounts& counts) {
    const std::int64_t width = pair.width();
    if ((pair.source == 0 && !limits.without_source) || pair.target == 0)
        ++counts.empty;
    else if ((limits.max_length > 0 && width > limits.max_length) || (limits.max_words > 0 && pair.words > limits.max_words))
        ++counts.too_long;
    else if (limits.batch_tokens > 0 && width > limits.batch_tokens)
        ++counts.too_wide;
    else {
        ++counts.sentences;
        counts.source_tokens += pair.source == 0 ? 0 : pair.source + 1;
        counts.target_tokens += pair.target + 1;
        return true;
    }
    return false;
}

void add(PlanCounts& sum, const PlanCounts& part) {
    sum.sentences += part.sentences;
    sum.source_tokens += part.source_tokens;
    sum.target_tokens += part.target_tokens;
    sum.empty += part.empty;
    sum.too_long += part.too_long;
    sum.too_wide += part.too_wide;
}

// Error unless a pair is left.
void check_some_are_left(std::int64_t pairs, const PlanCounts& counts, const BatchLimits& limits) {
    if (counts.sentences > 0) return;
    check(pairs > 0, "{}: there are no pairs; wanted at least one", limits.text);
    fail_with("{}: none of the {} pairs can be used: {}; give {}", limits.text, pairs, left_out_text(counts, limits),
              counts.too_long + counts.too_wide > 0 ? "larger limits, or other text" : "other text");
}

// What pairs are sorted by first.
std::uint64_t sort_key(const PairLengths& pair) {
    return static_cast<std::uint64_t>(pair.target) << 32 | static_cast<std::uint64_t>(pair.source);
}

// The width of a pair with this key.
std::int64_t width_of(std::uint64_t key) {
    return PairLengths{.source = static_cast<std::int64_t>(key & 0xffffffffu), .target = static_cast<std::int64_t>(key >> 32)}
        .width();
}

// The rule by which sorted pairs are cut into batches.
class Filling {
  public:
    explicit Filling(const BatchLimits& limits) : limits_(limits) {}

    // Takes the next pair; true when it begins a batch.
    bool begins_batch(std::int64_t width) {
        widest_ = std::max(widest_, width);
        ++sentences_;
        const bool fits = (limits_.batch_tokens == 0 || widest_ * sentences_ <= limits_.batch_tokens) &&
                          (limits_.batch_sentences == 0 || sentences_ <= limits_.batch_sentences);
        if (batches_ > 0 && fits) return false;
        ++batches_;
        widest_ = width;
        sentences_ = 1;
        return true;
    }
    std::int64_t batches() const { return batches_; }

  private:
    const BatchLimits& limits_;
    std::int64_t widest_ = 0, sentences_ = 0;  // of the current batch
    std::int64_t batches_ = 0;
};

struct Ranked {
    std::uint64_t key = 0;
    std::uint64_t tie = 0;
    std::int64_t pair = 0;

    friend auto operator<=>(const Ranked&, const Ranked&) = default;
};

// The batches of some pairs, `most` or fewer, given by for_each_pair(use); none where none of the pairs can be used.
template <class ForEachPair>
BatchPlan plan_of(const TokenPairs& pairs, const BatchLimits& limits, Sequence numbers, std::int64_t most,
                  const ForEachPair& for_each_pair) {
    BatchPlan plan;
    std::vector<Ranked> order;
    order.reserve(static_cast<std::size_t>(most));
    for_each_pair([&](std::int64_t i) {
        const PairLengths lengths = pairs.lengths(i);
        // Drawn for pairs that are left out, too: the limits do not change the order of the others.
        const std::uint64_t tie = limits.shuffle ? numbers.next() : 0;
        if (count(lengths, limits, plan)) order.push_back({.key = sort_key(lengths), .tie = tie, .pair = i});
    });
    std::sort(order.begin(), order.end());
    Filling filling(limits);
    for (const Ranked& each : order) {
        if (filling.begins_batch(width_of(each.key))) plan.batches.emplace_back();
        plan.batches.back().push_back(each.pair);
    }
    if (limits.shuffle) numbers.shuffle(plan.batches);
    return plan;
}

// How many batches some pairs have, given as for plan_of(). It follows from how often each length occurs.
template <class ForEachPair>
std::int64_t batches_of(const TokenPairs& pairs, const BatchLimits& limits, const ForEachPair& for_each_pair,
                        PlanCounts& counts) {
    std::unordered_map<std::uint64_t, std::int64_t> by_key;
    for_each_pair([&](std::int64_t i) {
        const PairLengths lengths = pairs.lengths(i);
        if (count(lengths, limits, counts)) ++by_key[sort_key(lengths)];
    });
    std::vector<std::pair<std::uint64_t, std::int64_t>> sorted(by_key.begin(), by_key.end());
    std::sort(sorted.begin(), sorted.end());
    Filling filling(limits);
    for (const auto& [key, number] : sorted)
        for (std::int64_t i = 0; i < number; ++i) filling.begins_batch(width_of(key));
    return filling.batches();
}

// The pairs of these blocks, for plan_of().
auto in_blocks(std::vector<std::int64_t> blocks, std::int64_t block_size, std::int64_t pairs) {
    return [blocks = std::move(blocks), block_size, pairs](auto&& use) {
        for (const std::int64_t block : blocks)
            for (std::int64_t i = block * block_size; i < std::min((block + 1) * block_size, pairs); ++i) use(i);
    };
}

}  // namespace

std::string left_out_text(const PlanCounts& counts, const BatchLimits& limits) {
    std::vector<std::string> reasons, widths;
    if (limits.max_length > 0) widths.push_back(fmt::format("{} tokens ({})", limits.max_length, limits.length_option));
    if (limits.max_words > 0) widths.push_back(fmt::format("{} words (--max-words)", limits.max_words));
    if (counts.empty > 0) reasons.push_back(fmt::format("{} with an empty side", counts.empty));
    if (counts.too_long > 0) reasons.push_back(fmt::format("{} longer than {}", counts.too_long, fmt::join(widths, " or ")));
    if (counts.too_wide > 0)
        reasons.push_back(
            fmt::format("{} that alone exceed {} tokens ({})", counts.too_wide, limits.batch_tokens, limits.tokens_option));
    return fmt::format("{}", fmt::join(reasons, ", "));
}

BatchPlan plan_batches(const TokenPairs& pairs, const BatchLimits& limits, std::uint64_t seed, std::uint64_t epoch) {
    check_limits(limits);
    BatchPlan plan = plan_of(pairs, limits, epoch_numbers(seed, epoch), pairs.size(), [&](auto&& use) {
        for (std::int64_t i = 0; i < pairs.size(); ++i) use(i);
    });
    check_some_are_left(pairs.size(), plan, limits);
    return plan;
}

// Packs the batches of a window on a thread of its own.
class BatchStream::Packer {
  public:
    Packer(const BatchStream& stream, std::size_t first)
        : pairs_(stream.pairs_),
          plan_(stream.plan_),
          most_(static_cast<std::size_t>(stream.ahead_)),
          when_packed_(stream.when_packed_),
          packing_(first),
          thread_([this] { run(); }) {}
    ~Packer() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    Packer(const Packer&) = delete;
    Packer& operator=(const Packer&) = delete;

    PairBatch next() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !packed_.empty() || failed_ != nullptr; });
        if (packed_.empty()) std::rethrow_exception(failed_);
        PairBatch batch = std::move(packed_.front());
        packed_.pop_front();
        lock.unlock();
        changed_.notify_all();
        return batch;
    }

  private:
    void run() {
        std::unique_lock lock(mutex_);
        for (; packing_ < plan_->batches.size(); ++packing_) {
            changed_.wait(lock, [this] { return over_ || packed_.size() < most_; });
            if (over_) return;
            lock.unlock();
            PairBatch batch;
            std::exception_ptr failed;
            try {
                batch = make_batch(pairs_, plan_->batches[packing_]);
                if (when_packed_) when_packed_(batch);
            } catch (...) {
                failed = std::current_exception();
            }
            lock.lock();
            if (failed != nullptr)
                failed_ = failed;
            else
                packed_.push_back(std::move(batch));
            changed_.notify_all();
            if (failed != nullptr) return;
        }
    }

    const TokenPairs pairs_;
    const std::shared_ptr<const BatchPlan> plan_;
    const std::size_t most_;
    const WhenPacked when_packed_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::deque<PairBatch> packed_;
    std::size_t packing_;
    std::exception_ptr failed_;
    bool over_ = false;
    std::thread thread_;  // last: it uses all of the above
};

BatchStream::BatchStream(const TokenPairs& pairs, const BatchLimits& limits, std::uint64_t seed, std::uint64_t epoch,
                         const PlanWindows& windows)
    : pairs_(pairs), limits_(limits), seed_(seed), epoch_(epoch), sizes_(windows) {
    plan_epoch();
}

BatchStream::~BatchStream() = default;
BatchStream::BatchStream(BatchStream&&) noexcept = default;
BatchStream& BatchStream::operator=(BatchStream&&) noexcept = default;

void BatchStream::plan_epoch() {
    plan_ = nullptr;  // frees its memory first
    held_ = 0;
    if (pairs_.size() <= sizes_.whole) {
        plan_ = std::make_shared<const BatchPlan>(plan_batches(pairs_, limits_, seed_, epoch_));
        counts_ = *plan_;
        first_batch_ = {0, static_cast<std::int64_t>(plan_->batches.size())};
        return;
    }
    check_limits(limits_);
    check(sizes_.block > 0 && sizes_.blocks > 0, "batches: windows of {} blocks of {} pairs; wanted at least 1 of each",
          sizes_.blocks, sizes_.block);
    blocks_.resize(static_cast<std::size_t>((pairs_.size() + sizes_.block - 1) / sizes_.block));
    std::iota(blocks_.begin(), blocks_.end(), 0);
    if (limits_.shuffle) epoch_numbers(seed_, epoch_).shuffle(blocks_);

    std::vector<PlanCounts> counts(windows());
    first_batch_.assign(windows() + 1, 0);
    parallel_for(static_cast<std::int64_t>(counts.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
            first_batch_[i + 1] = batches_of(pairs_, limits_, in_blocks(blocks_of(i), sizes_.block, pairs_.size()), counts[i]);
    });
    counts_ = {};
    for (const PlanCounts& each : counts) add(counts_, each);
    std::partial_sum(first_batch_.begin(), first_batch_.end(), first_batch_.begin());
    check_some_are_left(pairs_.size(), counts_, limits_);
    plan_window_of(0);
}

std::size_t BatchStream::windows() const {
    const auto of_window = static_cast<std::size_t>(sizes_.blocks);
    return (blocks_.size() + of_window - 1) / of_window;
}

// In file order, so that a window is read from the disk in one direction.
std::vector<std::int64_t> BatchStream::blocks_of(std::size_t window) const {
    const auto of_window = static_cast<std::size_t>(sizes_.blocks), first = window * of_window;
    const auto begin = blocks_.begin() + static_cast<std::ptrdiff_t>(first),
               end = blocks_.begin() + static_cast<std::ptrdiff_t>(std::min(first + of_window, blocks_.size()));
    std::vector<std::int64_t> blocks(begin, end);
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

void BatchStream::plan_window_of(std::int64_t batch) {
    packer_.reset();
    plan_ = nullptr;  // frees its memory first
    // The last window that begins at or before the batch: one without batches ends where it begins.
    const auto after = std::upper_bound(first_batch_.begin(), first_batch_.end(), batch);
    held_ = static_cast<std::size_t>(after - first_batch_.begin()) - 1;
    plan_ = std::make_shared<const BatchPlan>(
        plan_of(pairs_, limits_, epoch_numbers(seed_, epoch_, static_cast<std::uint32_t>(held_) + 1),
                std::min(sizes_.block * sizes_.blocks, pairs_.size()), in_blocks(blocks_of(held_), sizes_.block, pairs_.size())));
    const auto found = static_cast<std::int64_t>(plan_->batches.size());
    const std::int64_t counted = first_batch_[held_ + 1] - first_batch_[held_];
    check(found == counted,
          "batches: window {} has {} batches, but had {} when the epoch was planned: the lengths of its pairs changed", held_ + 1,
          found, counted);
}

void BatchStream::pack_ahead(std::int64_t ahead, WhenPacked when_packed) {
    packer_.reset();
    ahead_ = ahead;
    when_packed_ = std::move(when_packed);
}

void BatchStream::seek(std::uint64_t epoch, std::int64_t batch) {
    packer_.reset();
    if (std::exchange(epoch_, epoch) != epoch) plan_epoch();
    next_ = batch;
}

PairBatch BatchStream::next() {
    check(next_ >= 0 && next_ < batches(), "batch {} of an epoch with {}", next_, batches());
    if (!holds(next_)) plan_window_of(next_);
    const auto number = static_cast<std::size_t>(next_++ - first_batch_[held_]);
    if (ahead_ > 0) {
        if (packer_ == nullptr) packer_ = std::make_unique<Packer>(*this, number);
        return packer_->next();
    }
    PairBatch batch = make_batch(pairs_, plan_->batches[number]);
    if (when_packed_) when_packed_(batch);
    return batch;
}

}  // namespace heddle::app
