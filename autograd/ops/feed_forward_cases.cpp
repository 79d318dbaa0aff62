// The cases of feed_forward.
#include <fmt/format.h>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/activation/activation.h"
#include "kernels/dropout/dropout.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/linear/linear.h"

namespace heddle::feed_forward_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
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
    add("SiLU", ops::Activation::silu, 0);
    add("SiLU, dropout 0.3", ops::Activation::silu, 0.3);
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
    add_without_biases("SiLU without biases, dropout 0.3", ops::Activation::silu, 0.3);
    return cases;
}

// ---- calls of the kernels

// inputs of a feed-forward network: x, dy, w1, b1, w2, b2, then what their gradients are added to.
Tensors feed_forward_run(const Tensors& in, Activation activation, const Dropout& dropout) {
    const FeedForwardWeights weights{in[2], in[3], in[4], in[5]};
    FeedForwardWeights gradients{in[6], in[7], in[8], in[9]};
    const auto [y, hidden] = feed_forward_forward(in[0], weights, activation, dropout, true);
    const Tensor dx = feed_forward_backward(in[1], in[0], hidden, weights, activation, dropout, {}, gradients);
    return {y, hidden, dx, gradients.w1, gradients.b1, gradients.w2, gradients.b2};
}

// The plain bf16 computation: in f32 with every written tensor rounded.
Tensors plain_feed_forward(const Tensors& in, Activation activation, const Dropout& dropout) {
    const bool relu = activation == Activation::relu;
    const Tensor &x = in[0], &dy = in[1], &w1 = in[2], &w2 = in[4];
    Tensors gradients = clones({in[6], in[7], in[8], in[9]});
    const Tensor u = through_bf16(linear_forward(x, w1, in[3]));
    const Tensor h = through_bf16(dropout_forward(activation_forward(u, activation), dropout));
    const Tensor dh = dropout_forward(through_bf16(linear_backward_x(dy, w2)), dropout);
    const Tensor du = through_bf16(activation_backward(dh, relu ? h : u, activation));
    linear_backward_weight(du, x, gradients[0]);
    linear_backward_bias(du, gradients[1]);
    linear_backward_weight(dy, h, gradients[2]);
    linear_backward_bias(dy, gradients[3]);
    return {through_bf16(linear_forward(h, w2, in[5])),
            relu ? h : u,
            through_bf16(linear_backward_x(du, w1)),
            gradients[0],
            gradients[1],
            gradients[2],
            gradients[3]};
}

struct Network {
    std::int64_t rows, d_model, d_ff, out;
    bool biases = true;
    bool offset = false;
};

Tensors inputs_of(const Network& at) {
    const auto zeros = [](const Shape& shape) { return Tensor::zeros(shape, DType::f64); };
    return {numbers({at.rows, at.d_model}, 1),
            numbers({at.rows, at.out}, 2),
            numbers({at.d_ff, at.d_model}, 3, 0, 0.5),
            at.biases ? numbers({at.d_ff}, 4) : Tensor(),
            numbers({at.out, at.d_ff}, 5, 0, 0.5),
            at.biases ? numbers({at.out}, 6) : Tensor(),
            zeros({at.d_ff, at.d_model}),
            zeros({at.d_ff}),
            zeros({at.out, at.d_ff}),
            zeros({at.out})};
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const Network& at : {Network{1, 8, 16, 8},
                              {33, 31, 33, 17},
                              {33, 31, 33, 17, false, true},
                              {40, 16, 64, 24},
                              {40, 16, 64, 24, false},
                              {0, 4, 8, 4},
                              {3, 0, 8, 4},
                              {5, 4, 1025, 3},
                              {20, 136, 72, 40},
                              {20, 40, 72, 136, false},
                              {9, 129, 33, 17, true, true},
                              {5, 520, 40, 528},
                              {3, 513, 33, 515},
                              {250, 32, 64, 32}})
        for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
            for (const double p : {0.0, 0.3}) {
                const Dropout dropout(p, 77);
                cases.push_back({.what = std::to_string(at.rows) + " rows, " + std::to_string(at.d_model) + " to " +
                                         std::to_string(at.d_ff) + " to " + std::to_string(at.out) + ", activation " +
                                         std::to_string(static_cast<int>(activation)) + ", dropout " + std::to_string(p),
                                 .inputs = inputs_of(at),
                                 .run = [=](const Tensors& in) { return feed_forward_run(in, activation, dropout); },
                                 .allowed = {.f64 = 1e-13, .f32 = 5e-6},
                                 .plain = [=](const Tensors& in) { return plain_feed_forward(in, activation, dropout); },
                                 .offset = at.offset ? KernelCase::all_offset : KernelCase::no_offset,
                                 .runs = at.rows > 200 ? RunsOn::on_the_cpu : RunsOn::everywhere,
                                 .rounds_within = true,
                                 .sums = at.d_model == 31 ? 4 : 0});
            }
    for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
        // Nothing is kept: the GELU's tanh form in bf16 is then cuBLASLt's.
        const auto forward = [activation](const Tensors& in) {
            return Tensors{feed_forward_forward(in[0], {in[2], in[3], in[4], in[5]}, activation, {}, false).y};
        };
        for (const Network& at :
             {Network{33, 24, 40, 16}, {33, 24, 40, 16, false}, {33, 136, 40, 16}, {33, 136, 40, 16, false}, {5, 520, 16, 8}})
            cases.push_back({.what = "forward alone",
                             .inputs = inputs_of(at),
                             .run = forward,
                             .allowed = {.f64 = 1e-13, .f32 = 5e-6},
                             .offset = KernelCase::no_offset,
                             .by_row = 1,
                             .nan = NanSpreads::over_its_row});
        cases.push_back(cases.back());
        cases.back().inputs = inputs_of({250, 32, 64, 32});
        cases.back().runs = RunsOn::on_the_cpu;
    }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(2, 2);
    const std::int64_t most = draw.alone() ? 20 : 3, d_ff = draw.between(1, most), out = draw.between(1, most);
    const Number w1 = draw.of({d_ff, draw.shape_of(x).cols()}), w2 = draw.of({out, d_ff});
    const Number b1 = draw.chance(0.7) ? draw.of({d_ff}) : kNone, b2 = draw.chance(0.7) ? draw.of({out}) : kNone;
    const auto activation = static_cast<Activation>(draw.between(0, 3));
    Step step{.inputs = {x, w1, b1, w2, b2}, .options = {{"activation", std::string(word_of(activation))}}};
    if (draw.chance(0.4)) draw.dropout(step, draw.shape_of(x).rows(), d_ff);
    return step;
}

// relu(x w1^T + b1) has a kink where a sum is zero.
bool suits(const Draw&, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor>) {
    if (step.options.at("activation") != "relu") return true;
    return least_magnitude(linear_forward(in[0], in[1], in[2])) > 1e-3;
}

Outputs apply(const Step& step, Inputs in) {
    const Activation activation = value_of<Activation>(step.option<std::string>("activation")).value();
    return {ops::feed_forward(in[0], in[1], in[2], in[3], in[4], activation, step.dropout())};
}

constexpr std::string_view kTorch = R"py(
x, w1, b1, w2, b2 = inputs
hidden = F.linear(x, w1, b1)
name = options["activation"]
hidden = getattr(F, name)(hidden) if name != "gelu-tanh" else F.gelu(hidden, approximate="tanh")
return [F.linear(kept(hidden, constants), w2, b2)]
)py";

// ---- what is timed: with ReLU and dropout

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.rows(), d_model = on.d_model, d_ff = on.d_ff;
    const auto operations = static_cast<double>(4 * rows * d_model * d_ff);
    const auto traffic = on.bytes(static_cast<double>(2 * rows * d_model + rows * d_ff + 2 * d_model * d_ff));
    return {{.op = "feed_forward",
             .what = fmt::format("[{}, {}], inner {}, relu, dropout", rows, d_model, d_ff),
             .make_run = [=]() -> Run {
                 const Variable x = leaf({rows, d_model}, on), w1 = leaf({d_ff, d_model}, on), b1 = leaf({d_ff}, on);
                 const Variable w2 = leaf({d_model, d_ff}, on), b2 = leaf({d_model}, on);
                 return [=] { return ops::feed_forward(fresh(x), w1, b1, w2, b2, ops::Activation::relu, dropout_of_training()); };
             },
             .forward_operations = operations,
             .backward_operations = 2 * operations,
             .formula = "4 rows d_model d_ff forward, twice that backward",
             .forward_bytes = traffic,
             .backward_bytes = 2 * traffic}};
}

}  // namespace

OpCases table() {
    return {.name = "feed_forward",
            .place = 18,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"feed_forward", draw, apply, kTorch, suits}},
            .benches = {{.cases = bench, .place = 30, .sizes = "translator tiny"}}};
}

}  // namespace heddle::feed_forward_cases
