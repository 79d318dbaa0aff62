// From token ids to packed batches of sentences of similar length.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "apps/translation/text/corpus.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/spans.h"

namespace heddle::app {

/// A sentence pair as ids, without BOS and EOS.
struct TokenPair {
    std::vector<std::int32_t> source;
    std::vector<std::int32_t> target;
    std::int64_t words = 0;  ///< between spaces, of the side that has more of them

    /// Tokens of the longer side, EOS included: the width that the batch rule counts.
    std::int64_t width() const;
};

/// Encodes both sides of every pair, on several threads; pair n stays pair n.
std::vector<TokenPair> encode_corpus(const Corpus& corpus, const Vocabulary& source, const Vocabulary& target);

struct PreparedBatch;

/// Sentences one after another, no padding.
struct Batch {
    std::vector<std::int32_t> source;      ///< [source_tokens] each sentence and EOS
    std::vector<std::int32_t> target_in;   ///< [target_tokens] BOS and each sentence: what the decoder reads
    std::vector<std::int32_t> target_out;  ///< [target_tokens] each sentence and EOS: what it has to say
    Spans source_spans;
    Spans target_spans;
    std::int64_t sentences = 0;
    std::int64_t source_tokens = 0;     ///< EOS included
    std::int64_t target_tokens = 0;     ///< EOS included
    std::vector<std::int64_t> indices;  ///< [sentences] which pairs these are
    /// What StepGraphs::prepare made of it, or null.
    std::shared_ptr<const PreparedBatch> prepared;
};

struct BatchOptions {
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
};

/// The batches of one epoch, as indices of pairs.
struct BatchPlan {
    std::vector<std::vector<std::int64_t>> batches;
    std::int64_t sentences = 0;      ///< in all batches
    std::int64_t source_tokens = 0;  ///< EOS included
    std::int64_t target_tokens = 0;
    std::int64_t empty = 0;     ///< pairs left out because a side has no token
    std::int64_t too_long = 0;  ///< pairs left out because of max_length or max_words
    std::int64_t too_wide = 0;  ///< pairs left out because they alone exceed batch_tokens
};

/// Sorts by (target length, source length, random), fills batches in that order, then shuffles the batches. A pure function of
/// its arguments. Error when the options are negative or limit no batch, or no pair is left.
BatchPlan plan_batches(std::span<const TokenPair> pairs, const BatchOptions& options, std::uint64_t seed, std::uint64_t epoch);

/// Packs the pairs with these indices, in this order. Error when an index is outside.
Batch make_batch(std::span<const TokenPair> pairs, std::span<const std::int64_t> indices);

/// Sentences [begin, end) of a batch as a batch of their own, whose rows count from 0. Error when the batch lacks them.
Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t end);

}  // namespace heddle::app
