#include "kernels/feed_forward/feed_forward.h"

#include <fmt/format.h>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle {
namespace {

Tensor value_or_none(const Variable& variable) { return variable.defined() ? variable.value() : Tensor(); }

}  // namespace

Variable ops::feed_forward(const Variable& x, const Variable& w1, const Variable& b1, const Variable& w2, const Variable& b2,
                           Activation activation, const Dropout& dropout, Where where) {
    const kernels::FeedForwardWeights weights{w1.value(), value_or_none(b1), w2.value(), value_or_none(b2)};
    auto [y, hidden] = kernels::feed_forward_forward(x.value(), weights, activation, dropout, will_record({x, w1, b1, w2, b2}));
    const auto backward = [=](Gradients& g) {
        const kernels::FeedForwardWants wants{g.needs(0), g.needs(1), g.needs(2), g.needs(3), g.needs(4)};
        kernels::FeedForwardWeights gradients;
        Tensor* const slots[] = {&gradients.w1, &gradients.b1, &gradients.w2, &gradients.b2};
        for (int i = 0; i < 4; ++i)
            if (g.needs(i + 1)) *slots[i] = g.accumulate_into(i + 1);
        const kernels::FeedForwardWeights saved{g.saved(2), {}, g.saved(3), {}};
        Tensor dx = kernels::feed_forward_backward(g.output(), g.saved(0), g.saved(1), saved, activation, dropout, wants,
                                                   gradients, &g.biases());
        if (wants.x) g.give(0, std::move(dx));
    };
    return record(y, {.op = "feed_forward",
                      .where = where,
                      .inputs = {x, w1, b1, w2, b2},
                      .multiply_adds = x.rows() * (w1.value().numel() + w2.value().numel()),
                      .saved = {x.value(), hidden, w1.value(), w2.value()},
                      .backward = backward});
}

std::vector<GradientCase> proofs::feed_forward() {
    std::vector<GradientCase> cases;
    const std::vector<Tensor> all = {random_input({4, 3}, 1), random_input({6, 3}, 2), random_input({6}, 3),
                                     random_input({5, 6}, 4), random_input({5}, 5)};
    const auto add = [&](const char* what, ops::Activation activation, double dropout) {
        cases.push_back(
            {"feed_forward", what,
             [=](auto in) { return ops::feed_forward(in[0], in[1], in[2], in[3], in[4], activation, Dropout(dropout, 7)); },
             all});
    };
    add("ReLU", ops::Activation::relu, 0);
    add("ReLU, dropout 0.3", ops::Activation::relu, 0.3);
    add("GELU", ops::Activation::gelu, 0);
    add("GELU, dropout 0.3", ops::Activation::gelu, 0.3);
    add("GELU in its tanh form", ops::Activation::gelu_tanh, 0);
    add("GELU in its tanh form, dropout 0.3", ops::Activation::gelu_tanh, 0.3);
    // These numbers have no hidden value near ReLU's kink.
    const std::vector<Tensor> no_biases = {random_input({4, 3}, 6), all[1], all[3]};
    const auto add_without_biases = [&](const char* what, ops::Activation activation, double dropout) {
        cases.push_back({"feed_forward", what,
                         [=](auto in) { return ops::feed_forward(in[0], in[1], {}, in[2], {}, activation, Dropout(dropout, 7)); },
                         no_biases});
    };
    add_without_biases("without biases", ops::Activation::relu, 0);
    add_without_biases("GELU without biases, dropout 0.3", ops::Activation::gelu, 0.3);
    add_without_biases("GELU in its tanh form without biases, dropout 0.3", ops::Activation::gelu_tanh, 0.3);
    return cases;
}

}  // namespace heddle

namespace heddle::benches {

OpCase feed_forward(const Setting& on, std::int64_t rows, std::int64_t d_model, std::int64_t d_ff) {
    const auto operations = static_cast<double>(4 * rows * d_model * d_ff);
    const auto traffic = on.bytes(static_cast<double>(2 * rows * d_model + rows * d_ff + 2 * d_model * d_ff));
    return {.op = "feed_forward",
            .what = fmt::format("[{}, {}], inner {}, relu, dropout", rows, d_model, d_ff),
            .prepare = [=]() -> Run {
                const Variable x = leaf({rows, d_model}, on), w1 = leaf({d_ff, d_model}, on), b1 = leaf({d_ff}, on);
                const Variable w2 = leaf({d_model, d_ff}, on), b2 = leaf({d_model}, on);
                return [=] { return ops::feed_forward(fresh(x), w1, b1, w2, b2, ops::Activation::relu, dropout_of_training()); };
            },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .formula = "4 rows d_model d_ff forward, twice that backward",
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

}  // namespace heddle::benches
