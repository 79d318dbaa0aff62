// Which pairs form the batches of an epoch, and these batches, packed ahead of training.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "apps/translation/batching/token_pairs.h"

namespace heddle::app {

/// What a batch of pairs may hold, and which pairs are left out of every batch.
struct BatchLimits {
    /// Sentences x the longest source or target of the batch (EOS included) never exceeds this; 0 means no such limit.
    std::int64_t batch_tokens = 3000;
    /// Nor do the sentences exceed this; 0 means no such limit.
    std::int64_t batch_sentences = 0;
    /// Pairs with a longer side (EOS included) are left out; 0 means no such limit.
    std::int64_t max_length = 120;
    /// Pairs with more words (TokenPair::words) are left out; 0 means no such limit.
    std::int64_t max_words = 0;
    /// The pairs are texts for a language model: an empty source does not leave them out.
    bool without_source = false;
    /// false: short sentences first, in file order within a length; seed and epoch have no effect.
    bool shuffle = true;
    /// In errors: what text the pairs are, and the options that set batch_tokens and max_length.
    std::string text = "batches";
    std::string tokens_option = "--batch-tokens";
    std::string length_option = "--max-length, or the table of learned positions";
};

/// What a plan uses and what it leaves out.
struct PlanCounts {
    std::int64_t sentences = 0;      ///< in all batches
    std::int64_t source_tokens = 0;  ///< EOS included
    std::int64_t target_tokens = 0;
    std::int64_t empty = 0;     ///< pairs left out because a side has no token
    std::int64_t too_long = 0;  ///< pairs left out because of max_length or max_words
    std::int64_t too_wide = 0;  ///< pairs left out because they alone exceed batch_tokens
};

/// Each reason that left out a pair, with its limit: "1 with an empty side, 3 longer than 120 tokens (--max-length)". Empty if
/// none is left out.
std::string left_out_text(const PlanCounts& counts, const BatchLimits& limits);

/// The batches of one epoch, or of a window of it, as indices of pairs.
struct BatchPlan : PlanCounts {
    std::vector<std::vector<std::int64_t>> batches;
};

/// Sorts by (target length, source length, random), fills batches in that order, then shuffles the batches. A pure function of
/// its arguments. Error when the limits are negative or limit no batch, or no pair is left.
BatchPlan plan_batches(const TokenPairs& pairs, const BatchLimits& limits, std::uint64_t seed, std::uint64_t epoch);

/// How an epoch is planned within bounded memory.
struct PlanWindows {
    std::int64_t whole = 1 << 22;   ///< so many pairs, or fewer, are one window: the plan of plan_batches()
    std::int64_t block = 1 << 10;   ///< neighbouring pairs that stay in one window
    std::int64_t blocks = 1 << 10;  ///< of a window
};

/// The batches of a training text, epoch after epoch, in the order of their plan. A text of up to PlanWindows::whole pairs is one
/// window, planned as plan_batches() does. Of a larger one the blocks of neighbouring pairs are shuffled, so many of them form a
/// window, and each window is planned like a text; one window is held at a time. All of it is a pure function of the
/// constructor's arguments and the epoch.
class BatchStream {
  public:
    /// Plans an epoch: counts the batches of all windows, which reads the lengths of all pairs, and plans the first window. What
    /// `pairs` views must outlive the stream. Errors as plan_batches().
    BatchStream(const TokenPairs& pairs, const BatchLimits& limits, std::uint64_t seed, std::uint64_t epoch = 1,
                const PlanWindows& windows = {});
    ~BatchStream();
    BatchStream(BatchStream&&) noexcept;
    BatchStream& operator=(BatchStream&&) noexcept;

    /// What is done with a batch once it is packed.
    using WhenPacked = std::function<void(PairBatch&)>;
    /// From now on a thread packs up to `ahead` batches of a window before they are asked for, and calls `when_packed` for each,
    /// so that the training thread only launches work.
    void pack_ahead(std::int64_t ahead, WhenPacked when_packed = {});

    /// next() will give this batch. Plans the epoch if it is another one. Errors as the constructor.
    void seek(std::uint64_t epoch, std::int64_t batch = 0);
    /// The next batch of the epoch. Error when it has no more, or pairs have other lengths than when they were counted; what went
    /// wrong on the thread is thrown here.
    PairBatch next();

    /// The counts, and the number of batches, of the whole epoch.
    const PlanCounts& counts() const { return counts_; }
    std::int64_t batches() const { return first_batch_.back(); }
    /// The window that is held: the one of the batch given last, at first the epoch's first one.
    const BatchPlan& window() const { return *plan_; }

  private:
    class Packer;

    std::size_t windows() const;
    std::vector<std::int64_t> blocks_of(std::size_t window) const;
    bool holds(std::int64_t batch) const { return first_batch_[held_] <= batch && batch < first_batch_[held_ + 1]; }
    void plan_epoch();
    void plan_window_of(std::int64_t batch);

    TokenPairs pairs_;
    BatchLimits limits_;
    std::uint64_t seed_, epoch_;
    PlanWindows sizes_;
    std::vector<std::int64_t> blocks_;       // shuffled; none for a single window
    std::vector<std::int64_t> first_batch_;  // of each window; at the end the batches of the epoch
    PlanCounts counts_;
    std::shared_ptr<const BatchPlan> plan_;  // of the window that is held
    std::size_t held_ = 0;
    std::int64_t next_ = 0;

    std::int64_t ahead_ = 0;
    WhenPacked when_packed_;
    std::unique_ptr<Packer> packer_;  // of the window that is held; null before its first batch is asked for
};

}  // namespace heddle::app
