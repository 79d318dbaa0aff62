#include "apps/translation/distributed/shards.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/format.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle::app {
namespace {

void add_subtrees(std::vector<ShardRange>& found, ShardRange part, ShardRange tree) {
    if (tree.last <= part.first || part.last <= tree.first) return;
    if (part.first <= tree.first && tree.last <= part.last) return found.push_back(tree);
    const std::int64_t middle = middle_of(tree);
    add_subtrees(found, part, {tree.first, middle});
    add_subtrees(found, part, {middle, tree.last});
}

}  // namespace

std::int64_t middle_of(ShardRange tree) {
    check(tree.size() >= 2, "shards: a tree over {} has no subtrees", tree.size());
    return tree.first + static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(tree.size() - 1)));
}

std::vector<ShardRange> subtrees_within(ShardRange part, std::int64_t shards) {
    std::vector<ShardRange> found;
    add_subtrees(found, part, {0, shards});
    return found;
}

std::vector<std::int64_t> cut(std::span<const std::int64_t> tokens, std::int64_t shards) {
    const std::int64_t all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
    std::vector<std::int64_t> begins = {0};
    std::size_t sentence = 0;
    std::int64_t before = 0;  // tokens before this sentence
    for (std::int64_t shard = 1; shard < shards; ++shard) {
        for (; sentence < tokens.size(); before += tokens[sentence++])
            // Whether shard / shards of all tokens are nearer to what is before this sentence than to what is before the next
            // one.
            if (shards * (2 * before + tokens[sentence]) > 2 * shard * all) break;
        begins.push_back(static_cast<std::int64_t>(sentence));
    }
    begins.push_back(static_cast<std::int64_t>(tokens.size()));
    return begins;
}

ShardedBatches::ShardedBatches(std::span<const PairBatch> batches, std::int64_t shards) : batches_(batches), shards_(shards) {
    check(shards >= 1, "shards: {} of an update, wanted at least 1", shards);
    if (shards == 1) return;
    for (const PairBatch& batch : batches) {
        std::vector<std::int64_t> tokens;
        for (std::int64_t i = 0; i < batch.sentences; ++i)
            tokens.push_back(batch.source_spans[i].length + batch.target_spans[i].length);
        const std::vector<std::int64_t> begins = cut(tokens, shards);
        std::vector<PairBatch>& parts = parts_.emplace_back();
        for (std::size_t shard = 0; shard + 1 < begins.size(); ++shard)
            parts.push_back(part_of(batch, begins[shard], begins[shard + 1]));
    }
}

std::int64_t ShardedBatches::last_part(std::int64_t shard) const {
    std::int64_t last = batches() - 1;
    while (last >= 0 && part(shard, last).sentences == 0) --last;
    return last;
}

// The sums that wait are the binary digits of the number of shards added: one over 2^k shards for each digit that is 1, the
// largest first. The next shard carries.
void ShardSum::add() {
    if (added_ + 1 == shards_) {
        for (const Tensor& left : before_last()) kernels::accumulate(gradients_, left);
    } else {
        for (std::int64_t digits = added_; digits % 2 == 1; digits /= 2) {
            kernels::accumulate(gradients_, lefts_.back());
            lefts_.pop_back();
        }
        lefts_.push_back(gradients_.clone());
    }
    ++added_;
    gradients_.bump_version();
}

std::vector<Tensor> ShardSum::before_last() {
    check(added_ + 1 == shards_, "shards: {} of {} were added before the last one", added_, shards_);
    std::vector<Tensor> lefts = std::move(lefts_);
    std::ranges::reverse(lefts);  // the innermost subtree is complete first
    return lefts;
}

}  // namespace heddle::app
