// The cases of the losses that are made of other ops.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"

namespace heddle::losses_cases {
namespace {

using namespace cases;

// ---- the proof

// Numbers between 0 and 1.
Tensor shares(const Shape& shape, std::uint64_t seed) {
    Tensor x = random_input(shape, seed);
    for (double& value : x.mutable_values<double>()) value = 0.5 + value / (2 + 2 * std::abs(value));
    return x;
}

// A captured tensor of numbers, as the function is called.
Tensor alike(const Variable& input, const Tensor& captured) { return beside(input, captured.to(input.dtype())); }

std::vector<GradientCase> proofs() {
    const Tensor x = random_input({3, 4}, 1), y = random_input({3, 4}, 2), p = shares({3, 4}, 3), q = shares({3, 4}, 4);
    const Tensor targets = Tensor::from<std::int32_t>({2, -1, 0}, {3}), weight = Tensor::from({0.5, 2.0, 1.0, 3.0}, {4});
    const Tensor per_row = Tensor::from({0.5, 2.0, 1.0}, {3, 1});
    const Tensor sparse = Tensor::from({0.0, 0.3, 0.7, 1.0, 0.0, 0.0}, {2, 3});
    return {
        {"mse_loss", "the mean", [](auto in) { return ops::mse_loss(in[0], in[1]); }, {x, y}},
        {"mse_loss", "each by itself", [](auto in) { return ops::mse_loss(in[0], in[1], Reduction::none); }, {x, y}},
        {"l1_loss", "the sum", [](auto in) { return ops::l1_loss(in[0], in[1], Reduction::sum); }, {x, y}},
        {"huber_loss", "within and outside of 0.8", [](auto in) { return ops::huber_loss(in[0], in[1], 0.8); }, {x, y}},
        {"huber_loss",
         "the sum of each batch",
         [](auto in) { return ops::huber_loss(in[0], in[1], 1, Reduction::batch_mean); },
         {x, y}},
        {"smooth_l1_loss", "within and outside of 0.7", [](auto in) { return ops::smooth_l1_loss(in[0], in[1], 0.7); }, {x, y}},
        {"bce_with_logits", "plain", [](auto in) { return ops::bce_with_logits(in[0], in[1]); }, {x, p}},
        {"bce_with_logits",
         "with both weights",
         [=](auto in) {
             return ops::bce_with_logits(
                 in[0], in[1],
                 {.weight = alike(in[0], per_row), .positive_weight = alike(in[0], weight), .reduction = Reduction::sum});
         },
         {x, p}},
        {"bce_loss", "plain", [](auto in) { return ops::bce_loss(in[0], in[1]); }, {q, p}},
        {"bce_loss",
         "with both weights",
         [=](auto in) {
             return ops::bce_loss(in[0], in[1], {.weight = alike(in[0], per_row), .positive_weight = alike(in[0], weight)});
         },
         {q, p}},
        {"nll_loss", "an ignored target", [=](auto in) { return ops::nll_loss(in[0], beside(in[0], targets)); }, {x}},
        {"nll_loss",
         "a class that is ignored, with a divisor",
         [=](auto in) { return ops::nll_loss(in[0], beside(in[0], targets.slice(0, 1)), {.ignore = 1, .divisor = 5}); },
         {x.slice(0, 1)}},
        {"kl_div",
         "the mean of the rows",
         [](auto in) { return ops::kl_div(in[0], in[1], {.reduction = Reduction::batch_mean}); },
         {x, p}},
        {"kl_div", "logarithms of the target", [](auto in) { return ops::kl_div(in[0], in[1], {.log_target = true}); }, {x, y}},
        {"kl_div",
         "some targets are 0",
         [=](auto in) { return ops::kl_div(in[0], alike(in[0], sparse)); },
         {random_input({2, 3}, 5)}},
    };
}

// ---- random calls

constexpr const char* kReductions[] = {"mean", "sum", "none", "batchmean"};

Reduction reduction_of(const Step& step) {
    const auto name = step.option<std::string>("reduction");
    for (int i = 0; i < 4; ++i)
        if (name == kReductions[i]) return static_cast<Reduction>(i);
    return Reduction::none;
}

// x and a target of its shape, and one of the first `reductions`.
Step two_of_one_shape(Draw& draw, int reductions) {
    const Number x = draw.any(reductions > 3 ? 1 : 0, 3);
    return Step{.inputs = {x, draw.of(draw.shape_of(x))},
                .options = {{"reduction", kReductions[draw.between(0, reductions - 1)]}}};
}

std::optional<Step> draw_distance(Draw& draw) { return two_of_one_shape(draw, 3); }

std::optional<Step> draw_huber(Draw& draw) {
    Step step = two_of_one_shape(draw, 3);
    step.options["delta"] = draw.uniform(0.3, 2);
    return step;
}

std::optional<Step> draw_divergence(Draw& draw) {
    Step step = two_of_one_shape(draw, 4);
    if (draw.chance(0.5)) {
        step.options["log_target"] = true;
    } else {
        step.options["log_target"] = false;
        step.inputs[1] = draw.positive(draw.shape_of(step.inputs[0]));
    }
    return step;
}

std::optional<Step> draw_nll(Draw& draw) {
    Step step{.inputs = {draw.any(2, 2)}};
    draw.loss(step, draw.shape_of(step.inputs[0]).rows(), draw.shape_of(step.inputs[0]).cols());
    step.options["label_smoothing"] = 0.0;
    return step;
}

// No two numbers are close to each other, where |x - y| has a kink; nor close to delta apart.
bool apart(const std::vector<Tensor>& in, double distance) {
    const std::vector<double> x = in[0].to_vector(), y = in[1].to_vector();
    for (std::size_t i = 0; i < x.size(); ++i)
        if (std::abs(std::abs(x[i] - y[i]) - distance) < 1e-3) return false;
    return true;
}

bool l1_suits(const Draw& draw, const Step&, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    return apart(in, 0) && draw.small(outputs);
}

bool huber_suits(const Draw& draw, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    return apart(in, step.option<double>("delta")) && draw.small(outputs);
}

// Probabilities near 1 have lost the digits of 1 - p.
bool bce_suits(const Draw& draw, const Step&, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    for (const double logit : in[0].to_vector())
        if (std::abs(logit) > 4) return false;
    return draw.small(outputs);
}

// PyTorch wants them between 0 and 1.
Variable probability(const Variable& x) { return ops::sigmoid(x); }

}  // namespace

OpCases table() {
    return {
        .name = "losses",
        .place = 18,
        .proofs = proofs,
        .functions = {
            {"mse_loss", draw_distance,
             [](const Step& s, Inputs in) -> Outputs { return {ops::mse_loss(in[0], in[1], reduction_of(s))}; },
             "return [F.mse_loss(*inputs, reduction=options['reduction'])]"},
            {"l1_loss", draw_distance,
             [](const Step& s, Inputs in) -> Outputs { return {ops::l1_loss(in[0], in[1], reduction_of(s))}; },
             "return [F.l1_loss(*inputs, reduction=options['reduction'])]", l1_suits},
            {"huber_loss", draw_huber,
             [](const Step& s, Inputs in) -> Outputs {
                 return {ops::huber_loss(in[0], in[1], s.option<double>("delta"), reduction_of(s))};
             },
             "return [F.huber_loss(*inputs, reduction=options['reduction'], delta=options['delta'])]", huber_suits},
            {"smooth_l1_loss", draw_huber,
             [](const Step& s, Inputs in) -> Outputs {
                 return {ops::smooth_l1_loss(in[0], in[1], s.option<double>("delta"), reduction_of(s))};
             },
             "return [F.smooth_l1_loss(*inputs, reduction=options['reduction'], beta=options['delta'])]", huber_suits},
            {"bce_with_logits", draw_distance,
             [](const Step& s, Inputs in) -> Outputs {
                 return {ops::bce_with_logits(in[0], probability(in[1]), {.reduction = reduction_of(s)})};
             },
             "return [F.binary_cross_entropy_with_logits(inputs[0], torch.sigmoid(inputs[1]), reduction=options['reduction'])]"},
            {"bce_loss", draw_distance,
             [](const Step& s, Inputs in) -> Outputs {
                 return {ops::bce_loss(probability(in[0]), probability(in[1]), {.reduction = reduction_of(s)})};
             },
             "return [F.binary_cross_entropy(torch.sigmoid(inputs[0]), torch.sigmoid(inputs[1]), "
             "reduction=options['reduction'])]",
             bce_suits},
            {"nll_loss", draw_nll,
             [](const Step& s, Inputs in) -> Outputs { return {ops::nll_loss(in[0], s.constant("targets"), s.loss())}; },
             R"py(
targets = constants["targets"].long()
counted = int((targets != options["ignore"]).sum())
return [F.nll_loss(inputs[0], targets, ignore_index=options["ignore"], reduction="sum") / (options["divisor"] or counted or 1)]
)py"},
            {"kl_div", draw_divergence,
             [](const Step& s, Inputs in) -> Outputs {
                 return {ops::kl_div(in[0], in[1], {.reduction = reduction_of(s), .log_target = s.option<bool>("log_target")})};
             },
             "return [F.kl_div(*inputs, reduction=options['reduction'], log_target=options['log_target'])]"}}};
}

}  // namespace heddle::losses_cases
