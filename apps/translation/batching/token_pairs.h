// Sentence pairs as ids: in memory, or wherever a store has them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/digest.h"

namespace heddle::app {

/// A sentence pair as ids, without BOS and EOS.
struct TokenPair {
    std::vector<std::int32_t> source;
    std::vector<std::int32_t> target;
    std::int64_t words = 0;  ///< between spaces, of the side that has more of them

    /// Tokens of the longer side, EOS included: the width that BatchLimits count.
    std::int64_t width() const;
};

/// The lengths of a pair, from which batches are planned.
struct PairLengths {
    std::int64_t source = 0;  ///< tokens, without EOS
    std::int64_t target = 0;  ///< tokens, without EOS
    std::int64_t words = 0;   ///< TokenPair::words

    /// TokenPair::width().
    std::int64_t width() const;
};

/// Pairs that are not held in memory. Safe to use from several threads.
class PairStore {
  public:
    virtual ~PairStore() = default;
    virtual std::int64_t size() const = 0;
    /// The lengths of pair i, 0 <= i < size().
    virtual PairLengths lengths(std::int64_t i) const = 0;
    /// Appends the ids of pair i, 0 <= i < size(). Error when they cannot be read or are no ids.
    virtual void append(std::int64_t i, std::vector<std::int32_t>& source, std::vector<std::int32_t>& target) const = 0;
    /// Error when the store was changed since it was opened: its pairs may no longer be the same.
    virtual void check_unchanged() const {}
};

/// A view of pairs in memory or in a store, which must outlive it.
class TokenPairs {
  public:
    TokenPairs() = default;
    TokenPairs(std::span<const TokenPair> pairs) : in_memory_(pairs) {}
    TokenPairs(const std::vector<TokenPair>& pairs) : in_memory_(pairs) {}
    TokenPairs(const PairStore& store) : store_(&store) {}

    std::int64_t size() const { return store_ != nullptr ? store_->size() : static_cast<std::int64_t>(in_memory_.size()); }
    /// The lengths of pair i, 0 <= i < size().
    PairLengths lengths(std::int64_t i) const;
    /// Appends the ids of pair i, 0 <= i < size(). Errors of the store.
    void append(std::int64_t i, std::vector<std::int32_t>& source, std::vector<std::int32_t>& target) const;
    /// A copy of pair i, 0 <= i < size(). Errors of the store.
    TokenPair pair(std::int64_t i) const;
    /// Error when a store was changed since it was opened.
    void check_unchanged() const {
        if (store_ != nullptr) store_->check_unchanged();
    }

  private:
    std::span<const TokenPair> in_memory_;
    const PairStore* store_ = nullptr;
};

/// The digest of the ids of pairs, by which a resumed run recognises its text.
class PairsDigest {
  public:
    void add(std::span<const std::int32_t> source, std::span<const std::int32_t> target);
    std::string text() const { return digest_.text(); }

  private:
    void add_side(std::span<const std::int32_t> ids);

    Digest digest_;
};

}  // namespace heddle::app
