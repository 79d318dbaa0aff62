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

}  // namespace

Variable ops::feed_forward(const Variable& x, const Variable& w1, const Variable& b1, const Variable& w2, const Variable& b2,
                           Activation activation, const DropoutMask& dropout, Where where) {
    const kernels::FeedForwardWeights weights{w1.value(), value_or_none(b1), w2.value(), value_or_none(b2)};
    const bool keep = will_record({x, w1, b1, w2, b2}) || in_checkpoint();
    auto [y, hidden] = kernels::feed_forward_forward(x.value(), weights, activation, dropout, keep);
    const auto backward = [=](Gradients& g) {
        kernels::FeedForwardWeights gradients;
        const kernels::FeedForwardWants wants = wanted_of(g, gradients);
        const kernels::FeedForwardWeights saved{g.saved(2), {}, g.saved(3), {}};
        Tensor dx =
            kernels::feed_forward_backward(g.output(), g.saved(0), g.saved(1), saved, activation, dropout, wants, gradients);
        if (wants.x) g.give(0, std::move(dx));
    };
    return record(y, {.op = "feed_forward",
                      .where = where,
                      .inputs = {x, w1, b1, w2, b2},
                      .multiply_adds = x.rows() * (w1.value().numel() + w2.value().numel()),
                      .saved = {x.value(), hidden, w1.value(), w2.value()},
                      .backward = backward});
}

Variable ops::gated_feed_forward(const Variable& x, const Variable& w_gate_and_up, const Variable& b, const Variable& w2,
                                 const Variable& b2, Activation gate, const DropoutMask& dropout, Where where) {
    const kernels::FeedForwardWeights weights{w_gate_and_up.value(), value_or_none(b), w2.value(), value_or_none(b2)};
    const bool keep = will_record({x, w_gate_and_up, b, w2, b2}) || in_checkpoint();
    auto [y, hidden] = kernels::gated_feed_forward_forward(x.value(), weights, gate, dropout, keep);
    const auto backward = [=](Gradients& g) {
        kernels::FeedForwardWeights gradients;
        const kernels::FeedForwardWants wants = wanted_of(g, gradients);
        const kernels::FeedForwardWeights saved{g.saved(2), {}, g.saved(3), {}};
        Tensor dx =
            kernels::gated_feed_forward_backward(g.output(), g.saved(0), g.saved(1), saved, gate, dropout, wants, gradients);
        if (wants.x) g.give(0, std::move(dx));
    };
    return record(y, {.op = "gated_feed_forward",
                      .where = where,
                      .inputs = {x, w_gate_and_up, b, w2, b2},
                      .multiply_adds = x.rows() * (w_gate_and_up.value().numel() + w2.value().numel()),
                      .saved = {x.value(), hidden, w_gate_and_up.value(), w2.value()},
                      .backward = backward});
}

}  // namespace heddle
