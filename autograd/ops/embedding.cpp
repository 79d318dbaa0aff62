// The embedding on the tape.
#include "kernels/embedding/embedding.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable embedding(const Variable& table, const Tensor& tokens, const Spans& spans, const EmbeddingOptions& options,
                   Where where) {
    const kernels::EmbeddingPlan plan = {options.scale, options.first_position, options.dropout, options.untrained};
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

}  // namespace heddle::inline ops
