#include "kernels/attention/detail/attention_pieces.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"

namespace heddle::kernels {
namespace {

constexpr const char* kOp = "attention";

void check_columns(const char* argument, const Columns& columns, const Spans& spans, const char* spans_name, std::int64_t heads) {
    check_defined(kOp, argument, columns.base);
    check(
        columns.base.rank() >= 1 && columns.begin >= 0 && columns.count >= 0 && columns.begin + columns.count <= columns.pitch(),
        "attention: {} takes columns [{}, {}) of {}", argument, columns.begin, columns.begin + columns.count,
        columns.base.shape());
    check(columns.count % heads == 0, "attention: {} has {} columns, which {} heads do not divide", argument, columns.count,
          heads);
    check(columns.rows() == spans.rows(), "attention: {} has {} rows {}, but {} describe {} rows", argument, columns.rows(),
          columns.base.shape(), spans_name, spans.rows());
}

void check_mask(const AttentionRules& rules) {
    const Tensor& mask = rules.mask;
    if (!mask.defined()) return;
    check_dtype(kOp, "mask", mask, DType::u8);
    const auto either = [&](int axis, std::int64_t extent) { return mask.dim(axis) == extent || mask.dim(axis) == 1; };
    const std::int64_t sentences = rules.query_spans.size();
    const bool leading_fit = mask.rank() == 2 || (mask.rank() == 3 && mask.dim(0) == sentences) ||
                             (mask.rank() == 4 && either(0, sentences) && either(1, rules.heads));
    check(leading_fit && mask.dim(-2) >= rules.query_spans.longest() && mask.dim(-1) >= rules.key_spans.longest(),
          "attention: mask has shape {}, wanted [query_time, key_time], [{}, query_time, key_time] or [{} or 1, {} or 1, "
          "query_time, key_time] with times of at least {} and {}",
          mask.shape(), sentences, sentences, rules.heads, rules.query_spans.longest(), rules.key_spans.longest());
}

void check_bias(const AttentionRules& rules, DType dtype) {
    const Tensor& bias = rules.bias;
    if (!bias.defined()) return;
    if (dtype != DType::bf16 || bias.dtype() != DType::f32) check_dtype(kOp, "bias", bias, dtype);
    check(bias.rank() == 3 && (bias.dim(0) == rules.heads || bias.dim(0) == 1) && bias.dim(1) >= rules.query_spans.longest() &&
              bias.dim(2) >= rules.key_spans.longest(),
          "attention: bias has shape {}, wanted [{} or 1, query_time, key_time] with times of at least {} and {}", bias.shape(),
          rules.heads, rules.query_spans.longest(), rules.key_spans.longest());
}

void check_gradient(const char* argument, const Columns& gradient, const Columns& input) {
    if (!gradient.base.defined()) return;
    check_dtype(kOp, argument, gradient.base, input.base.dtype());
    check(gradient.rows() == input.rows() && gradient.count == input.count && gradient.begin >= 0 &&
              gradient.begin + gradient.count <= gradient.pitch(),
          "attention: {} is columns [{}, {}) of {}, wanted {} rows and {} columns", argument, gradient.begin,
          gradient.begin + gradient.count, gradient.base.shape(), input.rows(), input.count);
}

}  // namespace

DType log_sum_dtype(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

void check_attention(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules) {
    check(rules.heads >= 1, "attention: {} heads, wanted at least 1", rules.heads);
    const std::int64_t key_heads = rules.heads_of_keys();
    check(key_heads >= 1 && rules.heads % key_heads == 0, "attention: {} heads cannot share {} heads of keys evenly", rules.heads,
          key_heads);
    check(rules.query_spans.size() == rules.key_spans.size(),
          "attention: {} query spans, but {} key spans; each sentence has one of both", rules.query_spans.size(),
          rules.key_spans.size());
    check_columns("query", query, rules.query_spans, "query_spans", rules.heads);
    check_columns("key", key, rules.key_spans, "key_spans", key_heads);
    check_columns("value", value, rules.key_spans, "key_spans", key_heads);
    check_dtype(kOp, "key", key.base, query.base.dtype());
    check_dtype(kOp, "value", value.base, query.base.dtype());
    check(query.count / rules.heads == key.count / key_heads,
          "attention: query has {} columns, but key has {}; their heads must have one width", query.count, key.count);
    check(query.count > 0, "attention: query has no columns");
    check_mask(rules);
    check_bias(rules, query.base.dtype());
    check_device(kOp,
                 {{"query", query.base}, {"key", key.base}, {"value", value.base}, {"mask", rules.mask}, {"bias", rules.bias}});
    const std::int64_t widest = std::max(query.count / rules.heads, value.count / key_heads);
    check(query.base.device() == Device::cpu || widest <= kWidestCudaHead,
          "attention: a head has {} columns, but the CUDA kernels take {} at the most", widest, kWidestCudaHead);
}

void check_attention_backward(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                              const AttentionResult& forward, const Tensor& d_output, const AttentionGradients& gradients) {
    check_attention(query, key, value, rules);
    for (const auto& [argument, tensor] : {std::pair("output", forward.output), std::pair("d_output", d_output)}) {
        check_dtype(kOp, argument, tensor, query.base.dtype());
        check_shape(kOp, argument, tensor, {query.rows(), value.count / rules.heads_of_keys() * rules.heads});
    }
    check_dtype(kOp, "log_sum", forward.log_sum, log_sum_dtype(query.base.dtype()));
    check_shape(kOp, "log_sum", forward.log_sum, {query.rows(), rules.heads});
    check_device(kOp, {{"query", query.base},
                       {"output", forward.output},
                       {"log_sum", forward.log_sum},
                       {"d_output", d_output},
                       {"d_query", gradients.query.base},
                       {"d_key", gradients.key.base},
                       {"d_value", gradients.value.base},
                       {"d_bias", gradients.bias}});
    check_gradient("d_query", gradients.query, query);
    check_gradient("d_key", gradients.key, key);
    check_gradient("d_value", gradients.value, value);
    if (!gradients.bias.defined()) return;
    check_defined(kOp, "bias", rules.bias);
    check_dtype(kOp, "d_bias", gradients.bias, log_sum_dtype(query.base.dtype()));
    check_shape(kOp, "d_bias", gradients.bias, rules.bias.shape());
}

std::pair<std::int64_t, std::int64_t> mask_strides(const Tensor& mask) {
    if (mask.rank() == 2) return {0, 0};
    const std::int64_t square = mask.dim(-2) * mask.dim(-1);
    if (mask.rank() == 3) return {square, 0};
    return {mask.dim(0) == 1 ? 0 : mask.dim(1) * square, mask.dim(1) == 1 ? 0 : square};
}

AttentionCall attention_call(const Columns& query, const Columns& value, const AttentionRules& rules) {
    const std::int64_t dk = query.count / rules.heads, dv = value.count / rules.heads_of_keys();
    return {.device = query.base.device(),
            .dtype = query.base.dtype(),
            .head_width = std::max(dk, dv),
            .longest_sentence = std::max(rules.query_spans.longest(), rules.key_spans.longest()),
            .scale = rules.scale.value_or(1 / std::sqrt(static_cast<double>(dk)))};
}

template <class T>
AttentionView<T> view_attention(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules) {
    AttentionView<T> view;
    view.query = head_rows<T>(query, rules.heads);
    view.key = head_rows<T>(key, rules.heads_of_keys());
    view.value = head_rows<T>(value, rules.heads_of_keys());
    view.query_spans = rules.query_spans.size() == 0 ? nullptr : &rules.query_spans[0];
    view.key_spans = rules.key_spans.size() == 0 ? nullptr : &rules.key_spans[0];
    view.heads = rules.heads;
    view.group = rules.heads / rules.heads_of_keys();
    view.causal = rules.causal;
    if (rules.mask.defined()) {
        view.mask = rules.mask.data<std::uint8_t>();
        view.mask_pitch = rules.mask.dim(-1);
        std::tie(view.mask_sentence, view.mask_head) = mask_strides(rules.mask);
    }
    if (rules.bias.defined()) {
        view.bias = rules.bias.data<T>();
        view.bias_pitch = rules.bias.dim(2);
        view.bias_head = rules.bias.dim(0) == 1 ? 0 : rules.bias.dim(1) * rules.bias.dim(2);
    }
    view.scale = rules.scale.value_or(1 / std::sqrt(static_cast<double>(view.dk())));
    view.dropout = rules.dropout;
    return view;
}

template AttentionView<float> view_attention<float>(const Columns&, const Columns&, const Columns&, const AttentionRules&);
template AttentionView<double> view_attention<double>(const Columns&, const Columns&, const Columns&, const AttentionRules&);
template AttentionView<Dual> view_attention<Dual>(const Columns&, const Columns&, const Columns&, const AttentionRules&);

void zero_gaps(Columns columns, const Spans& spans) {
    if (!columns.base.defined() || !spans.has_gaps()) return;
    const std::int64_t element = size_of(columns.base.dtype());
    const auto clear = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            std::memset(columns.base.mutable_bytes_data() + (row * columns.pitch() + columns.begin) * element, 0,
                        static_cast<std::size_t>(columns.count * element));
    };
    std::int64_t end = 0;
    for (const Span& span : spans) {
        clear(end, span.start);
        end = span.start + span.length;
    }
    clear(end, spans.rows());
}

AttentionPieces::AttentionPieces(const AttentionRules& rules, std::int64_t heads, std::int64_t work_per_weight) {
    constexpr std::int64_t kPieceWork = 1 << 18;  // about 10 microseconds of vectorised multiply-adds
    const std::int64_t sentences = rules.query_spans.size();
    const auto work = [&](std::int64_t sentence) {
        const std::int64_t queries = rules.query_spans[sentence].length, keys = rules.key_spans[sentence].length;
        return (queries * keys + queries + keys) * work_per_weight;
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(sentences));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return work(a) > work(b); });
    items_.reserve(static_cast<std::size_t>(sentences * heads));
    std::int64_t piece = 0;
    for (const std::int64_t sentence : order)
        for (std::int64_t head = 0; head < heads; ++head) {
            items_.push_back({sentence, head});
            piece += work(sentence);
            if (piece < kPieceWork) continue;
            ends_.push_back(items_.size());
            piece = 0;
        }
    if (!items_.empty() && (ends_.empty() || ends_.back() != items_.size())) ends_.push_back(items_.size());
}

std::span<const AttentionItem> AttentionPieces::operator[](std::int64_t piece) const {
    const auto at = static_cast<std::size_t>(piece);
    const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
    return std::span(items_).subspan(begin, ends_[at] - begin);
}

// ---- the work list

namespace {

// More than any batch of the capacity has: each sentence wastes less than a tile.
std::int64_t most_tiles(const Spans& spans, std::int64_t size) {
    return std::min(spans.rows() / size + spans.size(), spans.size() * ((spans.longest() + size - 1) / size));
}

std::vector<std::int32_t> make_tiles(const Spans& spans, std::int64_t size) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(spans.size()));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return spans[a].length > spans[b].length; });
    std::vector<std::int32_t> tiles;
    for (const std::int64_t sentence : order)
        for (std::int64_t tile = (spans[sentence].length + size - 1) / size - 1; tile >= 0; --tile) {
            tiles.push_back(static_cast<std::int32_t>(sentence));
            tiles.push_back(static_cast<std::int32_t>(tile * size));
        }
    if (!spans.within_capacity()) return tiles;
    // The rest of the list is tiles of the last sentence, which is empty.
    for (auto left = most_tiles(spans, size) - static_cast<std::int64_t>(tiles.size()) / 2; left > 0; --left) {
        tiles.push_back(static_cast<std::int32_t>(spans.size() - 1));
        tiles.push_back(0);
    }
    return tiles;
}

}  // namespace

Tensor attention_tiles(const Spans& spans, std::int64_t size) {
    const Tensor tiles = spans.table(make_tiles, size);
    return tiles.reshape({tiles.numel() / 2, 2});
}

}  // namespace heddle::kernels
