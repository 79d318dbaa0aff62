// The cases of feed_forward and gated_feed_forward.
#include <fmt/format.h>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/concat/concat.h"
#include "kernels/dropout/dropout.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/feed_forward/gated_feed_forward.h"

namespace heddle::feed_forward_cases {
namespace {

using namespace cases;
using namespace kernels;

constexpr Activation kActivations[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu};

const char* name_of(bool gated) { return gated ? "gated_feed_forward" : "feed_forward"; }

Variable network(bool gated, const Variable& x, const Variable& w1, const Variable& b1, const Variable& w2, const Variable& b2,
                 Activation activation, const DropoutMask& dropout) {
    return (gated ? ops::gated_feed_forward : ops::feed_forward)(x, w1, b1, w2, b2, activation, dropout, Where::current());
}

// ---- the proof

std::vector<GradientCase> proofs() {
    std::vector<GradientCase> cases;
    for (const bool gated : {false, true}) {
        const std::int64_t rows = gated ? 12 : 6;
        const std::vector<Tensor> all = {random_input({4, 3}, 1), random_input({rows, 3}, 2), random_input({rows}, 3),
                                         random_input({5, 6}, 4), random_input({5}, 5)};
        // These numbers have no hidden value near ReLU's kink.
        const std::vector<Tensor> no_biases = {random_input({4, 3}, 6), all[1], all[3]};
        for (const Activation activation : kActivations)
            for (const double dropout : {0.0, 0.3}) {
                const std::string what = fmt::format("{}{}", word_of(activation), dropout > 0 ? ", dropout 0.3" : "");
                const DropoutMask mask(dropout, 7);
                cases.push_back({name_of(gated), what,
                                 [=](auto in) { return network(gated, in[0], in[1], in[2], in[3], in[4], activation, mask); },
                                 all});
                const bool relu = activation == Activation::relu, dropped = dropout > 0;
                if (gated ? activation != Activation::silu || !dropped : relu == dropped) continue;
                cases.push_back({name_of(gated), what + " without biases",
                                 [=](auto in) { return network(gated, in[0], in[1], {}, in[2], {}, activation, mask); },
                                 no_biases});
            }
    }
    return cases;
}

// ---- calls of the kernels

struct Network {
    std::int64_t rows, d_model, d_ff, out;
    bool biases = true;
    bool offset = false;
};

// x, dy, w1, b1, w2, b2, then what the weights' gradients are added to.
Tensors inputs_of(const Network& at, bool gated) {
    const std::int64_t hidden = gated ? 2 * at.d_ff : at.d_ff;
    return {numbers({at.rows, at.d_model}, 1),
            numbers({at.rows, at.out}, 2),
            numbers({hidden, at.d_model}, 3, 0, 0.5),
            at.biases ? numbers({hidden}, 4) : Tensor(),
            numbers({at.out, at.d_ff}, 5, 0, 0.5),
            at.biases ? numbers({at.out}, 6) : Tensor(),
            numbers({hidden, at.d_model}, 7),
            numbers({hidden}, 8),
            numbers({at.out, at.d_ff}, 9),
            numbers({at.out}, 10)};
}

Tensors run(const Tensors& in, bool gated, Activation activation, const Dropout& dropout) {
    const FeedForwardWeights weights{in[2], in[3], in[4], in[5]};
    FeedForwardWeights gradients{in[6], in[7], in[8], in[9]};
    const auto [y, hidden] =
        (gated ? gated_feed_forward_forward : feed_forward_forward)(in[0], weights, activation, dropout, true);
    const Tensor dx = (gated ? gated_feed_forward_backward : feed_forward_backward)(in[1], in[0], hidden, weights, activation,
                                                                                    dropout, {}, gradients);
    return {y, hidden, dx, gradients.w1, gradients.b1, gradients.w2, gradients.b2};
}

// The network as plain ops one after another. `kept` is applied to every tensor that is written: rounds it to bf16, or nothing.
Tensors in_steps(const Tensors& in, bool gated, Activation activation, const Dropout& dropout, Tensor (*kept)(const Tensor&)) {
    const Tensor &x = in[0], &dy = in[1];
    const bool relu = activation == Activation::relu;
    const std::int64_t d_ff = in[4].cols();
    const auto projection = [&](std::int64_t part) {
        const auto rows = [&](const Tensor& of) {
            return of.defined() ? of.slice(part * d_ff, (part + 1) * d_ff).clone() : Tensor();
        };
        return kept(linear_forward(x, rows(in[2]), rows(in[3])));
    };
    const Tensor u = projection(0), act = activation_forward(u, activation), up = gated ? projection(1) : Tensor();
    const Tensor h = kept(dropout_forward(gated ? mul(act, up) : act, dropout));
    const Tensor dh = dropout_forward(kept(linear_backward_x(dy, in[4])), dropout);
    Tensor du = kept(activation_backward(gated ? mul(dh, up) : dh, relu ? act : u, activation));
    if (gated) du = concat_forward(std::vector{du, kept(mul(dh, act))}, 1);
    Tensors sums = clones({in[6], in[7], in[8], in[9]});
    linear_backward_weight(du, x, sums[0]);
    linear_backward_bias(du, sums[1]);
    linear_backward_weight(dy, h, sums[2]);
    linear_backward_bias(dy, sums[3]);
    return {kept(linear_forward(h, in[4], in[5])),
            gated  ? concat_forward(std::vector{u, up}, 1)
            : relu ? h
                   : u,
            kept(linear_backward_x(du, in[2])),
            sums[0],
            sums[1],
            sums[2],
            sums[3]};
}

void add_network(std::vector<KernelCase>& cases, const Network& at, bool gated) {
    for (const Activation activation : kActivations)
        for (const double p : {0.0, 0.3}) {
            const Dropout dropout(p, 77);
            cases.push_back({.what = fmt::format("{}{} rows, {} to {} to {}, {}, dropout {}", gated ? "gated, " : "", at.rows,
                                                 at.d_model, at.d_ff, at.out, word_of(activation), p),
                             .inputs = inputs_of(at, gated),
                             .run = [=](const Tensors& in) { return run(in, gated, activation, dropout); },
                             .allowed = {.f64 = 1e-13, .f32 = 5e-6},
                             .formula =
                                 [=](const Tensors& in) {
                                     return in_steps(in, gated, activation, dropout, [](const Tensor& x) { return x; });
                                 },
                             .plain = [=](const Tensors& in) { return in_steps(in, gated, activation, dropout, through_bf16); },
                             .offset = at.offset ? KernelCase::all_offset : KernelCase::no_offset,
                             .runs = at.rows > 200 ? RunsOn::on_the_cpu : RunsOn::everywhere,
                             .rounds_within = true,
                             .sums = at.d_model == 31 && at.d_ff == 33 ? 4 : 0});
        }
}

// Nothing is kept: the GELU's tanh form in bf16 is then cuBLASLt's.
void add_forward(std::vector<KernelCase>& cases, const Network& at, bool gated) {
    for (const Activation activation : kActivations)
        cases.push_back(
            {.what = fmt::format("{}, forward alone, {} rows, {}", name_of(gated), at.rows, word_of(activation)),
             .inputs = inputs_of(at, gated),
             .run =
                 [=](const Tensors& in) {
                     const FeedForwardWeights weights{in[2], in[3], in[4], in[5]};
                     return Tensors{
                         (gated ? gated_feed_forward_forward : feed_forward_forward)(in[0], weights, activation, {}, false).y};
                 },
             .allowed = {.f64 = 1e-13, .f32 = 5e-6},
             .offset = KernelCase::no_offset,
             .runs = at.rows > 100 ? RunsOn::on_the_cpu : RunsOn::everywhere,
             .by_row = 1,
             .nan = at.d_ff > 0 ? NanSpreads::over_its_row : NanSpreads::unknown});
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
                              {3, 8, 0, 8},
                              {0, 136, 8, 136},
                              {3, 0, 8, 136},
                              {3, 136, 8, 0},
                              {5, 4, 1025, 3},
                              {20, 136, 72, 40},
                              {20, 40, 72, 136, false},
                              {9, 129, 33, 17, true, true},
                              {5, 520, 40, 528},
                              {3, 513, 33, 515},
                              {65, 120, 136, 128, false},
                              {70, 32, 200, 48},
                              {33, 31, 193, 17},
                              {130, 131, 136, 67},
                              {20, 264, 40, 328, false},
                              {250, 32, 64, 32}})
        add_network(cases, at, false);
    for (const Network& at : {Network{1, 8, 16, 8},
                              {33, 31, 33, 17},
                              {40, 16, 64, 24, false, true},
                              {0, 4, 8, 4},
                              {3, 0, 8, 4},
                              {5, 4, 1025, 3},
                              {9, 129, 40, 17},
                              {250, 32, 64, 32}})
        add_network(cases, at, true);
    for (const Network& at : {Network{33, 24, 40, 16},
                              {33, 24, 40, 16, false},
                              {33, 136, 40, 16},
                              {33, 136, 40, 16, false},
                              {5, 520, 16, 8},
                              {65, 120, 136, 128, false},
                              {33, 31, 193, 17},
                              {20, 67, 33, 35},  // wide, and copied one number at a time
                              {0, 8, 8, 8},
                              {3, 0, 8, 4},
                              {3, 8, 0, 8},
                              {250, 32, 64, 32}})
        add_forward(cases, at, false);
    for (const Network& at : {Network{33, 24, 40, 16}, {130, 32, 64, 32, false}}) add_forward(cases, at, true);
    return cases;
}

// ---- random calls

template <bool gated>
std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(2, 2);
    const std::int64_t most = draw.alone() ? 20 : 3, d_ff = draw.between(1, most), out = draw.between(1, most);
    const std::int64_t hidden = gated ? 2 * d_ff : d_ff;
    const Number w1 = draw.of({hidden, draw.shape_of(x).cols()}), w2 = draw.of({out, d_ff});
    const Number b1 = draw.chance(0.7) ? draw.of({hidden}) : kNone, b2 = draw.chance(0.7) ? draw.of({out}) : kNone;
    const auto activation = static_cast<Activation>(draw.between(0, 3));
    Step step{.inputs = {x, w1, b1, w2, b2}, .options = {{"activation", std::string(word_of(activation))}}};
    if (draw.chance(0.4)) draw.dropout(step, draw.shape_of(x).rows(), d_ff);
    return step;
}

// relu(x w1^T + b1) has a kink where a sum is zero.
bool suits(const Draw& draw, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    if (!draw.small(outputs)) return false;
    return step.options.at("activation") != "relu" || least_magnitude(linear_forward(in[0], in[1], in[2])) > 1e-3;
}

template <bool gated>
Outputs apply(const Step& step, Inputs in) {
    const Activation activation = value_of<Activation>(step.option<std::string>("activation")).value();
    return {network(gated, in[0], in[1], in[2], in[3], in[4], activation, step.dropout())};
}

constexpr std::string_view kTorch = R"py(
x, w1, b1, w2, b2 = inputs
hidden = F.linear(x, w1, b1)
name = options["activation"]
hidden = getattr(F, name)(hidden) if name != "gelu-tanh" else F.gelu(hidden, approximate="tanh")
return [F.linear(kept(hidden, constants), w2, b2)]
)py";

constexpr std::string_view kTorchGated = R"py(
x, w1, b1, w2, b2 = inputs
gate, up = F.linear(x, w1, b1).chunk(2, -1)
name = options["activation"]
gate = getattr(F, name)(gate) if name != "gelu-tanh" else F.gelu(gate, approximate="tanh")
return [F.linear(kept(gate * up, constants), w2, b2)]
)py";

// ---- what is timed: ReLU, and SwiGLU, with dropout

template <bool gated>
std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.rows(), d_model = on.d_model, d_ff = on.d_ff, hidden = gated ? 2 * d_ff : d_ff;
    const Activation activation = gated ? Activation::silu : Activation::relu;
    const int products = gated ? 3 : 2;  // of [d_ff, d_model]
    const auto operations = static_cast<double>(2 * products * rows * d_model * d_ff);
    const auto traffic = on.bytes(static_cast<double>(2 * rows * d_model + rows * hidden + products * d_model * d_ff));
    return {{.op = name_of(gated),
             .what = fmt::format("[{}, {}], inner {}, {}, dropout", rows, d_model, d_ff, word_of(activation)),
             .make_run = [=]() -> Run {
                 const Variable x = leaf({rows, d_model}, on), w1 = leaf({hidden, d_model}, on), b1 = leaf({hidden}, on);
                 const Variable w2 = leaf({d_model, d_ff}, on), b2 = leaf({d_model}, on);
                 return [=] { return network(gated, fresh(x), w1, b1, w2, b2, activation, dropout_of_training()); };
             },
             .forward_operations = operations,
             .backward_operations = 2 * operations,
             .formula = fmt::format("{} rows d_model d_ff forward, twice that backward", 2 * products),
             .forward_bytes = traffic,
             .backward_bytes = 2 * traffic}};
}

// ---- what is explained

void explain_gate(Session& s, Extents d) {
    const Tensor u = s.input("u", randn({d[0], 2 * d[1]}, 1));
    Tensor h = s.input("h", Tensor::zeros(Shape(d)));
    s.trace([&] { gate_cuda(u, Activation::silu, {}, h); });
}

}  // namespace

OpCases table() {
    return {
        .name = "feed_forward",
        .place = 18,
        .proofs = proofs,
        .kernels = kernel_cases,
        .functions = {{"feed_forward", draw<false>, apply<false>, kTorch, suits},
                      {"gated_feed_forward", draw<true>, apply<true>, kTorchGated, suits}},
        .benches = {{.cases = bench<false>, .place = 30, .sizes = "translator tiny"},
                    {.cases = bench<true>, .place = 31, .sizes = "translator tiny"}},
        .example_place = 30,
        .examples = {
            {"gate", "the middle of a gated feed-forward network: silu(gate) times up", "rows, d_ff", {4, 64}, explain_gate}}};
}

}  // namespace heddle::feed_forward_cases
