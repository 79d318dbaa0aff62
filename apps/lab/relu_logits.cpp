// A ReLU at the end of the model, before the softmax: "the last layer has an activation, too".
//
//     wrong    cross_entropy(relu(x))
//     right    cross_entropy(x)
#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "nn/linear.h"

namespace heddle::lab::relu_logits {
namespace {

constexpr std::int64_t rows = 64, width = 128, vocabulary = 200, steps = 300;

struct Head : nn::Module {
    explicit Head(std::uint64_t seed) : nn::Module(seed) {}
    nn::Linear output{*this, "output", width, vocabulary};
};

// A different word for each row.
Tensor distinct_words(std::uint64_t key) {
    std::vector<std::int32_t> all(vocabulary);
    std::iota(all.begin(), all.end(), 0);
    Sequence(key).shuffle(all);
    return Tensor::from(std::span<const std::int32_t>(all).first(rows), {rows});
}

struct Run {
    std::vector<double> losses;
    std::vector<double> dead;  // share of the rows whose target logit's gradient is exactly zero, by step
    double still = 0;          // share of the rows dead at the start that are still dead at the end
};

Run run(const Options& options, bool relu) {
    const Variable inputs(normal({rows, width}, 1, key(options, "inputs")));
    const Tensor targets = distinct_words(key(options, "targets"));
    Head head(options.seed);
    const auto loss_of = [&](const Variable& logits) { return ops::cross_entropy(relu ? ops::relu(logits) : logits, targets); };
    const auto dead_rows = [&] {
        const Variable logits(head.output.forward(inputs).value(), true);
        backward(loss_of(logits));
        const std::vector<double> gradient = logits.grad().to_vector();
        std::vector<bool> dead;
        for (std::int64_t row = 0; row < rows; ++row)
            dead.push_back(gradient[static_cast<std::size_t>(row * vocabulary + targets.data<std::int32_t>()[row])] == 0);
        return dead;
    };
    const auto share = [](const std::vector<bool>& which) { return static_cast<double>(std::ranges::count(which, true)) / rows; };
    Run result;
    const std::vector<bool> first = dead_rows();
    result.losses = train(head, {.steps = steps, .lr = 1e-2}, [&](std::int64_t) {
        result.dead.push_back(share(dead_rows()));
        return loss_of(head.output.forward(inputs));
    });
    std::vector<bool> last = dead_rows();
    result.dead.push_back(share(last));
    for (std::size_t row = 0; row < rows; ++row) last[row] = last[row] && first[row];
    if (share(first) > 0) result.still = share(last) / share(first);
    return result;
}

Result measure(const Options& options) {
    const Run plain = run(options, false), relu = run(options, true);
    const picture::LineChart losses{.title = "memorising 64 rows, 200 words",
                                    .x = {.label = "step"},
                                    .y = {.label = "loss", .logarithmic = true},
                                    .series = {curve("logits", plain.losses), curve("ReLU", relu.losses)},
                                    .levels = {{"ln 200", std::log(vocabulary)}}};
    const picture::LineChart dead{.title = "targets whose gradient is exactly zero",
                                  .x = {.label = "step"},
                                  .y = {.label = "share of the rows", .from = 0, .to = 1},
                                  .series = {curve("logits", plain.dead), curve("ReLU", relu.dead)}};
    return {.variants = {"logits", "ReLU"},
            .findings = {{"targets without a gradient, at the end", {plain.dead.back(), relu.dead.back()}},
                         {"targets without a gradient, at the start", {plain.dead.front(), relu.dead.front()}},
                         {"of these, without one at the end", {plain.still, relu.still}},
                         {"loss after 300 steps", {plain.losses.back(), relu.losses.back()}}},
            .figures = {{svg(mistakes_first(losses)), "The mean over the rows; the dead rows keep it high."},
                        {svg(mistakes_first(dead)), "Without the ReLU the share is zero throughout."}}};
}

}  // namespace

Experiment experiment() {
    return {
        .name = "relu-logits",
        .group = "The loss",
        .title = "a ReLU between the last projection and the softmax",
        .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
        .why =
            "The ReLU maps a negative target logit to zero and passes no gradient to it; at the start that is about half of all "
            "targets. They recover only by luck, if an update for another row happens to raise their logit; most keep the "
            "probability of words that never occur. A softmax takes logits of any sign and gives every target the gradient p - "
            "1.",
        .wrong = R"(
const Variable logits = ops::relu(output.forward(x));
const Variable loss = ops::cross_entropy(logits, targets);
)",
        .right = R"(
const Variable logits = output.forward(x);
const Variable loss = ops::cross_entropy(logits, targets);
)",
        .run = measure};
}

}  // namespace heddle::lab::relu_logits
