#include "nn/embedding.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/random.h"
#include "kernels/embedding/embedding.h"
#include "nn/init.h"

namespace heddle::nn {

PositionalEncoding::PositionalEncoding(Module& parent, std::string_view name, Positions positions, std::int64_t table,
                                       std::int64_t d_model)
    : Module(parent, name), positions_(positions), d_model_(d_model) {
    check(table > 0, "positional encoding {}: the table has {} positions, wanted at least one", this->name(), table);
    if (positions == Positions::sinusoidal) {
        table_ = sinusoidal(table);
        return;
    }
    const Tensor values = Tensor::empty({table, d_model}, dtype());
    fill_embedding(values, initial_key(dotted("weight")));
    table_ = add_parameter("weight", values);
}

void PositionalEncoding::moved() {
    if (positions_ != Positions::sinusoidal) return;
    if (table_.value().device() == device() && table_.value().dtype() == dtype()) return;
    table_ = sinusoidal(table_.dim(0));
    outgrown_.clear();
}

Variable PositionalEncoding::sinusoidal(std::int64_t count) const {
    const DType computed = dtype() == DType::bf16 ? DType::f32 : dtype();
    const Tensor values = kernels::sinusoidal_positions(count, d_model_, computed).to(dtype());
    return Variable(values.to(device()), false, dotted("table"));
}

const Variable& PositionalEncoding::table(std::int64_t count) const {
    const std::int64_t rows = table_.dim(0);
    if (count <= rows) return table_;
    check(positions_ == Positions::sinusoidal,
          "positional encoding {}: a sentence has {} tokens, but positions were learned for {}; leave it out or train with a "
          "larger "
          "--position-table",
          name(), count, rows);
    outgrown_.push_back(table_);
    table_ = sinusoidal(std::max(count, 2 * rows));
    return table_;
}

Embedding::Embedding(Module& parent, std::string_view name, std::int64_t vocabulary, std::int64_t d_model, EmbeddingInit init,
                     bool scale)
    : Module(parent, name), scale_(scale ? std::sqrt(static_cast<double>(d_model)) : 1) {
    check(vocabulary > 0 && d_model > 0, "embedding {}: the table is [{}, {}], wanted positive extents", this->name(), vocabulary,
          d_model);
    Tensor values = Tensor::empty({vocabulary, d_model}, dtype());
    const std::uint64_t key = initial_key(dotted("weight"));
    switch (init) {
        case EmbeddingInit::scaled: fill_embedding(values, key); break;
        case EmbeddingInit::unit: fill_normal(values, 0, 1, key); break;
        case EmbeddingInit::xavier: fill_xavier_uniform(values, key); break;
    }
    weight_ = add_parameter("weight", values);
}

Variable Embedding::forward(const Tensor& tokens, const Spans& spans, const PositionalEncoding& positions, const Dropout& dropout,
                            std::int64_t first_position, Where where) const {
    const InModule in_module(name());
    ops::EmbeddingOptions options;
    options.scale = scale_;
    options.positions = positions.table(first_position + spans.longest());
    options.first_position = first_position;
    options.dropout = dropout;
    return ops::embedding(weight_, tokens.to(device()), spans, options, where);
}

}  // namespace heddle::nn
