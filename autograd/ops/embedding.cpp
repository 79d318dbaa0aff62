// The embedding on the tape.
#include "kernels/embedding/embedding.h"

#include <fmt/format.h>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable embedding(const Variable& table, const Tensor& tokens, const Spans& spans, const EmbeddingOptions& options,
                   Where where) {
    const kernels::EmbeddingPlan plan = {options.scale, options.first_position, options.dropout};
    const Tensor positions = options.positions.defined() ? options.positions.value() : Tensor();
    Tensor y = kernels::embedding_forward(table.value(), tokens, spans, positions, plan);
    std::vector<Tensor> saved = {tokens};
    if (options.order.defined()) saved.push_back(options.order);
    const bool sorted = options.order.defined();
    return record(y, {.op = "embedding",
                      .where = where,
                      .inputs = {table, options.positions},
                      .saved = std::move(saved),
                      .backward = [spans, plan, sorted](Gradients& g) {
                          Tensor dtable, dpositions;
                          if (g.needs(0)) dtable = g.accumulate_into(0);
                          if (g.needs(1)) dpositions = g.accumulate_into(1);
                          kernels::embedding_backward(g.output(), g.saved(0), spans, plan, dtable.defined() ? &dtable : nullptr,
                                                      dpositions.defined() ? &dpositions : nullptr,
                                                      sorted ? g.saved(1) : Tensor());
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> embedding() {
    const Tensor tokens = Tensor::from(std::vector<std::int32_t>{2, 0, 2, 4, 2, 1, 0}, {7});  // repeated ones, and none of row 3
    const Spans packed = Spans::packed(std::vector<std::int64_t>{4, 1, 2});
    const Spans gaps({{1, 3}, {5, 2}}, 7);
    const auto embed = [=](const Spans& spans, const ops::EmbeddingOptions& options) -> GradientFunction {
        return [=](auto in) {
            ops::EmbeddingOptions with = options;
            if (in.size() > 1) with.positions = in[1];
            return ops::embedding(in[0], beside(in[0], tokens), spans, with);
        };
    };
    const Tensor table = random_input({5, 9}, 1), positions = random_input({6, 9}, 2);
    return {
        {"embedding", "table alone", embed(packed, {}), {table}},
        {"embedding", "scale, learned positions", embed(packed, {.scale = 3}), {table, positions}},
        {"embedding", "rows outside the spans", embed(gaps, {.scale = 2}), {table, positions}},
        {"embedding",
         "from position 2 on, dropout 0.3",
         embed(packed, {.scale = 3, .first_position = 2, .dropout = Dropout(0.3, 15)}),
         {table, positions}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

OpCase embedding(const Setting& on, std::int64_t sentences, std::int64_t length, std::int64_t vocabulary, std::int64_t d_model) {
    const std::int64_t rows = sentences * length;
    const Spans spans = Spans::equal(sentences, length);
    const auto hidden = static_cast<double>(rows * d_model);
    return {.op = "embedding",
            .what = fmt::format("[{}, {}], {} tokens, positions, dropout", vocabulary, d_model, rows),
            .prepare = [=]() -> Run {
                const Variable table = leaf({vocabulary, d_model}, on);
                const Tensor tokens = random_tokens(rows, vocabulary, on);
                ops::EmbeddingOptions options;
                options.scale = 11.3;
                options.positions = Variable(numbers({length, d_model}, on));
                options.dropout = dropout_of_training();
                return [=] { return ops::embedding(table, tokens, spans, options); };
            },
            .forward_bytes = on.bytes(2 * hidden),
            .backward_bytes = on.bytes(3 * hidden)};
}

}  // namespace heddle::benches
