// Attention backward, f32: the tiles of attention_fast.cpp again, with P computed from the saved log-sum-exp.
#include "kernels/attention/detail/attention_fast.h"
#include "kernels/attention/detail/attention_narrow_heads.h"
#include "kernels/attention/detail/attention_tiles.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
namespace {

struct Buffers {
    float* key;         // [padded time, padded dk]
    float* value;       // [padded time, padded dv]
    float* d_key;       // [padded time, padded dk]
    float* d_value;     // [padded time, padded dv]
    float* query;       // [kQueryBlock, padded dk], scaled
    float* query_t;     // [padded dk, kQueryBlock]
    float* d_query;     // [kQueryBlock, padded dk]
    float* d_output;    // [kQueryBlock, padded dv]
    float* d_output_t;  // [padded dv, kQueryBlock]
    float* output;      // [kQueryBlock, padded dv]
    float* weights;     // [kKeyTile, kQueryBlock]: S, then P * F
    float* d_scores;    // [kKeyTile, kQueryBlock]: dP, then dS
    float* log_sum;     // [kQueryBlock]
    float* delta;       // [kQueryBlock]: D

    Buffers(float* at, std::int64_t time, std::int64_t dk, std::int64_t dv) {
        ScratchPieces take(at);
        key = take(padded(time) * padded(dk));
        value = take(padded(time) * padded(dv));
        d_key = take(padded(time) * padded(dk));
        d_value = take(padded(time) * padded(dv));
        query = take(kQueryBlock * padded(dk));
        query_t = take(padded(dk) * kQueryBlock);
        d_query = take(kQueryBlock * padded(dk));
        d_output = take(kQueryBlock * padded(dv));
        d_output_t = take(padded(dv) * kQueryBlock);
        output = take(kQueryBlock * padded(dv));
        weights = take(kKeyTile * kQueryBlock);
        d_scores = take(kKeyTile * kQueryBlock);
        log_sum = take(kQueryBlock);
        delta = take(kQueryBlock);
    }
};

// D: the row sums of dO * O. Each row is first folded into one vector; transposing these turns sums across lanes into
// sums down rows, made in the order of sum().
void row_products(const Tile& tile, std::int64_t width, const Buffers& at) {
    for (std::int64_t first = 0; first < tile.queries; first += kFloats) {
        VecF rows[kFloats];
        for (std::int64_t q = 0; q < kFloats; ++q) {
            VecF sums[kSumVectors]{};
            for (std::int64_t c = 0; c < width; c += kSumLanes)
                for (std::int64_t i = 0; i < kSumLanes; i += kFloats)
                    sums[i / kFloats] +=
                        load(at.d_output + (first + q) * width + c + i) * load(at.output + (first + q) * width + c + i);
            rows[q] = add_halves(sums);
        }
        transpose_lanes(rows);
        store(at.delta + first, add_halves(rows));
    }
}

void load_block(const AttentionView<float>& view, const AttentionBackwardView<float>& back, const Tile& tile, const Buffers& at) {
    const std::int64_t first = view.queries(tile.sentence).start + tile.first_query;
    pack(view.query.at(first, tile.head), view.query.pitch, tile.queries, view.dk(), static_cast<float>(view.scale), at.query);
    pack(back.d_output.at(first, tile.head), back.d_output.pitch, tile.queries, view.dv(), 1, at.d_output);
    pack(back.output.at(first, tile.head), back.output.pitch, tile.queries, view.dv(), 1, at.output);
    // Lanes without a query: e^{S - inf} = 0.
    for (std::int64_t q = 0; q < kQueryBlock; ++q)
        at.log_sum[q] = q < tile.queries ? back.log_sum[(first + q) * view.heads + tile.head] : kInfinity;
    // Nor do queries that may attend to nothing: 0 * NaN would reach the keys.
    const bool may_see_none = view.mask != nullptr || view.bias != nullptr;
    for (std::int64_t q = 0; may_see_none && q < tile.queries; ++q) {
        if (at.log_sum[q] != kInfinity) continue;
        zero(at.query + q * padded(view.dk()), padded(view.dk()));
        zero(at.d_output + q * padded(view.dv()), padded(view.dv()));
    }
    transpose(at.query, padded(view.dk()), tile.queries, view.dk(), at.query_t, kQueryBlock);
    transpose(at.d_output, padded(view.dv()), tile.queries, view.dv(), at.d_output_t, kQueryBlock);
    row_products(tile, padded(view.dv()), at);
}

// For one vector of queries: weights S -> P * F, d_scores dO V^T -> dS = P * (dO V^T * F - D). S - L is at most 0 but for
// rounding.
void softmax_backward_tile(const AttentionView<float>& view, const Tile& tile, std::int64_t v, const Buffers& at) {
    float* weights = at.weights + v * kFloats;
    float* d_scores = at.d_scores + v * kFloats;
    const VecF log_sum = load(at.log_sum + v * kFloats);
    const VecF delta = load(at.delta + v * kFloats);
    if (!view.dropout.active()) {
        for (std::int64_t k = 0; k < tile.keys * kQueryBlock; k += kQueryBlock) {
            const VecF p = exp_below_zero(load(weights + k) - log_sum);
            store(weights + k, p);
            store(d_scores + k, p * (load(d_scores + k) - delta));
        }
        return;
    }
    for (std::int64_t group = 0; group < tile.keys; group += 8) {
        const KeyGroup kept(view.dropout, tile, v, group);
        for (int j = 0; j < 8; ++j) {
            const std::int64_t k = (group + j) * kQueryBlock;
            const VecF p = exp_below_zero(load(weights + k) - log_sum);
            const VecF factor = kept.factor(j);
            store(weights + k, p * factor);
            store(d_scores + k, p * (load(d_scores + k) * factor - delta));
        }
    }
}

// at.weights = P * F and at.d_scores = dS of the tile.
void tile_gradients(const AttentionView<float>& view, const Tile& tile, const Buffers& at) {
    const std::int64_t dk = padded(view.dk()), dv = padded(view.dv());
    const float* key = at.key + tile.first_key * dk;
    const float* value = at.value + tile.first_key * dv;
    product({key, dk, 1}, at.query_t, kQueryBlock, view.dk(), tile.rows(), tile.vectors(), at.weights, kQueryBlock, false);
    product({value, dv, 1}, at.d_output_t, kQueryBlock, view.dv(), tile.rows(), tile.vectors(), at.d_scores, kQueryBlock, false);
    add_bias(view, tile, at.weights);
    mask_scores(view, tile, at.weights);
    for (std::int64_t v = 0; v < tile.vectors(); ++v) softmax_backward_tile(view, tile, v, at);
}

// `later_block`: an earlier one wrote the keys' gradients.
void backward_tile(const AttentionView<float>& view, const AttentionBackwardView<float>& back, const Tile& tile, bool later_block,
                   const Buffers& at) {
    const std::int64_t dk = padded(view.dk()), dv = padded(view.dv());
    const std::int64_t dk_vectors = (view.dk() + kFloats - 1) / kFloats, dv_vectors = (view.dv() + kFloats - 1) / kFloats;
    const float* key = at.key + tile.first_key * dk;
    tile_gradients(view, tile, at);
    if (back.d_value.data != nullptr)
        product({at.weights, kQueryBlock, 1}, at.d_output, dv, tile.queries, tile.keys, dv_vectors,
                at.d_value + tile.first_key * dv, dv, later_block);
    if (back.d_key.data != nullptr)
        product({at.d_scores, kQueryBlock, 1}, at.query, dk, tile.queries, tile.keys, dk_vectors, at.d_key + tile.first_key * dk,
                dk, later_block);
    if (back.d_query.data != nullptr)
        product({at.d_scores, 1, kQueryBlock}, key, dk, tile.keys, tile.queries, dk_vectors, at.d_query, dk, tile.first_key > 0);
}

void backward_block(const AttentionView<float>& view, const AttentionBackwardView<float>& back, Tile tile, bool later_block,
                    const Buffers& at) {
    load_block(view, back, tile, at);
    const std::int64_t end = visible_groups(view, tile);
    if (end == 0) zero(at.d_query, kQueryBlock * padded(view.dk()));
    for (tile.first_key = 0; tile.first_key < end; tile.first_key += kKeyTile) {
        tile.keys = end - tile.first_key < kKeyTile ? end - tile.first_key : kKeyTile;
        backward_tile(view, back, tile, later_block, at);
    }
    if (back.d_query.data == nullptr) return;
    const std::int64_t first = view.queries(tile.sentence).start + tile.first_query;
    for (std::int64_t q = 0; q < tile.queries; ++q)
        unpack_row(at.d_query + q * padded(view.dk()), view.dk(), static_cast<float>(view.scale),
                   back.d_query.at(first + q, tile.head));
}

void pack_keys(const AttentionView<float>& view, std::int64_t sentence, std::int64_t key_head, std::int64_t head,
               std::int64_t heads, const Buffers& at) {
    const Span& keys = view.keys(sentence);
    pack(view.key.at(keys.start, key_head), view.key.pitch, keys.length, view.dk(), 1, at.key);
    pack(view.value.at(keys.start, key_head), view.value.pitch, keys.length, view.dv(), 1, at.value);
    clear_hidden(view, sentence, head, heads, at.key, at.value);
}

// One head of keys of one sentence, with all query heads that share it.
void backward_item(const AttentionView<float>& view, const AttentionBackwardView<float>& back, const AttentionItem& item,
                   float* scratch) {
    if (backward_narrow_heads(view, back, item)) return;
    const Span& queries = view.queries(item.sentence);
    const Span& keys = view.keys(item.sentence);
    const Buffers at(scratch, keys.length, view.dk(), view.dv());
    const std::int64_t first_head = item.head * view.group;
    pack_keys(view, item.sentence, item.head, first_head, view.group, at);
    // The first block writes the rows of the keys that it sees, later ones add to them.
    const std::int64_t seen = queries.length == 0 ? 0 : visible_groups(view, block_of(item, queries, 0));
    zero(at.d_key + seen * padded(view.dk()), (padded(keys.length) - seen) * padded(view.dk()));
    zero(at.d_value + seen * padded(view.dv()), (padded(keys.length) - seen) * padded(view.dv()));
    for (std::int64_t head = first_head; head < first_head + view.group; ++head)
        for (std::int64_t q = 0; q < queries.length; q += kQueryBlock)
            backward_block(view, back, block_of({item.sentence, head}, queries, q), q > 0 || head > first_head, at);
    for (std::int64_t k = 0; k < keys.length; ++k) {
        if (back.d_key.data != nullptr)
            unpack_row(at.d_key + k * padded(view.dk()), view.dk(), 1, back.d_key.at(keys.start + k, item.head));
        if (back.d_value.data != nullptr)
            unpack_row(at.d_value + k * padded(view.dv()), view.dv(), 1, back.d_value.at(keys.start + k, item.head));
    }
}

// sums [keys, kQueryBlock] += dS of one sentence and head, for the block of queries that begins with `first`.
void add_bias_gradient(const AttentionView<float>& view, const AttentionBackwardView<float>& back, const AttentionItem& item,
                       std::int64_t first, const Buffers& at, float* sums) {
    Tile tile = block_of(item, view.queries(item.sentence), first);
    pack_keys(view, item.sentence, view.key_head(item.head), item.head, 1, at);
    load_block(view, back, tile, at);
    const std::int64_t end = visible_groups(view, tile);
    for (tile.first_key = 0; tile.first_key < end; tile.first_key += kKeyTile) {
        tile.keys = end - tile.first_key < kKeyTile ? end - tile.first_key : kKeyTile;
        tile_gradients(view, tile, at);
        for (std::int64_t k = 0; k < tile.keys; ++k)
            for (std::int64_t v = 0; v < tile.vectors(); ++v) {
                float* const sum = sums + (tile.first_key + k) * kQueryBlock + v * kFloats;
                const VecF d_score = load(at.d_scores + k * kQueryBlock + v * kFloats);
                // Lanes behind the sentence's last query hold anything.
                const VecI lane = iota<std::int32_t>() + static_cast<std::int32_t>(v * kFloats);
                store(sum, load(sum) + (lane < static_cast<std::int32_t>(tile.queries) ? d_score : VecF{}));
            }
    }
}

}  // namespace

void attention_bias_gradient_fast(const AttentionView<float>& view, const AttentionBackwardView<float>& back,
                                  std::int64_t sentences, std::int64_t bias_head, std::int64_t first, std::int64_t queries,
                                  float* d_bias, float* scratch) {
    float* const sums = scratch;  // [padded keys, kQueryBlock]
    scratch += padded(view.bias_pitch) * kQueryBlock;
    zero(sums, padded(view.bias_pitch) * kQueryBlock);
    const bool shared = view.bias_head == 0;
    for (std::int64_t sentence = 0; sentence < sentences; ++sentence) {
        if (first >= view.queries(sentence).length) continue;
        const Buffers at(scratch, view.keys(sentence).length, view.dk(), view.dv());
        for (std::int64_t head = shared ? 0 : bias_head; head < (shared ? view.heads : bias_head + 1); ++head)
            add_bias_gradient(view, back, {sentence, head}, first, at, sums);
    }
    for (std::int64_t q = 0; q < queries; ++q)
        for (std::int64_t k = 0; k < view.bias_pitch; ++k) d_bias[q * view.bias_pitch + k] = sums[k * kQueryBlock + q];
}

void attention_backward_fast(const AttentionView<float>& view, const AttentionBackwardView<float>& back,
                             const AttentionItem* items, std::int64_t count, float* scratch) {
    for (std::int64_t i = 0; i < count; ++i) backward_item(view, back, items[i], scratch);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
