#include "apps/translation/batching/token_pairs.h"

#include <algorithm>

#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {
namespace {

PairLengths lengths_of(const TokenPair& pair) {
    return {.source = static_cast<std::int64_t>(pair.source.size()),
            .target = static_cast<std::int64_t>(pair.target.size()),
            .words = pair.words};
}

}  // namespace

std::int64_t PairLengths::width() const { return std::max(source, target) + 1; }

std::int64_t TokenPair::width() const { return lengths_of(*this).width(); }

PairLengths TokenPairs::lengths(std::int64_t i) const {
    return store_ != nullptr ? store_->lengths(i) : lengths_of(in_memory_[static_cast<std::size_t>(i)]);
}

void TokenPairs::append(std::int64_t i, std::vector<std::int32_t>& source, std::vector<std::int32_t>& target) const {
    if (store_ != nullptr) return store_->append(i, source, target);
    const TokenPair& pair = in_memory_[static_cast<std::size_t>(i)];
    source.insert(source.end(), pair.source.begin(), pair.source.end());
    target.insert(target.end(), pair.target.begin(), pair.target.end());
}

TokenPair TokenPairs::pair(std::int64_t i) const {
    TokenPair copy{.source = {}, .target = {}, .words = lengths(i).words};
    append(i, copy.source, copy.target);
    return copy;
}

void PairsDigest::add(std::span<const std::int32_t> source, std::span<const std::int32_t> target) {
    add_side(source);
    add_side(target);
}

void PairsDigest::add_side(std::span<const std::int32_t> ids) {
    digest_.add(std::as_bytes(ids));
    digest_.add(std::as_bytes(std::span(&eos_id, 1)));
}

}  // namespace heddle::app
