#include "nn/embedding.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/random.h"
#include "core/storage.h"
#include "kernels/embedding/embedding.h"

namespace heddle::nn {
namespace {

kernels::Sines sines_of(Positions positions) {
    switch (positions) {
        case Positions::sines_first: return kernels::Sines::first;
        case Positions::marian: return kernels::Sines::first_to_the_end;
        case Positions::sinusoidal:
        case Positions::learned:
        case Positions::rotary:
        case Positions::alibi: break;
    }
    return kernels::Sines::alternate;
}

}  // namespace

PositionalEncoding::PositionalEncoding(Module& parent, std::string_view name, Positions positions, std::int64_t table,
                                       std::int64_t d_model)
    : Module(parent, name), positions_(positions), d_model_(d_model) {
    check(table > 0, "positional encoding {}: the table has {} positions, wanted at least one", this->name(), table);
    if (are_in_attention(positions)) {
        keep({});
        return;
    }
    if (positions != Positions::learned) {
        keep(computed(table));
        return;
    }
    const Tensor values = Tensor::empty({table, d_model}, dtype());
    fill_embedding(values, initial_key(dotted("weight")));
    keep(add_parameter("weight", values));
}

void PositionalEncoding::moved() {
    if (positions_ == Positions::learned || are_in_attention(positions_)) return;
    const Tensor& table = tables_.back().value();
    if (table.device() == device() && table.dtype() == dtype()) return;
    Variable elsewhere = computed(table.rows());
    tables_.clear();
    keep(std::move(elsewhere));
}

const Variable& PositionalEncoding::keep(Variable table) const {
    longest_.store(&tables_.emplace_back(std::move(table)), std::memory_order_release);
    return tables_.back();
}

Variable PositionalEncoding::computed(std::int64_t count) const {
    const DType precise = dtype() == DType::bf16 ? DType::f32 : dtype();
    const Tensor values = kernels::sinusoidal_positions(count, d_model_, precise, sines_of(positions_)).to(dtype());
    if (device() == Device::cpu) return Variable(values, false, dotted("table"));
    const LastingMemory lasting;  // the table may be extended while a batch's arena is in use
    return Variable(values.to(device()), false, dotted("table"));
}

const Variable& PositionalEncoding::table(std::int64_t count) const {
    const Variable& longest = *longest_.load(std::memory_order_acquire);
    if (!longest.defined() || count <= longest.dim(0)) return longest;
    check(positions_ != Positions::learned,
          "positional encoding {}: a sentence has {} tokens, but positions were learned for {}; leave it out or train "
          "with a larger --position-table",
          name(), count, longest.dim(0));
    const std::lock_guard lock(extending_);
    const std::int64_t rows = tables_.back().dim(0);
    return count <= rows ? tables_.back() : keep(computed(std::max(count, 2 * rows)));
}

Embedding::Embedding(Module& parent, std::string_view name, std::int64_t vocabulary, std::int64_t d_model, EmbeddingInit init,
                     bool scale, std::int32_t zero_row)
    : Module(parent, name), scale_(scale ? std::sqrt(static_cast<double>(d_model)) : 1), zero_row_(zero_row) {
    check(vocabulary > 0 && d_model > 0, "embedding {}: the table is [{}, {}], wanted positive extents", this->name(), vocabulary,
          d_model);
    check(zero_row < vocabulary, "embedding {}: row {} should stay zero, but there are {}", this->name(), zero_row, vocabulary);
    Tensor values = Tensor::empty({vocabulary, d_model}, dtype());
    const std::optional<std::uint64_t> key = initial_key(dotted("weight"));
    switch (init) {
        case EmbeddingInit::scaled: fill_embedding(values, key); break;
        case EmbeddingInit::unit: fill_unit(values, key); break;
        case EmbeddingInit::xavier: fill_xavier_uniform(values, key); break;
    }
    if (zero_row >= 0) values.slice(zero_row, zero_row + 1).fill_(0);
    weight_ = add_parameter("weight", values);
}

Embedding::Embedding(std::int64_t vocabulary, std::int64_t d_model, const RandomSource& seed)
    : Module(seed.key()), scale_(1), zero_row_(-1) {
    check(vocabulary > 0 && d_model > 0, "embedding: the table is [{}, {}], wanted positive extents", vocabulary, d_model);
    Tensor values = Tensor::empty({vocabulary, d_model}, dtype());
    fill_unit(values, initial_key(dotted("weight")));
    weight_ = add_parameter("weight", values);
}

Variable Embedding::forward(const Tensor& tokens, const Spans& spans, const PositionalEncoding& positions,
                            const DropoutMask& dropout, std::int64_t first_position, Where where) const {
    return embed({tokens, spans}, positions, dropout, first_position, where);
}

Variable Embedding::forward(const Sentences& sentences, const PositionalEncoding& positions, const DropoutMask& dropout,
                            Where where) const {
    return embed(sentences, positions, dropout, 0, where);
}

Variable Embedding::embed(const Sentences& sentences, const PositionalEncoding& positions, const DropoutMask& dropout,
                          std::int64_t first_position, Where where) const {
    const InModule in_module(name());
    ops::EmbeddingOptions options;
    options.scale = scale_;
    options.positions = positions.table(first_position + sentences.spans.longest());
    options.first_position = first_position;
    options.dropout = dropout;
    options.untrained = zero_row_;
    if (sentences.order.defined()) options.order = sentences.order.to(device());
    return ops::embedding(weight_, sentences.tokens.to(device()), sentences.spans, options, where);
}

Tensor Embedding::step(const Tensor& tokens, const Spans& spans, const PositionalEncoding& positions, std::int64_t position,
                       const device::Growth& growth) const {
    const Variable& position_table = positions.table(1);
    if (!position_table.defined()) return kernels::embedding_forward(weight_.value(), tokens, spans, {}, {.scale = scale_});
    // The step is captured with a position that its table may not have any more: its rows are of no sentence then.
    const Tensor table = position_table.value();
    return kernels::embedding_forward(
        weight_.value(), tokens, spans, table,
        {.scale = scale_, .first_position = std::min(position, table.dim(0) - 1), .growth = growth});
}

Variable Embedding::forward(const Tensor& tokens, Where where) const {
    const InModule in_module(name());
    const std::int64_t count = tokens.numel();
    const Tensor all = tokens.to(device()).reshape({count});
    const Variable rows =
        ops::embedding(weight_, all, Spans({{0, count}}, count), {.scale = scale_, .untrained = zero_row_}, where);
    Shape shape = tokens.shape();
    shape.append(weight_.cols());
    return ops::reshape(rows, shape, where);
}

Sentences packed(std::span<const Tokens> sentences) {
    Tokens tokens;
    std::vector<std::int64_t> lengths;
    for (const Tokens& each : sentences) {
        tokens.insert(tokens.end(), each.begin(), each.end());
        lengths.push_back(static_cast<std::int64_t>(each.size()));
    }
    return {Tensor::from(tokens, {static_cast<std::int64_t>(tokens.size())}), Spans::packed(lengths)};
}

}  // namespace heddle::nn
