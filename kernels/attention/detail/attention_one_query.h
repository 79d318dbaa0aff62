// Attention of one query, f32: there is nothing to pack. The keys stand in the lanes, turned from their rows in registers, and
// the values are read where they lie.
//
// The bits are those of attention_forward_fast's blocks, where queries stand in the lanes: the same tiles of keys, each score one
// chain of multiply-adds over the head's columns, each sum over the keys one chain in their order. For *_fast.cpp files only.
#pragma once

#include "kernels/attention/detail/attention_fast.h"
#include "kernels/attention/detail/attention_tiles.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

/// Where things lie in the scratch memory.
struct OneQueryBuffers {
    float* query;   // [padded dk], scaled
    float* scores;  // [kKeyTile]; later P
    float* output;  // [padded dv]
};

/// A tile of the keys that a query sees: where their rows begin.
struct KeyRows {
    std::int64_t count = 0;
    const float* key[kKeyTile];
    const float* value[kKeyTile];
};

/// The scores of kFloats keys, one in each lane.
inline VecF score(const float* query, const float* const* keys, std::int64_t column, std::int64_t dk) {
    VecF sums{};
    VecF rows[kFloats];
    std::int64_t c = 0;
    for (; c + kFloats <= dk; c += kFloats) {
#pragma GCC unroll 16
        for (int i = 0; i < kFloats; ++i) rows[i] = load(keys[i] + column + c);
        transpose_lanes(rows);
#pragma GCC unroll 16
        for (int i = 0; i < kFloats; ++i) sums += broadcast(query[c + i]) * rows[i];
    }
    if (c == dk) return sums;
    for (int i = 0; i < kFloats; ++i) rows[i] = load_part(keys[i] + column + c, static_cast<int>(dk - c));
    transpose_lanes(rows);
    for (int i = 0; c + i < dk; ++i) sums += broadcast(query[c + i]) * rows[i];
    return sums;
}

/// V vectors of the output: = or += weights [rows.count] times the values' columns from `column` on.
template <int V>
inline void add_values(const KeyRows& rows, const float* weights, std::int64_t column, float* output, bool add) {
    VecF sums[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sums[v] = add ? load(output + v * kFloats) : VecF{};
    for (std::int64_t k = 0; k < rows.count; ++k) {
        const VecF weight = broadcast(weights[k]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[v] += weight * load(rows.value[k] + column + v * kFloats);
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store(output + v * kFloats, sums[v]);
}

inline void add_last_values(const KeyRows& rows, const float* weights, std::int64_t column, int width, float* output, bool add) {
    VecF sums = add ? load(output) : VecF{};
    for (std::int64_t k = 0; k < rows.count; ++k) sums += broadcast(weights[k]) * load_part(rows.value[k] + column, width);
    store(output, sums);
}

/// One head of one query over the tiles of its keys; the online softmax of attention_forward_fast.
struct OneQuerySoftmax {
    float largest = -kInfinity;
    float sum = 0;

    // Turns a tile's scores into e^{S - largest}. Returns the factor that shrinks the sums of earlier tiles to the new largest
    // score.
    float weigh(float* scores, std::int64_t keys) {
        VecF most = broadcast(largest);
        for (std::int64_t k = 0; k < keys; k += kFloats) most = maximum<float>(load(scores + k), most);
        const float before = largest;
        largest = HEDDLE_LEVEL::largest<float>(most);
        const float base = largest == -kInfinity ? 0 : largest;
        for (std::int64_t k = 0; k < keys; k += kFloats) store(scores + k, exp_below_zero(load(scores + k) - base));
        float here = 0;
        for (std::int64_t k = 0; k < keys; ++k) here += scores[k];
        const float shrink = exp_below_zero(broadcast(before - base))[0];
        sum = sum * shrink + here;
        return shrink;
    }
};

/// `bias` [rows.count] or null.
inline void attend_tile(const AttentionView<float>& view, const KeyRows& rows, std::int64_t key_head, const OneQueryBuffers& at,
                        OneQuerySoftmax& state, bool later, const float* bias) {
    const std::int64_t dk = view.dk(), dv = view.dv();
    for (std::int64_t k = 0; k < rows.count; k += kFloats) {
        VecF scores = score(at.query, rows.key + k, key_head * dk, dk);
        if (bias != nullptr) scores += load_at(bias, k, rows.count);
        const VecI lane = iota<std::int32_t>() + static_cast<std::int32_t>(k);
        store(at.scores + k, lane < static_cast<std::int32_t>(rows.count) ? scores : broadcast(-kInfinity));
    }
    const float shrink = state.weigh(at.scores, rows.count);
    for (std::int64_t c = 0; later && c < dv; c += kFloats) store(at.output + c, load(at.output + c) * shrink);
    const std::int64_t column = key_head * dv, whole = dv / kFloats * kFloats;
    std::int64_t c = 0;
    for (; c + 4 * kFloats <= whole; c += 4 * kFloats) add_values<4>(rows, at.scores, column + c, at.output + c, later);
    for (; c + 2 * kFloats <= whole; c += 2 * kFloats) add_values<2>(rows, at.scores, column + c, at.output + c, later);
    if (c < whole) add_values<1>(rows, at.scores, column + c, at.output + c, later);
    if (whole < dv) add_last_values(rows, at.scores, column + whole, static_cast<int>(dv - whole), at.output + whole, later);
}

/// output [dv] = attention of the query [dk] over the rows row_of(0) to row_of(keys - 1) of view.key and view.value; no mask or
/// dropout. `scratch`: attention_cached_scratch() floats. `bias` [keys] or null.
template <class RowOf>
inline void attend_one(const AttentionView<float>& view, std::int64_t head, const float* query, std::int64_t keys, RowOf row_of,
                       float* output, float* scratch, const float* bias = nullptr) {
    const OneQueryBuffers at{scratch, scratch + padded(view.dk()), scratch + padded(view.dk()) + kKeyTile};
    const std::int64_t key_head = view.key_head(head);
    pack_row(query, view.dk(), static_cast<float>(view.scale), at.query);
    zero(at.output, padded(view.dv()));
    OneQuerySoftmax state;
    KeyRows rows;
    for (std::int64_t from = 0; from < keys; from += kKeyTile) {
        rows.count = keys - from < kKeyTile ? keys - from : kKeyTile;
        for (std::int64_t k = 0; k < rows.count; ++k) {
            rows.key[k] = view.key.at(row_of(from + k), 0);
            rows.value[k] = view.value.at(row_of(from + k), 0);
            for (std::int64_t c = 0; c < view.dv(); c += 16) __builtin_prefetch(rows.value[k] + key_head * view.dv() + c);
        }
        // The lanes after the last key read a row that is there; they count for nothing.
        for (std::int64_t k = rows.count; k % kFloats != 0; ++k) rows.key[k] = rows.key[0];
        attend_tile(view, rows, key_head, at, state, from > 0, bias == nullptr ? nullptr : bias + from);
    }
    unpack_row(at.output, view.dv(), state.sum == 0 ? 0 : 1 / state.sum, output);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
