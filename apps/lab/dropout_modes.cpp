// Dropout that is defined and never applied, and dropout that is never switched off.
//
//     wrong    y = W2 relu(W1 x)                        the layer stores a probability that forward() ignores
//              y = W2 dropout(relu(W1 x)), always       eval() is never called, so evaluation drops units, too
//     right    y = W2 dropout(relu(W1 x)) in training, without dropout in evaluation
//
// A few points with noisy labels: the sign of a teacher's weighted sum, with one label in five flipped. A wide layer can memorise
// them.
#include <algorithm>
#include <cmath>
#include <string>

#include "apps/lab/kit.h"
#include "nn/linear.h"

namespace heddle::lab::dropout_modes {
namespace {

constexpr std::int64_t features = 20, hidden = 256;
constexpr std::int64_t points = 200;  // to learn from
constexpr std::int64_t unseen_points = 1000;
constexpr double probability = 0.7;
constexpr std::int64_t steps = 300, judged_every = 10;

enum class Mode : std::uint8_t { right, never_applied, never_off };

struct Net : nn::Module {
    Net(std::uint64_t seed, Mode how) : Module(seed), mode(how) {}

    Variable logits(const Tensor& x) const {
        const Variable y = ops::relu(inner.forward(Variable(x)));
        return outer.forward(mode == Mode::never_applied ? y : ops::dropout(y, dropout(probability, "dropout")));
    }

    Mode mode;
    nn::Linear inner{*this, "inner", features, hidden};
    nn::Linear outer{*this, "outer", hidden, 2};
};

struct Points {
    Tensor x;       // [count, features]
    Tensor labels;  // i32 [count]
};

Points draw_points(std::int64_t count, const std::string& what, const Options& options) {
    Points drawn{normal({count, features}, 1, key(options, what)), Tensor::empty({count}, DType::i32)};
    const std::vector<double> teacher = normal({features}, 1, key(options, "teacher")).to_vector();
    Sequence noise(key(options, what + " noise"));
    for (std::int64_t i = 0; i < count; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < features; ++j)
            sum += teacher[static_cast<std::size_t>(j)] * drawn.x.data<float>()[i * features + j];
        drawn.labels.mutable_data<std::int32_t>()[i] = (sum > 0) != (noise.below(5) == 0);
    }
    return drawn;
}

// Evaluates without dropout, unless the variant never switches it off.
Tensor evaluate(Net& net, const Points& on) {
    const NoGrad no_grad;
    if (net.mode != Mode::never_off) net.eval();
    const Tensor logits = net.logits(on.x).value();
    net.train();
    return logits;
}

double loss_of(const Tensor& logits, const Points& on) {
    const NoGrad no_grad;
    return ops::cross_entropy(Variable(logits), on.labels).value().item();
}

struct Learned {
    std::vector<double> steps, seen, unseen;  // losses
    double difference = 0;                    // the largest change of a logit between two evaluations
    double turned = 0;                        // share of the answers that differ in the second evaluation
};

Learned learn(Mode mode, const Points& seen, const Points& unseen, const Options& options) {
    Net net(key(options, "model"), mode);
    Learned learned;
    const auto judge = [&](double step) {
        learned.steps.push_back(step);
        learned.seen.push_back(loss_of(evaluate(net, seen), seen));
        learned.unseen.push_back(loss_of(evaluate(net, unseen), unseen));
    };
    train(net, {.steps = steps, .lr = 1e-3}, [&](std::int64_t step) {
        if (step % judged_every == 0) judge(static_cast<double>(step));
        return ops::cross_entropy(net.logits(seen.x), seen.labels);
    });
    judge(steps);
    const std::vector<double> once = evaluate(net, unseen).to_vector(), again = evaluate(net, unseen).to_vector();
    for (std::size_t i = 0; i < once.size(); i += 2) {
        learned.difference = std::max({learned.difference, std::abs(once[i] - again[i]), std::abs(once[i + 1] - again[i + 1])});
        learned.turned += (once[i] > once[i + 1]) != (again[i] > again[i + 1]) ? 1.0 / unseen_points : 0;
    }
    return learned;
}

Result measure(const Options& options) {
    const Points seen = draw_points(points, "seen", options), unseen = draw_points(unseen_points, "unseen", options);
    Result result{.variants = {"in training", "never applied", "never off"},
                  .findings = {{"loss on unseen points"},
                               {"loss on its own points"},
                               {"answers that differ in two evaluations, %"},
                               {"largest change of a logit between them"}}};
    picture::LineChart charts[] = {
        {.title = "loss on unseen points",
         .x = {.label = "step"},
         .y = {.label = "nats"},
         .levels = {{"one in two", std::log(2.0)}}},
        {.title = "loss on the points to learn from", .x = {.label = "step"}, .y = {.label = "nats", .from = 0}}};
    for (const Mode mode : {Mode::right, Mode::never_applied, Mode::never_off}) {
        const Learned learned = learn(mode, seen, unseen, options);
        const std::string& name = result.variants[static_cast<std::size_t>(mode)];
        const double values[] = {learned.unseen.back(), learned.seen.back(), 100 * learned.turned, learned.difference};
        result.add(values);
        charts[0].series.push_back({.name = name, .x = learned.steps, .y = learned.unseen});
        charts[1].series.push_back({.name = name, .x = learned.steps, .y = learned.seen});
    }
    result.figures = {
        {svg(mistakes_first(charts[0])), "Each variant's own evaluation. One label in five is wrong, so no model reaches zero."},
        {svg(mistakes_first(charts[1])), "Without dropout the wrong labels are memorised as well."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "dropout-modes",
        .group = "Norm, dropout and training",
        .title = "dropout that is never applied, or never switched off",
        .caught_by = "DropoutPlaces.EachProbabilityActsInTrainingAloneAndNeverInEvaluation",
        .why =
            "Dropout makes a layer's units useful without each other, which keeps a wide layer from memorising its points; if it "
            "is defined but never applied, it has no effect, and nothing fails. If it stays on in evaluation, the loss is that "
            "of a thinned network: it is too high and differs from one evaluation to the next. The module records whether it is "
            "in training mode, every dropout checks that, and a test requires two evaluations to agree bit for bit and two "
            "training passes to differ.",
        .wrong = R"(
const double probability = 0.3;  // never used
const Variable hidden = ops::relu(inner.forward(x));
return outer.forward(hidden);
// or it is used, but evaluation runs without model.eval()
)",
        .right = R"(
const double probability = 0.3;
const Variable hidden = ops::relu(inner.forward(x));
// checks the module's mode: after model.eval() nothing is dropped
const DropoutMask drop = model.dropout(probability, "hidden");
return outer.forward(ops::dropout(hidden, drop));
)",
        .run = measure};
}

}  // namespace heddle::lab::dropout_modes
