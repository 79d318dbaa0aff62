#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

#include "autograd/ops.h"
#include "kernels/elementwise/elementwise.h"

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
                                        const Tensor& made = g.saved(static_cast<int>(i));
                                        // The first gradient of x is given as it is, not added to zeros.
                                        if (inputs[i] == 0 && made.device() == Device::cuda && !g.so_far(0).defined() &&
                                            g.output().dtype() == made.dtype()) {
                                            g.give(0, kernels::mul(made, g.output()));
                                            continue;
                                        }
                                        Tensor target = g.accumulate_into(inputs[i]);
                                        kernels::linear_cross_entropy_backward(made, g.output(), target);
                                    }
                                }});
}

}  // namespace heddle
