#include "apps/translation/training/shards.h"

#include <algorithm>
#include <bit>
#include <numeric>

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

ShardedBatches::ShardedBatches(std::span<const PairBatch> batches, std::int64_t shards) : batches_(batches) {
    check(shards >= 1, "shards: {} of an update, wanted at least 1", shards);
    if (shards == 1) return;
    for (const PairBatch& batch : batches) {
        std::vector<std::int64_t> tokens;
        for (std::int64_t i = 0; i < batch.sentences; ++i)
            tokens.push_back(batch.source_spans[i].length + batch.target_spans[i].length);
        cuts_.push_back(cut(tokens, shards));
    }
}

std::int64_t ShardedBatches::last_part(std::int64_t shard) const {
    const auto has_part = [&](std::int64_t number) {
        if (cuts_.empty()) return true;
        const std::vector<std::int64_t>& at = cuts_[static_cast<std::size_t>(number)];
        return at[static_cast<std::size_t>(shard)] < at[static_cast<std::size_t>(shard) + 1];
    };
    std::int64_t last = batches() - 1;
    while (last >= 0 && !has_part(last)) --last;
    return last;
}

std::vector<Tensor> sums_before_last(Tensor& gradients, ShardRange tree, const ComputeShard& compute) {
    std::vector<Tensor> lefts;
    while (tree.size() > 1) {
        const std::int64_t middle = middle_of(tree);
        sum_shards(gradients, {tree.first, middle}, compute);
        lefts.push_back(gradients.clone());
        tree.first = middle;
    }
    std::ranges::reverse(lefts);  // the innermost subtree is complete first
    return lefts;
}

void sum_shards(Tensor& gradients, ShardRange tree, const ComputeShard& compute) {
    const std::vector<Tensor> lefts = sums_before_last(gradients, tree, compute);
    compute(tree.last - 1);
    for (const Tensor& left : lefts) kernels::accumulate(gradients, left);
    gradients.bump_version();
}

}  // namespace heddle::app
