#include "nn/decoder_cache.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/format.h"
#include "kernels/gather/gather.h"

namespace heddle::nn {
namespace {

/// Captured steps are captured again when this many keys more are reached: attention cuts keys into pieces of so many.
constexpr std::int64_t kCapturedKeys = 64;

/// Initial room for tokens per hypothesis in a layer's memory; doubled when it is full.
constexpr std::int64_t kFirstTokens = 16;
/// On CUDA: where captured steps are captured again for another reason, too.
constexpr std::int64_t kFirstTokensOnCuda = kCapturedKeys;

/// A copy of the tensor with room for more rows.
Tensor grown(const Tensor& from, std::int64_t rows) {
    Tensor to = Tensor::empty({rows, from.cols()}, from.dtype(), from.device());
    to.slice(0, from.rows()).copy_(from);
    return to;
}

}  // namespace

DecoderCache::DecoderCache(std::vector<Tensor> memories, const Spans& memory_spans, std::int64_t hypotheses,
                           std::int64_t capacity)
    : memory_spans_(memory_spans), most_hypotheses_(hypotheses), capacity_(capacity) {
    for (Tensor& memory : memories) {
        check_rank("decoder cache", "memory", memory, 2);
        add_layer(memory, memory);
    }
    begin();
}

DecoderCache::DecoderCache(std::int64_t layers, const Tensor& like, std::int64_t sentences, std::int64_t hypotheses,
                           std::int64_t capacity)
    : memory_spans_(Spans::equal(sentences, 0)), most_hypotheses_(hypotheses), capacity_(capacity) {
    for (std::int64_t i = 0; i < layers; ++i) add_layer({}, like);
    begin();
}

void DecoderCache::add_layer(Tensor memory, const Tensor& like) {
    const std::int64_t tokens = like.device() == Device::cuda ? kFirstTokensOnCuda : kFirstTokens;
    const std::int64_t rows = std::max<std::int64_t>(0, most_hypotheses_ * std::min(capacity_, tokens));
    layers_.push_back({std::move(memory), Tensor::empty({rows, like.cols()}, like.dtype(), like.device())});
}

void DecoderCache::begin() {
    check(most_hypotheses_ >= memory_spans_.size() && capacity_ > 0,
          "decoder cache: room for {} hypotheses of {} tokens, wanted at least one for each of {} sentences", most_hypotheses_,
          capacity_, memory_spans_.size());
    const Device device = layers_.empty() ? Device::cpu : layers_.front().own.device();
    table_ = Tensor::empty({memory_spans_.size(), capacity_}, DType::i32, device);
    std::vector<std::int32_t> sentences(static_cast<std::size_t>(memory_spans_.size()));
    std::iota(sentences.begin(), sentences.end(), 0);
    set_sentences(std::move(sentences));
}

void DecoderCache::set_sentences(std::vector<std::int32_t> sentences) {
    const auto count = static_cast<std::int64_t>(sentences.size());
    check(count <= most_hypotheses_, "decoder cache: {} hypotheses, but there is room for {}", count, most_hypotheses_);
    check(std::is_sorted(sentences.begin(), sentences.end()),
          "decoder cache: the hypotheses are not in the order of their sentences any more");
    check(sentences.empty() || (sentences.front() >= 0 && sentences.back() < memory_spans_.size()),
          "decoder cache: a hypothesis of a sentence that does not exist, there are {}", memory_spans_.size());
    lengths_.assign(sentences.size(), position_);
    if (sentences == sentences_) return;  // keeps the spans and their uploaded tables
    std::vector<std::int64_t> counts(static_cast<std::size_t>(memory_spans_.size()), 0);
    for (const std::int32_t sentence : sentences) ++counts[static_cast<std::size_t>(sentence)];
    groups_ = Spans::packed(counts);
    rows_ = Spans::equal(static_cast<std::int64_t>(sentences.size()), 1);
    sentences_ = std::move(sentences);
}

// Composes with an earlier reordering if nothing was read in between.
void DecoderCache::set_parents(const Tensor& parents) {
    parents_ = parents_.defined() ? kernels::gather_forward(parents_, parents) : parents;
}

void DecoderCache::reorder(std::span<const std::int32_t> parents) {
    const auto count = static_cast<std::int64_t>(parents.size());
    std::vector<std::int32_t> sentences;
    for (std::size_t i = 0; i < parents.size(); ++i) {
        check(parents[i] >= 0 && parents[i] < hypotheses(), "decoder cache: hypothesis {} continues {}, but there are {}", i,
              parents[i], hypotheses());
        sentences.push_back(sentences_[static_cast<std::size_t>(parents[i])]);
    }
    set_sentences(std::move(sentences));
    set_parents(Tensor::from(parents, {count}).to(table_.device()));
}

void DecoderCache::reorder(const Tensor& parents, std::vector<std::int32_t> sentences) {
    check_shape("decoder cache", "parents", parents, {static_cast<std::int64_t>(sentences.size())});
    set_sentences(std::move(sentences));
    set_parents(parents);
}

void DecoderCache::advance() {
    check(position_ < capacity_, "decoder cache: each hypothesis has read {} tokens, which is all that there is room for",
          capacity_);
    make_room(1);
    if (capture_) {
        kernels::extend_cache_table(table_, parents_, position_, position_growth(), used_rows_, row_growth(), other_table_);
        std::swap(table_, other_table_);
    } else {
        table_ = kernels::extended_cache_table(table_, parents_, position_, used_rows_);
    }
    parents_ = {};
    used_rows_ += hypotheses();
    ++position_;
    lengths_.assign(sentences_.size(), position_);
}

bool DecoderCache::make_room(std::int64_t steps) {
    const std::int64_t wanted = used_rows_ + steps * hypotheses();
    bool stays = position_ + steps <= longest_captured_;
    for (Layer& layer : layers_) {
        if (wanted <= layer.own.rows()) continue;
        layer.own = grown(layer.own, std::max(2 * layer.own.rows(), wanted));
        stays = false;
    }
    return stays;
}

void DecoderCache::start_capture(const kernels::Replays& replays, std::int64_t steps) {
    check(steps % 2 == 0, "decoder cache: {} captured steps, wanted an even number", steps);
    capture_ = Capture{&replays, steps};
    // Attention takes up to this many keys by the same kernel.
    longest_captured_ = (position_ + steps + kCapturedKeys - 1) / kCapturedKeys * kCapturedKeys;
    other_table_ = Tensor::empty(table_.shape(), DType::i32, table_.device());
}

void DecoderCache::replayed(std::int64_t steps) {
    position_ += steps;
    used_rows_ += steps * hypotheses();
    lengths_.assign(sentences_.size(), position_);
}

device::Growth DecoderCache::position_growth() const {
    return capture_ ? capture_->replays->growth(capture_->steps) : device::Growth{};
}
device::Growth DecoderCache::row_growth() const {
    return capture_ ? capture_->replays->growth(capture_->steps * hypotheses()) : device::Growth{};
}

void DecoderCache::store(std::int64_t layer, const Columns& keys_values) {
    Tensor& own = layers_[static_cast<std::size_t>(layer)].own;
    check(keys_values.rows() == hypotheses() && keys_values.count == own.cols(),
          "decoder cache: keys and values are [{}, {}], wanted [{}, {}]", keys_values.rows(), keys_values.count, hypotheses(),
          own.cols());
    if (own.device() == Device::cuda) {
        return kernels::store_in_cache(keys_values, used_rows_ - hypotheses(), row_growth(), own);
    }
    const std::int64_t width = size_of(own.dtype());
    const auto bytes = static_cast<std::size_t>(own.cols() * width);
    std::byte* to = own.mutable_bytes_data() + (used_rows_ - hypotheses()) * own.cols() * width;
    const std::byte* from = keys_values.base.bytes_data() + keys_values.begin * width;
    for (std::int64_t i = 0; i < hypotheses(); ++i, to += bytes, from += keys_values.pitch() * width)
        std::memcpy(to, from, bytes);
}

DecoderCache::Place DecoderCache::place(std::int64_t layer) const {
    return {layers_[static_cast<std::size_t>(layer)].own, used_rows_ - hypotheses(), row_growth()};
}

kernels::CachedKeys DecoderCache::keys(std::int64_t layer) const {
    const Tensor& own = layers_[static_cast<std::size_t>(layer)].own;
    const std::int64_t width = own.cols() / 2;
    return {.key = {own, 0, width},
            .value = {own, width, width},
            .table = table_,
            .lengths = lengths_,
            .growth = position_growth(),
            .longest = std::min(longest_captured_, capacity_)};
}

}  // namespace heddle::nn
