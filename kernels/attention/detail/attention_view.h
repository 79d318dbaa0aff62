// Checked arguments as plain pointers, for the CPU's loops.
//
// The members are always inlined: the *_fast.cpp files are built for several processor levels, and an out-of-line copy of one
// of them could end up serving all.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "core/spans.h"

namespace heddle::kernels {

/// Rows of `pitch` elements; head h owns the columns [h * width, (h + 1) * width).
template <class T>
struct HeadRows {
    T* data = nullptr;
    std::int64_t pitch = 0;
    std::int64_t width = 0;

    [[gnu::always_inline]] T* at(std::int64_t row, std::int64_t head) const { return data + row * pitch + head * width; }
};

/// One sentence and one head: the unit of work. Items write disjoint memory. In backward it is a head of keys, with all query
/// heads that share it.
struct AttentionItem {
    std::int64_t sentence = 0;
    std::int64_t head = 0;
};

template <class T>
struct AttentionView {
    HeadRows<const T> query;  // [rows, heads * dk]
    HeadRows<const T> key;    // [rows', heads / group * dk]
    HeadRows<const T> value;  // [rows', heads / group * dv]
    const Span* query_spans = nullptr;
    const Span* key_spans = nullptr;
    std::int64_t heads = 1;
    std::int64_t group = 1;  // query heads that share a head of keys
    std::int64_t longest_key = 0;
    bool causal = false;
    const std::uint8_t* mask = nullptr;  // or null
    std::int64_t mask_sentence = 0;      // elements from one sentence's mask to the next; 0: shared
    std::int64_t mask_head = 0;          // and from one head's to the next
    std::int64_t mask_pitch = 0;
    const T* bias = nullptr;     // or null
    std::int64_t bias_head = 0;  // elements from one head's bias to the next; 0: shared
    std::int64_t bias_pitch = 0;
    double scale = 1;
    Dropout dropout;

    [[gnu::always_inline]] std::int64_t dk() const { return query.width; }
    [[gnu::always_inline]] std::int64_t dv() const { return value.width; }
    [[gnu::always_inline]] const Span& queries(std::int64_t sentence) const { return query_spans[sentence]; }
    [[gnu::always_inline]] const Span& keys(std::int64_t sentence) const { return key_spans[sentence]; }
    /// Keys [0, visible) are all that query `i` of the sentence could attend to.
    [[gnu::always_inline]] std::int64_t visible(std::int64_t sentence, std::int64_t i) const {
        const std::int64_t time = keys(sentence).length;
        const std::int64_t end = i + 1 + time - queries(sentence).length;
        if (!causal || end >= time) return time;
        return end < 0 ? 0 : end;
    }
    /// The head of keys and values that a head of queries uses.
    [[gnu::always_inline]] std::int64_t key_head(std::int64_t head) const { return head / group; }
    /// The mask's row for query `i` of the sentence and head, or null.
    [[gnu::always_inline]] const std::uint8_t* mask_row(std::int64_t sentence, std::int64_t head, std::int64_t i) const {
        return mask == nullptr ? nullptr : mask + sentence * mask_sentence + head * mask_head + i * mask_pitch;
    }
    /// The bias' row for query `i` of the head, or null.
    [[gnu::always_inline]] const T* bias_row(std::int64_t head, std::int64_t i) const {
        return bias == nullptr ? nullptr : bias + head * bias_head + i * bias_pitch;
    }
    /// The bias' numbers for the `keys` newest keys of a cache, where it has one row for each head, or null.
    [[gnu::always_inline]] const T* newest_bias(std::int64_t head, std::int64_t keys) const {
        return bias == nullptr ? nullptr : bias + head * bias_head + bias_pitch - keys;
    }
};

/// Arrays that only backward reads or writes; a gradient without data is not wanted.
template <class T>
struct AttentionBackwardView {
    HeadRows<const T> output;    // [rows, heads * dv]
    const T* log_sum = nullptr;  // [rows, heads]
    HeadRows<const T> d_output;  // [rows, heads * dv]
    HeadRows<T> d_query;
    HeadRows<T> d_key;
    HeadRows<T> d_value;
};

}  // namespace heddle::kernels
