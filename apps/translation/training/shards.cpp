#include "apps/translation/training/shards.h"

#include <bit>

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

std::vector<std::int64_t> cut(const Batch& batch, std::int64_t shards) {
    const std::int64_t all = batch.source_tokens + batch.target_tokens;
    std::vector<std::int64_t> begins = {0};
    std::int64_t sentence = 0, tokens = 0;
    for (std::int64_t shard = 1; shard < shards; ++shard) {
        while (sentence < batch.sentences) {
            const std::int64_t more = batch.source_spans[sentence].length + batch.target_spans[sentence].length;
            // Whether tokens + more is nearer to shard / shards of all tokens than tokens is.
            if (shards * (2 * tokens + more) > 2 * shard * all) break;
            tokens += more;
            ++sentence;
        }
        begins.push_back(sentence);
    }
    begins.push_back(batch.sentences);
    return begins;
}

ShardedBatches::ShardedBatches(std::span<const Batch> batches, std::int64_t shards) : batches_(batches) {
    check(shards >= 1, "shards: {} of an update, wanted at least 1", shards);
    if (shards == 1) return;
    for (const Batch& batch : batches) cuts_.push_back(cut(batch, shards));
}

void sum_shards(Tensor& gradients, ShardRange tree, const std::function<void(std::int64_t shard)>& compute) {
    if (tree.size() == 1) return compute(tree.first);
    const std::int64_t middle = middle_of(tree);
    sum_shards(gradients, {tree.first, middle}, compute);
    const Tensor left = gradients.clone();
    sum_shards(gradients, {middle, tree.last}, compute);
    kernels::accumulate(gradients, left);
    gradients.bump_version();
}

}  // namespace heddle::app
