// Attention forward, f32: one sentence and head at a time, queries in blocks of kQueryBlock, keys in tiles of kKeyTile.
#include "kernels/attention/detail/attention_fast.h"

#include "kernels/attention/detail/attention_narrow_heads.h"
#include "kernels/attention/detail/attention_one_query.h"
#include "kernels/attention/detail/attention_tiles.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
namespace {

constexpr std::int64_t kFewQueries = 8;

// Where things lie in the scratch memory. Everything is a multiple of 16 floats, so every row starts at an aligned address.
struct Buffers {
    float* key;      // [padded time, padded dk]
    float* value;    // [padded time, padded dv]
    float* query;    // [kQueryBlock, padded dk], scaled
    float* query_t;  // [padded dk, kQueryBlock]
    float* scores;   // [kKeyTile, kQueryBlock]; later P, with dropout
    float* output;   // [kQueryBlock, padded dv]
    float* largest;  // [kQueryBlock]
    float* sum;      // [kQueryBlock]
    float* shrink;   // [kQueryBlock]: what earlier tiles are multiplied with when a larger score turns up

    Buffers(float* at, std::int64_t time, std::int64_t dk, std::int64_t dv) {
        ScratchPieces take(at);
        key = take(padded(time) * padded(dk));
        value = take(padded(time) * padded(dv));
        query = take(kQueryBlock * padded(dk));
        query_t = take(padded(dk) * kQueryBlock);
        scores = take(kKeyTile * kQueryBlock);
        output = take(kQueryBlock * padded(dv));
        largest = take(kQueryBlock);
        sum = take(kQueryBlock);
        shrink = take(kQueryBlock);
    }
};

// The online softmax for one vector of queries: scores become e^{S - largest}, times the dropout factors.
void softmax_tile(const AttentionView<float>& view, const Tile& tile, std::int64_t v, const Buffers& at) {
    float* scores = at.scores + v * kFloats;
    const VecF before = load(at.largest + v * kFloats);
    VecF largest = before;
    for (std::int64_t k = 0; k < tile.keys; ++k) largest = maximum<float>(load(scores + k * kQueryBlock), largest);
    store(at.largest + v * kFloats, largest);
    // Nothing may be attended to so far: any finite number gives e^{-inf} = 0.
    const VecF base = largest == -kInfinity ? VecF{} : largest;
    VecF sum{};
    if (!view.dropout.active()) {
        for (std::int64_t k = 0; k < tile.keys; ++k) {
            const VecF p = exp_below_zero(load(scores + k * kQueryBlock) - base);
            sum += p;
            store(scores + k * kQueryBlock, p);
        }
    } else {
        for (std::int64_t group = 0; group < tile.keys; group += 8) {
            const KeyGroup kept(view.dropout, tile, v, group);
            for (int j = 0; j < 8; ++j) {
                float* row = scores + (group + j) * kQueryBlock;
                const VecF p = exp_below_zero(load(row) - base);
                sum += p;
                store(row, p * kept.factor(j));
            }
        }
    }
    const VecF shrink = exp_below_zero(before - base);
    store(at.shrink + v * kFloats, shrink);
    store(at.sum + v * kFloats, load(at.sum + v * kFloats) * shrink + sum);
}

void shrink_output(const Tile& tile, std::int64_t width, const Buffers& at) {
    for (std::int64_t q = 0; q < tile.queries; ++q)
        for (std::int64_t c = 0; c < width; c += kFloats) {
            float* to = at.output + q * width + c;
            store(to, load(to) * at.shrink[q]);
        }
}

void finish_block(const AttentionView<float>& view, const Tile& tile, const Buffers& at, HeadRows<float> output, float* log_sum) {
    const std::int64_t first = view.queries(tile.sentence).start + tile.first_query;
    for (std::int64_t v = 0; v < tile.vectors(); ++v) {
        float* sum = at.sum + v * kFloats;
        const VecF s = load(sum);
        float* largest = at.largest + v * kFloats;
        if (log_sum != nullptr) store(largest, s == 0 ? broadcast(kInfinity) : load(largest) + log_above_one(s));
        store(sum, s == 0 ? VecF{} : 1 / s);
    }
    for (std::int64_t q = 0; q < tile.queries; ++q) {
        unpack_row(at.output + q * padded(view.dv()), view.dv(), at.sum[q], output.at(first + q, tile.head));
        if (log_sum != nullptr) log_sum[(first + q) * view.heads + tile.head] = at.largest[q];
    }
}

void forward_block(const AttentionView<float>& view, Tile tile, const Buffers& at, HeadRows<float> output, float* log_sum) {
    const std::int64_t dk = padded(view.dk()), dv = padded(view.dv());
    const Span& queries = view.queries(tile.sentence);
    pack(view.query.at(queries.start + tile.first_query, tile.head), view.query.pitch, tile.queries, view.dk(),
         static_cast<float>(view.scale), at.query);
    transpose(at.query, dk, tile.queries, view.dk(), at.query_t, kQueryBlock);
    for (std::int64_t q = 0; q < kQueryBlock; q += kFloats) {
        store(at.largest + q, broadcast(-kInfinity));
        store(at.sum + q, VecF{});
    }
    const std::int64_t end = visible_groups(view, tile);
    if (end == 0)
        for (std::int64_t i = 0; i < kQueryBlock * dv; i += kFloats) store(at.output + i, VecF{});
    for (tile.first_key = 0; tile.first_key < end; tile.first_key += kKeyTile) {
        tile.keys = end - tile.first_key < kKeyTile ? end - tile.first_key : kKeyTile;
        const bool later = tile.first_key > 0;
        product({at.key + tile.first_key * dk, dk, 1}, at.query_t, kQueryBlock, view.dk(), tile.rows(), tile.vectors(), at.scores,
                kQueryBlock, false);
        add_bias(view, tile, at.scores);
        mask_scores(view, tile, at.scores);
        for (std::int64_t v = 0; v < tile.vectors(); ++v) softmax_tile(view, tile, v, at);
        if (later) shrink_output(tile, dv, at);
        product({at.scores, 1, kQueryBlock}, at.value + tile.first_key * dv, dv, tile.keys, tile.queries,
                (view.dv() + kFloats - 1) / kFloats, at.output, dv, later);
    }
    finish_block(view, tile, at, output, log_sum);
}

// A few queries, as a decoder has them, leave most lanes of a block empty, and packing costs more than it saves.
bool takes_queries_one_by_one(const AttentionView<float>& view, std::int64_t queries, const float* log_sum) {
    return queries <= kFewQueries && log_sum == nullptr && view.mask == nullptr && view.bias == nullptr && !view.dropout.active();
}

void forward_item(const AttentionView<float>& view, const AttentionItem& item, HeadRows<float> output, float* log_sum,
                  float* scratch) {
    if (forward_narrow_heads(view, item, output, log_sum)) return;
    const Span& queries = view.queries(item.sentence);
    const Span& keys = view.keys(item.sentence);
    if (takes_queries_one_by_one(view, queries.length, log_sum)) {
        for (std::int64_t q = 0; q < queries.length; ++q)
            attend_one(
                view, item.head, view.query.at(queries.start + q, item.head), view.visible(item.sentence, q),
                [&](std::int64_t k) { return keys.start + k; }, output.at(queries.start + q, item.head), scratch);
        return;
    }
    const std::int64_t key_head = view.key_head(item.head);
    const Buffers at(scratch, keys.length, view.dk(), view.dv());
    pack(view.key.at(keys.start, key_head), view.key.pitch, keys.length, view.dk(), 1, at.key);
    pack(view.value.at(keys.start, key_head), view.value.pitch, keys.length, view.dv(), 1, at.value);
    clear_hidden(view, item.sentence, item.head, 1, at.key, at.value);
    for (std::int64_t q = 0; q < queries.length; q += kQueryBlock)
        forward_block(view, block_of(item, queries, q), at, output, log_sum);
}

}  // namespace

void attention_forward_fast(const AttentionView<float>& view, const AttentionItem* items, std::int64_t count,
                            HeadRows<float> output, float* log_sum, float* scratch) {
    for (std::int64_t i = 0; i < count; ++i) forward_item(view, items[i], output, log_sum, scratch);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
