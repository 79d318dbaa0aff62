#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

#include <fmt/format.h>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle {
Variable ops::linear_cross_entropy(const Variable& x, const Variable& weight, const Variable& bias, const Tensor& targets,
                                   const LossOptions& options, Tensor* statistics, Where where) {
    const bool recording = will_record({x, weight, bias});
    const kernels::LinearCrossEntropyWants wants{recording && x.requires_grad(), recording && weight.requires_grad(),
                                                 recording && bias.requires_grad()};
    kernels::LinearCrossEntropyResult result = kernels::linear_cross_entropy(
        x.value(), weight.value(), bias.defined() ? bias.value() : Tensor(), targets, options, wants);
    if (statistics) *statistics = result.statistics;
    // The gradients for a loss gradient of 1 are what the op saves.
    std::vector<Tensor> saved;
    std::vector<int> inputs;
    const Tensor* const made[] = {&result.dx, &result.dweight, &result.dbias};
    for (int i = 0; i < 3; ++i)
        if (made[i]->defined()) {
            saved.push_back(*made[i]);
            inputs.push_back(i);
        }
    return record(result.loss, {.op = "linear_cross_entropy",
                                .where = where,
                                .inputs = {x, weight, bias},
                                .multiply_adds = x.rows() * weight.value().numel(),
                                .saved = std::move(saved),
                                .backward = [inputs](Gradients& g) {
                                    for (std::size_t i = 0; i < inputs.size(); ++i) {
                                        Tensor target = g.accumulate_into(inputs[i]);
                                        kernels::linear_cross_entropy_backward(g.saved(static_cast<int>(i)), g.output(), target);
                                    }
                                }});
}

std::vector<GradientCase> proofs::linear_cross_entropy() {
    std::vector<GradientCase> cases;
    const std::vector<Tensor> inputs = {random_input({5, 3}, 1), random_input({7, 3}, 2), random_input({7}, 3)};
    const auto add = [&](const char* what, std::vector<std::int32_t> targets, ops::LossOptions options) {
        const Tensor target = Tensor::from(targets, {static_cast<std::int64_t>(targets.size())});
        cases.push_back({"linear_cross_entropy", what,
                         [=](auto in) { return ops::linear_cross_entropy(in[0], in[1], in[2], beside(in[0], target), options); },
                         inputs});
    };
    add("mean", {0, 6, 3, 3, 1}, {});
    add("label smoothing 0.1", {0, 6, 3, 3, 1}, {.label_smoothing = 0.1});
    add("ignored targets", {0, -1, 3, -1, 1}, {.label_smoothing = 0.1});
    add("all targets ignored", {-1, -1, -1, -1, -1}, {});
    cases.back().options.zero_by_symmetry = {0, 1, 2};
    add("sum over a given divisor", {0, 6, 3, 3, 1}, {.label_smoothing = 0.2, .divisor = 40});
    const Tensor target = Tensor::from(std::vector<std::int32_t>{2, 0, 6, 4, 4}, {5});
    cases.push_back({"linear_cross_entropy",
                     "without bias",
                     [=](auto in) { return ops::linear_cross_entropy(in[0], in[1], {}, beside(in[0], target)); },
                     {inputs[0], inputs[1]}});
    return cases;
}

}  // namespace heddle

namespace heddle::benches {

OpCase linear_cross_entropy(const Setting& on, std::int64_t rows, std::int64_t d_model, std::int64_t vocabulary) {
    const auto operations = 2.0 * static_cast<double>(rows) * static_cast<double>(d_model * vocabulary);
    const auto traffic = on.bytes(static_cast<double>(rows * d_model + vocabulary * d_model));
    return {.op = "linear_cross_entropy",
            .what = fmt::format("[{}, {}] x [{}, {}]^T; forward makes the gradients", rows, d_model, vocabulary, d_model),
            .prepare = [=]() -> Run {
                const Variable x = leaf({rows, d_model}, on), weight = leaf({vocabulary, d_model}, on);
                const Tensor targets = random_tokens(rows, vocabulary, on);
                return [=] { return ops::linear_cross_entropy(fresh(x), weight, {}, targets, {.label_smoothing = 0.1}); };
            },
            .forward_operations = 3 * operations,
            .backward_operations = 0,
            .formula = "6 rows d_model vocabulary, all forward",
            .forward_bytes = 2 * traffic,
            .backward_bytes = 2 * traffic};
}

}  // namespace heddle::benches
