// A softmax at the end of the model, before a cross entropy that applies one itself.
//
//     wrong    cross_entropy(softmax(x)): the second softmax sees values between 0 and 1
//     right    cross_entropy(x)
#include <cmath>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "nn/linear.h"

namespace heddle::lab::softmax_twice {
namespace {

constexpr std::int64_t rows = 64, width = 64, vocabulary = 1024, steps = 200;

struct Head : nn::Module {
    explicit Head(std::uint64_t seed) : nn::Module(seed) {}
    nn::Linear output{*this, "output", width, vocabulary};
};

Variable logits_or_probabilities(const Variable& logits, bool twice) { return twice ? ops::softmax(logits) : logits; }

// The loss of a target whose logit is far above all others.
double floor_of_the_loss(bool twice) {
    Tensor certain = Tensor::zeros({1, vocabulary}, DType::f64);
    certain.mutable_data<double>()[7] = 1e4;
    return ops::cross_entropy(logits_or_probabilities(Variable(certain), twice), Tensor::full({1}, 7, DType::i32)).value().item();
}

struct Run {
    std::vector<double> losses;
    double gradient = 0;  // of the first row's target logit, at the start
    double right = 0;     // share of the rows whose target has the largest logit, at the end
};

Run run(const Options& options, bool twice) {
    const Variable inputs(normal({rows, width}, 1, key(options, "inputs")));
    const Tensor targets = words(rows, vocabulary, key(options, "targets"));
    const auto target = static_cast<std::size_t>(targets.data<std::int32_t>()[0]);
    Run result;
    Head head(options.seed);
    const Variable start(head.output.forward(inputs).value(), true);
    backward(ops::cross_entropy(logits_or_probabilities(start, twice), targets, {.divisor = 1}));
    result.gradient = std::abs(start.grad().to_vector()[target]);
    result.losses = train(head, {.steps = steps, .lr = 1e-2}, [&](std::int64_t) {
        return ops::cross_entropy(logits_or_probabilities(head.output.forward(inputs), twice), targets);
    });
    Tensor statistics;
    ops::cross_entropy(head.output.forward(inputs), targets, {}, &statistics);
    result.right = static_cast<double>(ops::loss_statistics(statistics).correct) / rows;
    return result;
}

Result measure(const Options& options) {
    const Run once = run(options, false), twice = run(options, true);
    const double floor = floor_of_the_loss(true);
    const picture::LineChart chart{.title = "memorising 64 rows, 1024 words",
                                   .x = {.label = "step"},
                                   .y = {.label = "loss", .from = 0},
                                   .series = {curve("logits", once.losses), curve("softmax twice", twice.losses)},
                                   .levels = {{"ln 1024", std::log(vocabulary)}, {"ln(1 + 1023/e)", floor}}};
    return {.variants = {"logits", "twice"},
            .findings = {{"loss after 200 steps", {once.losses.back(), twice.losses.back()}},
                         {"lowest loss there is", {floor_of_the_loss(false), floor}},
                         {"gradient of the first target's logit, at the start", {once.gradient, twice.gradient}},
                         {"rows whose target is the largest, at the end", {once.right, twice.right}}},
            .figures = {{svg(mistakes_first(chart)),
                         "The wrong loss approaches a floor far above zero, though most rows become right."}}};
}

}  // namespace

Experiment experiment() {
    return {.name = "softmax-twice",
            .group = "The loss",
            .title = "a softmax before a cross entropy that applies it again",
            .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
            .why =
                "Probabilities lie between 0 and 1, so the second softmax cannot give the target more than e times the weight of "
                "any other word: the loss of a perfect model is ln(1 + (V-1)/e). The gradient passes through the first softmax, "
                "which multiplies it by a probability, about 1/V at the start. The model still learns, which hides the mistake; "
                "the cross entropy of logits can reach zero.",
            .wrong = R"(
const Variable logits = output.forward(x);
const Variable p = ops::softmax(logits);
const Variable loss = ops::cross_entropy(p, targets);
)",
            .right = R"(
const Variable logits = output.forward(x);
const Variable loss = ops::cross_entropy(logits, targets);
)",
            .run = measure};
}

}  // namespace heddle::lab::softmax_twice
