// Which pairs form the batches of an epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
std::string left_out_text(const PlanCounts& counts, const BatchLimits& options);

/// The batches of one epoch, or of a window of it, as indices of pairs.
struct BatchPlan : PlanCounts {
    std::vector<std::vector<std::int64_t>> batches;
};

/// Sorts by (target length, source length, random), fills batches in that order, then shuffles the batches. A pure function of
/// its arguments. Error when the options are negative or limit no batch, or no pair is left.
BatchPlan plan_batches(const TokenPairs& pairs, const BatchLimits& options, std::uint64_t seed, std::uint64_t epoch);

/// How an epoch is planned within bounded memory.
struct PlanWindows {
    std::int64_t whole = 1 << 22;   ///< so many pairs, or fewer, are one window: the plan of plan_batches()
    std::int64_t block = 1 << 10;   ///< neighbouring pairs that stay in one window
    std::int64_t blocks = 1 << 10;  ///< of a window
};

/// The plan of one epoch, of which one window is held at a time. A text of up to PlanWindows::whole pairs is one window. Of a
/// larger one the blocks of neighbouring pairs are shuffled, so many of them form a window, and each window is planned as
/// plan_batches() plans a text. All of it is a pure function of the constructor's arguments.
class EpochPlan {
  public:
    /// Counts the batches of all windows, which reads the lengths of all pairs, and plans the first window. `pairs` must outlive
    /// the plan. Errors as plan_batches().
    EpochPlan(const TokenPairs& pairs, const BatchLimits& options, std::uint64_t seed, std::uint64_t epoch,
              const PlanWindows& windows = {});

    /// Of the whole epoch.
    const PlanCounts& counts() const { return counts_; }
    std::int64_t batches() const { return first_batch_.back(); }

    /// The window that is held, and the number of its first batch.
    const BatchPlan& window() const { return plan_; }
    std::int64_t first_batch() const { return first_batch_[held_]; }
    /// Whether the window that is held has this batch.
    bool holds(std::int64_t batch) const { return first_batch_[held_] <= batch && batch < first_batch_[held_ + 1]; }
    /// Plans the window with this batch. Error when the epoch has no such batch, or pairs have other lengths than when they were
    /// counted.
    void hold(std::int64_t batch);

  private:
    std::size_t windows() const;
    std::vector<std::int64_t> blocks_of(std::size_t window) const;
    void plan(std::size_t window);

    TokenPairs pairs_;
    BatchLimits options_;
    std::uint64_t seed_, epoch_;
    PlanWindows sizes_;
    std::vector<std::int64_t> blocks_;       // shuffled; none for a single window
    std::vector<std::int64_t> first_batch_;  // of each window; at the end the batches of the epoch
    PlanCounts counts_;
    BatchPlan plan_;
    std::size_t held_ = 0;
};

}  // namespace heddle::app
