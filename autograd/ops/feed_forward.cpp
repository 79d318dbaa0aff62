#include "kernels/feed_forward/feed_forward.h"

#include "autograd/ops.h"

namespace heddle {
namespace {

Tensor value_or_none(const Variable& variable) { return variable.defined() ? variable.value() : Tensor(); }

}  // namespace

Variable ops::feed_forward(const Variable& x, const Variable& w1, const Variable& b1, const Variable& w2, const Variable& b2,
                           Activation activation, const Dropout& dropout, Where where) {
    const kernels::FeedForwardWeights weights{w1.value(), value_or_none(b1), w2.value(), value_or_none(b2)};
    const bool keep = will_record({x, w1, b1, w2, b2}) || in_checkpoint();
    auto [y, hidden] = kernels::feed_forward_forward(x.value(), weights, activation, dropout, keep);
    const auto backward = [=](Gradients& g) {
        const kernels::FeedForwardWants wants{g.needs(0), g.needs(1), g.needs(2), g.needs(3), g.needs(4)};
        kernels::FeedForwardWeights gradients;
        Tensor* const slots[] = {&gradients.w1, &gradients.b1, &gradients.w2, &gradients.b2};
        for (int i = 0; i < 4; ++i)
            if (g.needs(i + 1)) *slots[i] = g.accumulate_into(i + 1);
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

}  // namespace heddle
