// Narrow heads of short sentences, f32: the lanes are the columns of several heads, as they stand side by side in a row.
//
// In attention_fast.cpp's blocks the queries stand in the lanes, and columns are padded to 16: with 7 queries of 4 columns most
// lanes are empty. Here a vector holds kFloats / W heads of W columns. Each key is kept W times, once with column c of a head in
// all of the head's lanes, for each c: so a score stands in all lanes of its head, and its weight multiplies a row as it is. No
// lane is empty, but each exponential is computed W times: long sentences are faster in blocks.
//
// The bits are those of the blocks: each score is one chain of multiply-adds over the head's columns, each sum over keys or
// queries one chain in their order. For *_fast.cpp files only.
#pragma once

#include <utility>

#include "kernels/attention/detail/attention_tiles.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

/// Vectors of keys: at most kKeyVectors / W keys.
inline constexpr std::int64_t kKeyVectors = 128;

/// The first of the heads that share a vector; the item of that head computes all of them.
template <int W>
inline bool leads_vector(const AttentionItem& item) {
    return item.head % (kFloats / W) == 0;
}

/// Whether the sentence's heads have W columns, fill whole vectors, and nothing but the causal rule hides a key.
template <int W>
inline bool has_narrow_heads(const AttentionView<float>& view, std::int64_t sentence) {
    return W <= kFloats && view.dk() == W && view.dv() == W && view.heads * W % kFloats == 0 && view.group == 1 &&
           view.mask == nullptr && view.bias == nullptr && !view.dropout.active() &&
           view.keys(sentence).length * W <= kKeyVectors;
}

/// to[c]: column c of each head in all lanes of the head.
template <int W, int... c>
inline void spread(VecF row, VecF* to, std::integer_sequence<int, c...>) {
    ((to[c] = shuffle(row, row, [](int i) { return i / W * W + c; })), ...);
}
template <int W>
inline void spread(VecF row, VecF* to) {
    spread<W>(row, to, std::make_integer_sequence<int, W>());
}

/// The dot products of the heads' columns.
template <int W>
inline VecF products(const VecF* a, const VecF* b) {
    VecF sums{};
#pragma GCC unroll 8
    for (int c = 0; c < W; ++c) sums += a[c] * b[c];
    return sums;
}

/// The sum of each head's lanes in all of them, in the order of sum().
template <int W>
inline VecF sum_of_heads(VecF v) {
    if constexpr (W == 8) v += exchange<4>(v);
    v += exchange<2>(v);
    return v + exchange<1>(v);
}

/// One number of each head [kFloats / W] in all lanes of the head.
template <int W>
inline VecF lanes_of_heads(const float* from) {
    VecF lanes = broadcast(from[0]);
    const VecI lane = iota<std::int32_t>();
#pragma GCC unroll 4
    for (int head = 1; head < kFloats / W; ++head) lanes = lane >= head * W ? broadcast(from[head]) : lanes;
    return lanes;
}

template <int W>
inline void forward_narrow(const AttentionView<float>& view, const AttentionItem& item, HeadRows<float> output, float* log_sum) {
    const Span& queries = view.queries(item.sentence);
    const Span& keys = view.keys(item.sentence);
    VecF key[kKeyVectors], scores[kKeyVectors / W], query[W];
    for (std::int64_t k = 0; k < keys.length; ++k) spread<W>(load(view.key.at(keys.start + k, item.head)), key + k * W);
    for (std::int64_t q = 0; q < queries.length; ++q) {
        const std::int64_t row = queries.start + q, visible = view.visible(item.sentence, q);
        spread<W>(load(view.query.at(row, item.head)) * static_cast<float>(view.scale), query);
        VecF largest = broadcast(-kInfinity);
        for (std::int64_t k = 0; k < visible; ++k) {
            scores[k] = products<W>(query, key + k * W);
            largest = maximum<float>(scores[k], largest);
        }
        const VecF base = largest == -kInfinity ? VecF{} : largest;
        VecF sum{}, values{};
        for (std::int64_t k = 0; k < visible; ++k) {
            const VecF p = exp_below_zero(scores[k] - base);
            sum += p;
            values += p * load(view.value.at(keys.start + k, item.head));
        }
        store(output.at(row, item.head), values * (sum == 0 ? VecF{} : 1 / sum));
        if (log_sum == nullptr) continue;
        const VecF log = sum == 0 ? broadcast(kInfinity) : largest + log_above_one(sum);
        for (int head = 0; head < kFloats / W; ++head) log_sum[row * view.heads + item.head + head] = log[head * W];
    }
}

template <int W>
inline void backward_narrow(const AttentionView<float>& view, const AttentionBackwardView<float>& back,
                            const AttentionItem& item) {
    const Span& queries = view.queries(item.sentence);
    const Span& keys = view.keys(item.sentence);
    const auto scale = static_cast<float>(view.scale);
    VecF key[kKeyVectors], value[kKeyVectors], d_key[kKeyVectors / W], d_value[kKeyVectors / W], query[W], d_output[W];
    for (std::int64_t k = 0; k < keys.length; ++k) {
        spread<W>(load(view.key.at(keys.start + k, item.head)), key + k * W);
        spread<W>(load(view.value.at(keys.start + k, item.head)), value + k * W);
        d_key[k] = d_value[k] = VecF{};
    }
    for (std::int64_t q = 0; q < queries.length; ++q) {
        const std::int64_t row = queries.start + q, visible = view.visible(item.sentence, q);
        const VecF query_row = load(view.query.at(row, item.head)) * scale, d_row = load(back.d_output.at(row, item.head));
        spread<W>(query_row, query);
        spread<W>(d_row, d_output);
        const VecF delta = sum_of_heads<W>(rounded(d_row * load(back.output.at(row, item.head))));
        const VecF log_sum = lanes_of_heads<W>(back.log_sum + row * view.heads + item.head);
        VecF d_query{};
        for (std::int64_t k = 0; k < visible; ++k) {
            const VecF p = exp_below_zero(products<W>(query, key + k * W) - log_sum);
            const VecF d_score = p * (products<W>(d_output, value + k * W) - delta);
            d_value[k] += p * d_row;
            d_key[k] += d_score * query_row;
            d_query += d_score * load(view.key.at(keys.start + k, item.head));
        }
        if (back.d_query.data != nullptr) store(back.d_query.at(row, item.head), d_query * scale);
    }
    for (std::int64_t k = 0; k < keys.length; ++k) {
        if (back.d_key.data != nullptr) store(back.d_key.at(keys.start + k, item.head), d_key[k]);
        if (back.d_value.data != nullptr) store(back.d_value.at(keys.start + k, item.head), d_value[k]);
    }
}

/// Computes the item if its sentence is short and its heads are narrow, with all heads of its vector. False if not.
inline bool forward_narrow_heads(const AttentionView<float>& view, const AttentionItem& item, HeadRows<float> output,
                                 float* log_sum) {
    const auto run = [&]<int W>() {
        if (!has_narrow_heads<W>(view, item.sentence)) return false;
        if constexpr (W <= kFloats)
            if (leads_vector<W>(item)) forward_narrow<W>(view, item, output, log_sum);
        return true;
    };
    return run.template operator()<4>() || run.template operator()<8>();
}

inline bool backward_narrow_heads(const AttentionView<float>& view, const AttentionBackwardView<float>& back,
                                  const AttentionItem& item) {
    const auto run = [&]<int W>() {
        if (!has_narrow_heads<W>(view, item.sentence)) return false;
        if constexpr (W <= kFloats)
            if (leads_vector<W>(item)) backward_narrow<W>(view, back, item);
        return true;
    };
    return run.template operator()<4>() || run.template operator()<8>();
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
