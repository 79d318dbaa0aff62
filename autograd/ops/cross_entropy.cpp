#include "kernels/cross_entropy/cross_entropy.h"

#include <fmt/format.h>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

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

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> cross_entropy() {
    const Tensor targets = Tensor::from(std::vector<std::int32_t>{2, -1, 6, 0}, {4});
    const Tensor none = Tensor::from(std::vector<std::int32_t>{-1, -1}, {2});
    const auto loss = [](const Tensor& ids, const ops::LossOptions& options) -> GradientFunction {
        return [=](std::span<const Variable> in) { return ops::cross_entropy(in[0], beside(in[0], ids), options); };
    };
    return {
        {"cross_entropy", "an ignored target", loss(targets, {}), {random_input({4, 7}, 51, 2)}},
        {"cross_entropy", "label smoothing 0.2", loss(targets, {.label_smoothing = 0.2}), {random_input({4, 7}, 52, 2)}},
        {"cross_entropy",
         "divisor 9, ignoring target 6",
         loss(Tensor::from(std::vector<std::int32_t>{2, 1, 6, 0}, {4}), {.ignore = 6, .divisor = 9}),
         {random_input({4, 7}, 53, 2)}},
        {"cross_entropy",
         "every target ignored",
         loss(none, {.label_smoothing = 0.1}),
         {random_input({2, 5}, 54)},
         {.zero_by_symmetry = {0}}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

OpCase cross_entropy(const Setting& on, std::int64_t rows, std::int64_t vocabulary) {
    const double traffic = on.bytes(static_cast<double>(rows * vocabulary));
    return {.op = "cross_entropy",
            .what = fmt::format("[{}, {}]", rows, vocabulary),
            .prepare = [=]() -> Run {
                const Variable logits = leaf({rows, vocabulary}, on);
                const Tensor targets = random_tokens(rows, vocabulary, on);
                return [=] { return ops::cross_entropy(fresh(logits), targets, {.label_smoothing = 0.1}); };
            },
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

}  // namespace heddle::benches
