#include "kernels/cross_entropy/cross_entropy.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable cross_entropy(const Variable& logits, const Tensor& targets, const LossOptions& options, Tensor* statistics,
                       Where where) {
    kernels::CrossEntropyResult result = kernels::cross_entropy_forward(logits.value(), targets, options);
    if (statistics) *statistics = result.statistics;
    return record(result.loss, {.op = "cross_entropy",
                                .where = where,
                                .inputs = {logits},
                                .saved = {logits.value(), targets},
                                .backward = [options](Gradients& g) {
                                    if (!g.needs(0)) return;
                                    g.give(0, kernels::cross_entropy_backward(g.output(), g.saved(0), g.saved(1), options));
                                }});
}

}  // namespace heddle::inline ops
