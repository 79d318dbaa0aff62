#include "kernels/feed_forward/feed_forward.h"

#include "autograd/ops.h"
#include "kernels/feed_forward/gated_feed_forward.h"

namespace heddle {
namespace {

Tensor value_or_none(const Variable& variable) { return variable.defined() ? variable.value() : Tensor(); }

// Which gradients of x, w1, b1, w2 and b2 are wanted, and the tensors that those of the weights are added to.
kernels::FeedForwardWants wanted_of(Gradients& g, kernels::FeedForwardWeights& gradients) {
    Tensor* const slots[] = {&gradients.w1, &gradients.b1, &gradients.w2, &gradients.b2};
    for (int i = 0; i < 4; ++i)
        if (g.needs(i + 1)) *slots[i] = g.accumulate_into(i + 1);
    return {g.needs(0), g.needs(1), g.needs(2), g.needs(3), g.needs(4)};
}

// Either network; W1 is the gated one's w_gate_and_up.
Variable network(const char* op, decltype(kernels::feed_forward_forward)& forward, decltype(kernels::feed_forward_backward)& back,
                 const std::vector<Variable>& inputs, ops::Activation activation, const DropoutMask& dropout, Where where) {
    const Tensor &x = inputs[0].value(), &w1 = inputs[1].value(), &w2 = inputs[3].value();
    const bool keep = will_record(inputs) || in_checkpoint();
    auto [y, hidden] = forward(x, {w1, value_or_none(inputs[2]), w2, value_or_none(inputs[4])}, activation, dropout, keep);
    const auto backward = [=, &back](Gradients& g) {
        kernels::FeedForwardWeights gradients;
        const kernels::FeedForwardWants wants = wanted_of(g, gradients);
        const kernels::FeedForwardWeights saved{g.saved(2), {}, g.saved(3), {}};
        Tensor dx = back(g.output(), g.saved(0), g.saved(1), saved, activation, dropout, wants, gradients);
        if (wants.x) g.give(0, std::move(dx));
    };
    return record(y, {.op = op,
                      .where = where,
                      .inputs = inputs,
                      .multiply_adds = x.rows() * (w1.numel() + w2.numel()),
                      .saved = {x, hidden, w1, w2},
                      .backward = backward});
}

}  // namespace

Variable ops::feed_forward(const Variable& x, const Variable& w1, const Variable& b1, const Variable& w2, const Variable& b2,
                           Activation activation, const DropoutMask& dropout, Where where) {
    return network("feed_forward", kernels::feed_forward_forward, kernels::feed_forward_backward, {x, w1, b1, w2, b2}, activation,
                   dropout, where);
}

Variable ops::gated_feed_forward(const Variable& x, const Variable& w_gate_and_up, const Variable& b, const Variable& w2,
                                 const Variable& b2, Activation gate, const DropoutMask& dropout, Where where) {
    return network("gated_feed_forward", kernels::gated_feed_forward_forward, kernels::gated_feed_forward_backward,
                   {x, w_gate_and_up, b, w2, b2}, gate, dropout, where);
}

}  // namespace heddle
