// Activation checkpointing that draws new dropout masks when it recomputes a layer.
//
//     wrong    forward with mask a, recomputation with mask b: the gradient of a value that was never computed
//     right    the mask is a function of the layer and the step, so both passes use the same one
#include <cmath>
#include <functional>
#include <memory>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "autograd/checkpoint.h"
#include "nn/linear.h"

namespace heddle::lab::dropout_redrawn {
namespace {

constexpr std::int64_t rows = 64, width = 64, vocabulary = 16;
constexpr int depth = 6;
constexpr std::int64_t hidden_width = 128, steps = 300;

// heddle::checkpoint without its safeguards: backward runs the function again with whatever keys the generator then returns. (The
// library's version restores the keys of the first run and rejects a second run that computes a different value.)
Variable careless_checkpoint(const std::function<Variable(const Variable&)>& function, const Variable& x) {
    const auto first = [&] {
        const NoGrad no_grad;
        return function(x).value();
    };
    return record(first(), {.op = "careless checkpoint",
                            .where = Where::current(),
                            .inputs = {x},
                            .saved = {x.value()},
                            .backward =
                                [function](Gradients& gradients) {
                                    const Variable input(gradients.saved(0), true);
                                    {
                                        const FreshTape fresh;
                                        backward(function(input), gradients.output());
                                    }
                                    gradients.give(0, input.grad());
                                },
                            .always = true});
}

struct Net : nn::Module {
    explicit Net(std::uint64_t seed) : nn::Module(seed) {
        for (int i = 0; i < depth; ++i)
            layers.push_back(std::make_unique<nn::Linear>(*this, "layers." + std::to_string(i), hidden_width, hidden_width));
    }
    nn::Linear input{*this, "input", width, hidden_width};
    std::vector<std::unique_ptr<nn::Linear>> layers;
    nn::Linear output{*this, "output", hidden_width, vocabulary};

    // All layers are recomputed in backward.
    Variable logits(const Variable& x, double probability, bool redrawn) const {
        const auto hidden = [=, this](const Variable& in) {
            Variable at = ops::relu(input.forward(in));
            for (const auto& layer : layers)
                at = ops::relu(layer->forward(ops::dropout(at, layer->dropout(probability, "dropout"))));
            return at;
        };
        const auto of_span = [hidden](std::span<const Variable> in) { return hidden(in[0]); };
        return output.forward(redrawn ? careless_checkpoint(hidden, x) : checkpoint(of_span, {x}));
    }
};

struct Task {
    Variable inputs;
    Tensor targets;
};

std::vector<double> gradient(const Options& options, const Task& task, double probability, bool redrawn) {
    Net net(options.seed);
    generator().start(0, 0);
    backward(ops::cross_entropy(net.logits(task.inputs, probability, redrawn), task.targets));
    std::vector<double> all;
    for (const nn::Parameter& parameter : net.parameters())
        for (const double value : parameter.variable.grad().to_vector()) all.push_back(value);
    return all;
}

// |g - right| / |right| of all parameters' gradients in the first step.
double gradient_error(const Options& options, const Task& task, double probability, bool redrawn) {
    return relative_change(gradient(options, task, probability, false), gradient(options, task, probability, redrawn));
}

struct Run {
    std::vector<double> losses;
    double without_dropout = 0;  // the loss in evaluation mode, at the end
};

Run run(const Options& options, const Task& task, bool redrawn) {
    Net net(options.seed);
    const auto loss = [&](std::int64_t) { return ops::cross_entropy(net.logits(task.inputs, 0.3, redrawn), task.targets); };
    Run result{train(net, {.steps = steps}, loss), 0};
    net.eval();
    result.without_dropout = loss(0).value().item();
    return result;
}

Result measure(const Options& options) {
    const Task task{Variable(normal({rows, width}, 1, key(options, "inputs"))), words(rows, vocabulary, key(options, "targets"))};
    const Run same = run(options, task, false), redrawn = run(options, task, true);
    const picture::LineChart losses{.title = "memorising 64 rows, six layers, dropout 0.3",
                                    .x = {.label = "step"},
                                    .y = {.label = "loss", .logarithmic = true},
                                    .series = {curve("same mask", same.losses), curve("drawn anew", redrawn.losses)},
                                    .levels = {{"ln 16", std::log(vocabulary)}}};
    Finding at_01{"relative error of the gradient, dropout 0.1"}, at_03{"relative error of the gradient, dropout 0.3"};
    for (const bool anew : {false, true}) {
        at_01.values.push_back(gradient_error(options, task, 0.1, anew));
        at_03.values.push_back(gradient_error(options, task, 0.3, anew));
    }
    return {.variants = {"same mask", "drawn anew"},
            .findings = {at_03,
                         at_01,
                         {"loss after 300 steps, dropout 0.3", {same.losses.back(), redrawn.losses.back()}},
                         {"the same without dropout", {same.without_dropout, redrawn.without_dropout}}},
            .figures = {
                {svg(mistakes_first(losses)), "Shallow networks tolerate it; here training goes well at first, then diverges."}}};
}

}  // namespace

Experiment experiment() {
    return {.name = "dropout-redrawn",
            .group = "Norm, dropout and training",
            .title = "dropout that is drawn again when an activation is recomputed",
            .caught_by = "Checkpoint.GivesTheBitsOfThePlainRunWithTheSameDropoutMasks",
            .why =
                "Backward multiplies the gradient of one thinned network by the activations of another: a unit that took part "
                "may get no gradient, and one that did not may get some. The product is the gradient of no function; at a "
                "dropout of 0.1 its error is larger than the gradient itself, and the loss of the first steps does not show it. "
                "Masks derived from the layer's name and the step are the same however often they are drawn.",
            .wrong = R"(
// in backward: runs the layers again, with new masks
const Variable input(gradients.saved(0), true);
backward(layers(input), gradients.output());
gradients.give(0, input.grad());
)",
            .right = R"(
// backward restores the keys of the first run's masks, and
// requires the second run to compute the same values
const Variable y = checkpoint(layers, {x});
)",
            .run = measure};
}

}  // namespace heddle::lab::dropout_redrawn
