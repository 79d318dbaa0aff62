// The loss computed as the logarithm of a softmax, in f32.
//
//     wrong    -log(softmax(x))_t
//     right    log(sum_j e^(x_j - m)) - (x_t - m): no probability is computed
#include <cmath>
#include <limits>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"

namespace heddle::lab::log_of_softmax {
namespace {

constexpr int gaps = 121;

struct Loss {
    double loss = 0;
    double gradient = 0;  // with respect to the target's logit
};

// For the first of two words, whose logit is `gap` below the other's.
Loss loss_at(double gap, bool composed) {
    const Variable logits(Tensor::from(std::vector<float>{0, static_cast<float>(gap)}, {1, 2}), true);
    const Variable loss = composed ? ops::neg(ops::sum(ops::slice(ops::log(ops::softmax(logits)), 1, 0, 1)))
                                   : ops::cross_entropy(logits, Tensor::zeros({1}, DType::i32));
    backward(loss);
    return {loss.value().item(), logits.grad().to_vector()[0]};
}

struct Run {
    std::vector<double> losses;
    std::vector<double> gradients;
    // The first integer gap where the value is NaN, or infinite; infinity if there is none.
    double first_nan = std::numeric_limits<double>::infinity();
    double first_infinite = std::numeric_limits<double>::infinity();
};

Run run(bool composed) {
    Run result;
    for (int gap = 0; gap < gaps; ++gap) {
        const Loss at = loss_at(gap, composed);
        result.losses.push_back(at.loss);
        result.gradients.push_back(at.gradient);
        if (std::isnan(at.gradient)) result.first_nan = std::min<double>(result.first_nan, gap);
        if (std::isinf(at.loss)) result.first_infinite = std::min<double>(result.first_infinite, gap);
    }
    return result;
}

Result measure(const Options&) {
    const Run fused = run(false), composed = run(true);
    const picture::LineChart losses{.title = "loss of a very improbable word",
                                    .x = {.label = "gap to the largest logit"},
                                    .y = {.label = "loss", .from = 0},
                                    .series = {curve("log-softmax", fused.losses), curve("log of softmax", composed.losses)}};
    const picture::LineChart gradients{
        .title = "gradient of its logit",
        .x = {.label = "gap to the largest logit"},
        .y = {.label = "gradient", .from = -1.2, .to = 0},
        .series = {curve("log-softmax", fused.gradients), curve("log of softmax", composed.gradients)}};
    return {.variants = {"log-softmax", "log of softmax"},
            .findings = {{"gradient at a gap of 90", {fused.gradients[90], composed.gradients[90]}},
                         {"loss at a gap of 90", {fused.losses[90], composed.losses[90]}},
                         {"loss at a gap of 104", {fused.losses[104], composed.losses[104]}},
                         {"smallest gap with a NaN gradient", {fused.first_nan, composed.first_nan}},
                         {"smallest gap with an infinite loss", {fused.first_infinite, composed.first_infinite}}},
            .figures = {{svg(mistakes_first(losses)), "The two agree until the probability is zero."},
                        {svg(mistakes_first(gradients)),
                         "The line of the composed gradient ends where it becomes NaN, long before the loss shows it."}}};
}

}  // namespace

Experiment experiment() {
    return {.name = "log-of-softmax",
            .group = "The loss",
            .title = "the logarithm of a softmax instead of a log-softmax, in f32",
            .caught_by = "LogSoftmax.StaysFiniteWhereTheProbabilityUnderflows",
            .why =
                "1 / e^-90 overflows f32, while e^-90 itself still has a logarithm: the loss looks fine, but its gradient "
                "involves infinity times zero, or infinity minus infinity, which is NaN. At e^-104 and below, the probability is "
                "zero and the loss infinite. The log-softmax subtracts logits, whose difference is just 90 or 104, and its "
                "gradient is p - 1.",
            .wrong = R"(
const Variable log_p = ops::log(ops::softmax(logits));
const Variable loss = ops::neg(ops::sum(ops::mul(one_hot, log_p)));
)",
            .right = R"(
const Variable log_p = ops::log_softmax(logits);
const Variable loss = ops::neg(ops::sum(ops::mul(one_hot, log_p)));
)",
            .run = measure};
}

}  // namespace heddle::lab::log_of_softmax
