// Shared by all attention kernels: their parameters, who may attend to whom, and how rows are loaded into shared memory. For .cu
// files.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "core/random.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/detail/attention_gaps.h"
#include "kernels/attention/detail/attention_pieces.h"
#include "kernels/device/contraction.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/random.h"
#include "kernels/device/reduce.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {

/// Rows of `pitch` elements; head h owns the columns [h * width, (h + 1) * width).
template <class T>
struct DeviceRows {
    T* data = nullptr;
    std::int64_t pitch = 0;
    int width = 0;

    __device__ __forceinline__ T* at(std::int64_t row, int head) const {
        return data + row * pitch + static_cast<std::int64_t>(head) * width;
    }
};

/// The parameters of every attention kernel.
template <class T>
struct AttentionTask {
    DeviceRows<const T> query;                  // [rows, heads * dk]
    DeviceRows<const T> key;                    // [rows', heads / group * dk]
    DeviceRows<const T> value;                  // [rows', heads / group * dv]
    const std::int32_t* query_spans = nullptr;  // [sentences, 2]: start, length
    const std::int32_t* key_spans = nullptr;    // [sentences, 2]
    const std::int32_t* tiles = nullptr;        // [tiles, 2]: sentence, first row (attention_tiles)
    const std::uint8_t* mask = nullptr;         // or null
    std::int64_t mask_sentence = 0;             // elements from one sentence's mask to the next; 0: shared
    std::int64_t mask_head = 0;                 // and from one head's to the next
    std::int64_t mask_pitch = 0;
    const device::Accumulator<T>* bias = nullptr;  // [heads or 1, queries, keys], or null
    std::int64_t bias_head = 0;                    // elements from one head's bias to the next; 0: shared
    std::int64_t bias_pitch = 0;
    const std::uint8_t* seen = nullptr;     // [rows']: whether the mask shows the key to any query; null: all
    device::Accumulator<T> scale = 1;       // of the scores
    device::Accumulator<T> scale_log2 = 1;  // scale log2(e): of the scores as powers of two
    device::Accumulator<T> bias_unit = 1;   // 1 / scale: of the bias where it is added to q . k
    device::Accumulator<T> kept_scale = 1;  // of the weights that dropout keeps
    int heads = 1;
    int group = 1;  // query heads that share a head of keys
    bool causal = false;
    bool vectors = false;  // every row of every head may be read 16 bytes at a time
    device::DropoutRule dropout;
    AttentionGaps<T> gaps;  // of the outputs, for the one kernel of a call that calls zero_gaps()
};

inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.69314718055994530942;

/// One tile of one sentence and head: what a block (or a warp) works on.
struct AttentionPlace {
    int sentence = 0;
    int head = 0;
    int key_head = 0;           // the head of keys and values that `head` uses
    int first = 0;              // the tile's first row within its sentence
    int queries = 0, keys = 0;  // lengths of the sentence
    int query_start = 0;        // its first rows
    int key_start = 0;

    /// Query i sees the keys up to i + offset(), when causal.
    __device__ __forceinline__ int offset() const { return keys - queries; }
};

/// The head of keys and values that a head of queries uses.
template <class T>
__device__ __forceinline__ int key_head_of(const AttentionTask<T>& task, int head) {
    return task.group == 1 ? head : head / task.group;
}

/// A sentence's rows from `first` on, in a head of queries.
template <class T>
__device__ __forceinline__ AttentionPlace attention_place(const AttentionTask<T>& task, int sentence, int head, int first) {
    AttentionPlace at;
    at.sentence = sentence;
    at.head = head;
    at.key_head = key_head_of(task, head);
    at.first = first;
    at.query_start = task.query_spans[2 * at.sentence];
    at.queries = task.query_spans[2 * at.sentence + 1];
    at.key_start = task.key_spans[2 * at.sentence];
    at.keys = task.key_spans[2 * at.sentence + 1];
    return at;
}

/// The `item`-th (tile, head), heads running fastest: neighbours in time share nothing but the sentence's spans, and neighbouring
/// heads lie in the same lines of memory.
template <class T>
__device__ __forceinline__ AttentionPlace attention_place(const AttentionTask<T>& task, std::int64_t item) {
    const std::int64_t tile = item / task.heads;
    return attention_place(task, task.tiles[2 * tile], static_cast<int>(item - tile * task.heads), task.tiles[2 * tile + 1]);
}

/// The `item`-th (tile of keys, head of keys); `head` is the first that uses it.
template <class T>
__device__ __forceinline__ AttentionPlace attention_key_place(const AttentionTask<T>& task, std::int64_t item) {
    const int key_heads = task.group == 1 ? task.heads : task.heads / task.group;
    const std::int64_t tile = item / key_heads;
    return attention_place(task, task.tiles[2 * tile], static_cast<int>(item - tile * key_heads) * task.group,
                           task.tiles[2 * tile + 1]);
}

/// Keys [0, visible) are all that query `i` could attend to.
template <class T>
__device__ __forceinline__ int visible_keys(const AttentionTask<T>& task, const AttentionPlace& at, int i) {
    if (!task.causal) return at.keys;
    return max(0, min(at.keys, i + 1 + at.offset()));
}

/// The mask's row for query i; there must be a mask.
template <class T>
__device__ __forceinline__ const std::uint8_t* mask_row(const AttentionTask<T>& task, const AttentionPlace& at, int i) {
    return task.mask + at.sentence * task.mask_sentence + at.head * task.mask_head + i * task.mask_pitch;
}

/// The bias' row for query i; there must be a bias.
template <class T>
__device__ __forceinline__ const device::Accumulator<T>* bias_row(const AttentionTask<T>& task, const AttentionPlace& at, int i) {
    return task.bias + at.head * task.bias_head + i * task.bias_pitch;
}

/// Whether query i may attend to key j, both counted from the start of their spans; false outside of them.
template <class T>
__device__ __forceinline__ bool may_attend(const AttentionTask<T>& task, const AttentionPlace& at, int i, int j) {
    if (i >= at.queries || j >= at.keys || (task.causal && j > i + at.offset())) return false;
    return task.mask == nullptr || mask_row(task, at, i)[j] != 0;
}

/// The bias of query i and key j, both within the sentence, as an exponent of 2: what is added to scale_log2 q . k. 0 without
/// one.
template <class T>
__device__ __forceinline__ device::Accumulator<T> bias_in_twos(const AttentionTask<T>& task, const AttentionPlace& at, int i,
                                                               int j) {
    if (task.bias == nullptr) return 0;
    return device::product(bias_row(task, at, i)[j], static_cast<device::Accumulator<T>>(kLog2E));
}

/// Whether key j takes part: it lies in the sentence, and the mask shows it to a query. Rows of other keys may hold anything, so
/// they are never read: 0 * NaN is NaN.
template <class T>
__device__ __forceinline__ bool key_takes_part(const AttentionTask<T>& task, const AttentionPlace& at, int j) {
    return j < at.keys && (task.seen == nullptr || task.seen[at.key_start + j] != 0);
}

/// Whether query i takes part in backward. A query that sees no key has the log-sum-exp +inf and does not; a NaN does, so that it
/// reaches the gradients.
template <class T>
__device__ __forceinline__ bool query_takes_part(const AttentionTask<T>& task, const AttentionPlace& at, int i,
                                                 const device::Accumulator<T>* log_sum) {  // log_sum [rows, heads]
    if (i >= at.queries) return false;
    if (task.mask == nullptr && !(task.causal && at.offset() < 0)) return true;  // all see a key, or there is none
    return log_sum[(at.query_start + i) * task.heads + at.head] != -device::lowest<device::Accumulator<T>>();
}

/// The dropout decisions of query i for the keys [8 group, 8 group + 8).
template <class T>
__device__ __forceinline__ unsigned kept_keys(const AttentionTask<T>& task, const AttentionPlace& at, int i, int group) {
    return device::kept_of_eight(task.dropout, static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(i),
                                 static_cast<std::uint32_t>(at.head), static_cast<std::uint32_t>(at.sentence));
}

/// Columns [c, c + N) of a row, zeros from `width` on. `vectors`: the row may be read 16 bytes at a time.
template <int N, class T>
__device__ __forceinline__ device::Vector<T, N> load_columns(const T* row, int c, int width, bool vectors) {
    device::Vector<T, N> values = {};
    if (c < width && vectors) values = device::load_vector<N>(row + c);
    if (!vectors)
        for (int n = 0; n < N && c + n < width; ++n) values[n] = row[c + n];
    return values;
}

/// a . b: the share that 16 bytes of two rows have in D. Both kernels that make D sum these over lanes, so D has the same bits in
/// both.
template <class T, int N>
__device__ __forceinline__ device::Accumulator<T> dot(const device::Vector<T, N>& a, const device::Vector<T, N>& b) {
    device::Accumulator<T> sum = 0;
#pragma unroll
    for (int n = 0; n < N; ++n) sum = device::multiply_add(device::load(a[n]), device::load(b[n]), sum);
    return sum;
}

// Host code.

template <class T>
DeviceRows<const T> device_rows(const Columns& columns, std::int64_t heads) {
    if (!columns.base.defined()) return {};
    return {columns.data<T>(), columns.pitch(), static_cast<int>(columns.count / heads)};
}

/// The same, to write.
template <class T>
DeviceRows<T> mutable_device_rows(Columns columns, std::int64_t heads) {
    if (!columns.base.defined()) return {};
    return {columns.mutable_data<T>(), columns.pitch(), static_cast<int>(columns.count / heads)};
}

/// Whether all heads' rows begin at multiples of 16 bytes, and are that long.
template <class T>
bool vectors_fit(const DeviceRows<T>& rows) {
    constexpr int kN = device::kVector<std::remove_const_t<T>>;
    return device::vectors_fit(rows.data, rows.pitch, kN) && rows.width % kN == 0;
}

/// The task of a call; the tiles and `seen` are still to come. `bias`: that of the rules in the accumulator's type, or undefined.
/// It and `rules` must outlive the launches that are made with the task.
template <class T>
AttentionTask<T> attention_task(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                                const Tensor& bias) {
    AttentionTask<T> task;
    task.query = device_rows<T>(query, rules.heads);
    task.key = device_rows<T>(key, rules.heads_of_keys());
    task.value = device_rows<T>(value, rules.heads_of_keys());
    task.query_spans = rules.query_spans.on_device().template data<std::int32_t>();
    task.key_spans = rules.key_spans.on_device().template data<std::int32_t>();
    if (rules.mask.defined()) {
        task.mask = rules.mask.data<std::uint8_t>();
        task.mask_pitch = rules.mask.dim(-1);
        std::tie(task.mask_sentence, task.mask_head) = mask_strides(rules.mask);
    }
    if (bias.defined()) {
        task.bias = bias.data<device::Accumulator<T>>();
        task.bias_pitch = bias.dim(2);
        task.bias_head = bias.dim(0) == 1 ? 0 : bias.dim(1) * bias.dim(2);
    }
    task.heads = static_cast<int>(rules.heads);
    task.group = static_cast<int>(rules.heads / rules.heads_of_keys());
    task.causal = rules.causal;
    task.vectors = vectors_fit(task.query) && vectors_fit(task.key) && vectors_fit(task.value);
    const double scale = rules.scale.value_or(1 / std::sqrt(static_cast<double>(task.query.width)));
    task.scale = static_cast<device::Accumulator<T>>(scale);
    task.scale_log2 = static_cast<device::Accumulator<T>>(scale * kLog2E);
    task.bias_unit = static_cast<device::Accumulator<T>>(1 / scale);
    task.kept_scale = static_cast<device::Accumulator<T>>(rules.dropout.scale());
    task.dropout = device::DropoutRule(rules.dropout);
    return task;
}

/// Tensors that only backward reads or writes. A gradient without data is not computed.
template <class T>
struct AttentionBackwardTask {
    using A = device::Accumulator<T>;
    DeviceRows<const T> output;    // [rows, heads * dv]
    DeviceRows<const T> d_output;  // [rows, heads * dv]
    const A* log_sum = nullptr;    // [rows, heads]
    A* delta = nullptr;            // [rows, heads]: D of attention.h
    DeviceRows<T> d_query, d_key, d_value;
    int vectors = 0;        // whether every row of every head of output and d_output may be read 16 bytes at a time
    int store_vectors = 0;  // whether those of all gradients may be written so
};

/// How many (tile, head) items a list holds; the grid of a kernel with a block for each.
inline std::int64_t attention_items(const Tensor& tiles, std::int64_t heads) { return tiles.dim(0) * heads; }

/// `body` with the smallest of 32, 64, 128, 256 that holds `width` columns, as a compile-time constant.
template <class Body>
void with_head_width(std::int64_t width, Body&& body) {
    if (width <= 32) return body(std::integral_constant<int, 32>{});
    if (width <= 64) return body(std::integral_constant<int, 64>{});
    if (width <= 128) return body(std::integral_constant<int, 128>{});
    return body(std::integral_constant<int, 256>{});
}

// The variants (attention_variant.h). Each takes what attention.cu hands out, and fills the gaps, too: in backward
// attention_delta or the short kernel does it.

/// plain/: f32, f64, bf16. In backward attention_delta comes first and fills back.delta.
template <class T>
void attention_forward_plain(AttentionTask<T> task, const AttentionRules& rules, DeviceRows<T> output,
                             device::Accumulator<T>* log_sum);
template <class T>
void attention_delta(AttentionTask<T> task, const AttentionRules& rules, const AttentionBackwardTask<T>& back);
template <class T>
void attention_backward_plain(AttentionTask<T> task, const AttentionRules& rules, const AttentionBackwardTask<T>& back);
/// plain/attention_bias.cu, for heads of up to 256 columns, after delta: fills d_bias [heads or 1, queries, keys].
template <class T>
void attention_bias_gradient(const AttentionTask<T>& task, const AttentionRules& rules, const AttentionBackwardTask<T>& back,
                             Tensor& d_bias);
/// mma/: backward after delta.
void attention_forward_mma(AttentionTask<bf16> task, const AttentionRules& rules, DeviceRows<bf16> output, float* log_sum);
void attention_backward_mma(AttentionTask<bf16> task, const AttentionRules& rules, const AttentionBackwardTask<bf16>& back);
/// short/: backward without delta.
void attention_forward_short(AttentionTask<bf16> task, const AttentionRules& rules, DeviceRows<bf16> output, float* log_sum);
void attention_backward_short(AttentionTask<bf16> task, const AttentionRules& rules, const AttentionBackwardTask<bf16>& back);
void attention_forward_short(AttentionTask<float> task, const AttentionRules& rules, DeviceRows<float> output, float* log_sum);
void attention_backward_short(AttentionTask<float> task, const AttentionRules& rules, const AttentionBackwardTask<float>& back);

}  // namespace heddle::kernels
