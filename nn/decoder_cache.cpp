#include "nn/decoder_cache.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "core/format.h"
#include "kernels/slice/slice.h"

namespace heddle::nn {
namespace {

/// Tokens per hypothesis that a layer's memory has room for at first; it doubles when it is full.
constexpr std::int64_t kFirstTokens = 16;

/// The same rows in a tensor with more of them.
Tensor grown(const Tensor& from, std::int64_t rows) {
    const Tensor to = Tensor::empty({rows, from.cols()}, from.dtype(), from.device());
    to.slice(0, from.rows()).copy_(from);
    return to;
}

}  // namespace

DecoderCache::DecoderCache(std::vector<Tensor> memories, const Spans& memory_spans, std::int64_t hypotheses,
                           std::int64_t capacity)
    : memory_spans_(memory_spans), most_hypotheses_(hypotheses), capacity_(capacity) {
    check(hypotheses >= memory_spans.size() && capacity > 0,
          "decoder cache: room for {} hypotheses of {} tokens, wanted at least one for each of {} sentences", hypotheses,
          capacity, memory_spans.size());
    const std::int64_t rows = hypotheses * std::min(capacity, kFirstTokens);
    for (Tensor& memory : memories) {
        check_rank("decoder cache", "memory", memory, 2);
        Tensor own = Tensor::empty({rows, memory.cols()}, memory.dtype(), memory.device());
        layers_.push_back({std::move(memory), std::move(own)});
    }
    for (std::int64_t i = 0; i < memory_spans.size(); ++i) sentences_.push_back(static_cast<std::int32_t>(i));
    table_ = Tensor::zeros({memory_spans.size(), capacity}, DType::i32);
    regroup();
}

void DecoderCache::regroup() {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(memory_spans_.size()), 0);
    for (const std::int32_t sentence : sentences_) ++counts[static_cast<std::size_t>(sentence)];
    groups_ = Spans::packed(counts);
    lengths_.assign(sentences_.size(), position_);
}

void DecoderCache::reorder(std::span<const std::int32_t> parents) {
    const auto count = static_cast<std::int64_t>(parents.size());
    check(count <= most_hypotheses_, "decoder cache: {} hypotheses, but there is room for {}", count, most_hypotheses_);
    std::vector<std::int32_t> sentences;
    Tensor table = Tensor::zeros({count, capacity_}, DType::i32);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int32_t parent = parents[static_cast<std::size_t>(i)];
        check(parent >= 0 && parent < hypotheses(), "decoder cache: hypothesis {} goes on from {}, but there are {}", i, parent,
              hypotheses());
        sentences.push_back(sentences_[static_cast<std::size_t>(parent)]);
        const std::int32_t* rows = table_.data<std::int32_t>() + parent * capacity_;
        std::copy(rows, rows + position_, table.data<std::int32_t>() + i * capacity_);
    }
    check(std::is_sorted(sentences.begin(), sentences.end()),
          "decoder cache: the hypotheses are not in the order of their sentences any more");
    sentences_ = std::move(sentences);
    table_ = std::move(table);
    regroup();
}

void DecoderCache::advance() {
    check(position_ < capacity_, "decoder cache: each hypothesis has read {} tokens, which is all that there is room for",
          capacity_);
    for (Layer& layer : layers_)
        if (used_rows_ + hypotheses() > layer.own.rows()) layer.own = grown(layer.own, 2 * layer.own.rows());
    auto* rows = table_.data<std::int32_t>() + position_;
    for (std::int64_t i = 0; i < hypotheses(); ++i) rows[i * capacity_] = static_cast<std::int32_t>(used_rows_ + i);
    used_rows_ += hypotheses();
    ++position_;
    lengths_.assign(sentences_.size(), position_);
    if (!layers_.empty()) table_beside_keys_ = table_.to(layers_.front().own.device());
}

void DecoderCache::store(std::int64_t layer, const Columns& keys_values) {
    const Tensor& own = layers_[static_cast<std::size_t>(layer)].own;
    check(keys_values.rows() == hypotheses() && keys_values.count == own.cols(),
          "decoder cache: keys and values are [{}, {}], wanted [{}, {}]", keys_values.rows(), keys_values.count, hypotheses(),
          own.cols());
    if (own.device() == Device::cuda) {
        const Tensor rows = kernels::slice_forward(keys_values.base, 1, keys_values.begin, keys_values.begin + keys_values.count);
        own.slice(used_rows_ - hypotheses(), used_rows_).copy_(rows);
        return;
    }
    const std::int64_t width = size_of(own.dtype());
    const auto bytes = static_cast<std::size_t>(own.cols() * width);
    std::byte* to = own.bytes_data() + (used_rows_ - hypotheses()) * own.cols() * width;
    const std::byte* from = keys_values.base.bytes_data() + keys_values.begin * width;
    for (std::int64_t i = 0; i < hypotheses(); ++i, to += bytes, from += keys_values.pitch() * width)
        std::memcpy(to, from, bytes);
}

kernels::CachedKeys DecoderCache::keys(std::int64_t layer) const {
    const Tensor& own = layers_[static_cast<std::size_t>(layer)].own;
    const std::int64_t width = own.cols() / 2;
    return {{own, 0, width}, {own, width, width}, table_beside_keys_, lengths_};
}

}  // namespace heddle::nn
