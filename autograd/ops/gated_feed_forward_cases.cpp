// The cases of gated_feed_forward, whose kernels stand in kernels/feed_forward.
#include <fmt/format.h>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "core/dispatch.h"
#include "kernels/dropout/dropout.h"
#include "kernels/feed_forward/gated_feed_forward.h"

namespace heddle::gated_feed_forward_cases {
namespace {

using namespace cases;
using namespace kernels;

constexpr Activation kGates[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu};

// ---- the proof

std::vector<GradientCase> proofs() {
    std::vector<GradientCase> cases;
    // These numbers have no gate near ReLU's kink.
    const std::vector<Tensor> all = {random_input({4, 3}, 1), random_input({12, 3}, 2), random_input({12}, 3),
                                     random_input({5, 6}, 4), random_input({5}, 5)};
    for (const Activation gate : kGates)
        for (const double dropout : {0.0, 0.3})
            cases.push_back(
                {"gated_feed_forward", fmt::format("{}{}", word_of(gate), dropout > 0 ? ", dropout 0.3" : ""),
                 [=](auto in) { return ops::gated_feed_forward(in[0], in[1], in[2], in[3], in[4], gate, Dropout(dropout, 7)); },
                 all});
    cases.push_back({"gated_feed_forward",
                     "without biases",
                     [](auto in) { return ops::gated_feed_forward(in[0], in[1], {}, in[2], {}, Activation::silu); },
                     {all[0], all[1], all[3]}});
    return cases;
}

// ---- calls of the kernels

struct Network {
    std::int64_t rows, d_model, d_ff, out;
    bool biases = true;
};

// x, dy, w1, b1, w2, b2, then what the weights' gradients are added to.
Tensors inputs_of(const Network& at) {
    return {numbers({at.rows, at.d_model}, 1),
            numbers({at.rows, at.out}, 2),
            numbers({2 * at.d_ff, at.d_model}, 3, 0, 0.5),
            at.biases ? numbers({2 * at.d_ff}, 4) : Tensor(),
            numbers({at.out, at.d_ff}, 5, 0, 0.5),
            at.biases ? numbers({at.out}, 6) : Tensor(),
            numbers({2 * at.d_ff, at.d_model}, 7),
            numbers({2 * at.d_ff}, 8),
            numbers({at.out, at.d_ff}, 9),
            numbers({at.out}, 10)};
}

Tensors run(const Tensors& in, Activation gate, const Dropout& dropout) {
    const FeedForwardWeights weights{in[2], in[3], in[4], in[5]};
    FeedForwardWeights gradients{in[6], in[7], in[8], in[9]};
    const auto [y, hidden] = gated_feed_forward_forward(in[0], weights, gate, dropout, true);
    const Tensor dx = gated_feed_forward_backward(in[1], in[0], hidden, weights, gate, dropout, {}, gradients);
    return {y, hidden, dx, gradients.w1, gradients.b1, gradients.w2, gradients.b2};
}

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor product = a.clone();
    dispatch_float("times", a.dtype(), [&]<class T>(TypeTag<T>) {
        for (std::int64_t i = 0; i < a.numel(); ++i) product.mutable_data<T>()[i] *= b.data<T>()[i];
    });
    return product;
}

// The network as two projections and plain ops one after another. `kept` is applied to every tensor that is written: rounds it to
// bf16, or nothing.
Tensors in_steps(const Tensors& in, Activation gate, const Dropout& dropout, Tensor (*kept)(const Tensor&)) {
    const Tensor &x = in[0], &dy = in[1];
    const std::int64_t d_ff = in[4].cols();
    Tensors sums = clones({in[6], in[7], in[8], in[9]});
    const auto half = [&](const Tensor& both, std::int64_t i) {
        return both.defined() ? both.slice(i * d_ff, (i + 1) * d_ff).clone() : Tensor();
    };
    const Tensor g = kept(linear_forward(x, half(in[2], 0), half(in[3], 0)));
    const Tensor v = kept(linear_forward(x, half(in[2], 1), half(in[3], 1)));
    const Tensor value = activation_forward(g, gate), h = kept(dropout_forward(times(value, v), dropout));
    const Tensor dh = dropout_forward(kept(linear_backward_x(dy, in[4])), dropout);
    const Tensor dg = kept(activation_backward(times(dh, v), gate == Activation::relu ? value : g, gate));
    const Tensor dv = kept(times(dh, value));
    Tensor u = Tensor::empty({x.rows(), 2 * d_ff}, x.dtype()), du = u.clone(), dw = u.clone();
    dispatch_float("in_steps", x.dtype(), [&]<class T>(TypeTag<T>) {
        for (std::int64_t at = 0; at < u.numel(); ++at) {
            const std::int64_t row = at / (2 * d_ff), column = at % (2 * d_ff), from = row * d_ff + column % d_ff;
            u.mutable_data<T>()[at] = (column < d_ff ? g : v).template data<T>()[from];
            du.mutable_data<T>()[at] = (column < d_ff ? dg : dv).template data<T>()[from];
        }
    });
    linear_backward_weight(du, x, sums[0]);
    linear_backward_bias(du, sums[1]);
    linear_backward_weight(dy, h, sums[2]);
    linear_backward_bias(dy, sums[3]);
    return {kept(linear_forward(h, in[4], in[5])), u, kept(linear_backward_x(du, in[2])), sums[0], sums[1], sums[2], sums[3]};
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const Network& at : {Network{1, 8, 16, 8},
                              {33, 31, 33, 17},
                              {40, 16, 64, 24, false},
                              {0, 4, 8, 4},
                              {3, 0, 8, 4},
                              {5, 4, 1025, 3},
                              {9, 129, 40, 17},
                              {250, 32, 64, 32}})
        for (const Activation gate : kGates)
            for (const double p : {0.0, 0.3}) {
                const Dropout dropout(p, 77);
                cases.push_back(
                    {.what = fmt::format("{} rows, {} to {} to {}, {}, dropout {}", at.rows, at.d_model, at.d_ff, at.out,
                                         word_of(gate), p),
                     .inputs = inputs_of(at),
                     .run = [=](const Tensors& in) { return run(in, gate, dropout); },
                     .allowed = {.f64 = 1e-13, .f32 = 5e-6},
                     .formula = [=](const Tensors& in) { return in_steps(in, gate, dropout, [](const Tensor& x) { return x; }); },
                     .plain = [=](const Tensors& in) { return in_steps(in, gate, dropout, through_bf16); },
                     .offset = at.rows == 40 ? KernelCase::all_offset : KernelCase::no_offset,
                     .runs = at.rows > 200 ? RunsOn::on_the_cpu : RunsOn::everywhere,
                     .rounds_within = true,
                     .sums = at.d_model == 31 ? 4 : 0});
            }
    for (const Activation gate : kGates)
        for (const Network& at : {Network{33, 24, 40, 16}, {130, 32, 64, 32, false}})
            cases.push_back(
                {.what = fmt::format("forward alone, {} rows, {}", at.rows, word_of(gate)),
                 .inputs = inputs_of(at),
                 .run =
                     [gate](const Tensors& in) {
                         return Tensors{gated_feed_forward_forward(in[0], {in[2], in[3], in[4], in[5]}, gate, {}, false).y};
                     },
                 .allowed = {.f64 = 1e-13, .f32 = 5e-6},
                 .offset = KernelCase::no_offset,
                 .runs = at.rows > 100 ? RunsOn::on_the_cpu : RunsOn::everywhere,
                 .by_row = 1,
                 .nan = NanSpreads::over_its_row});
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(2, 2);
    const std::int64_t most = draw.alone() ? 20 : 3, d_ff = draw.between(1, most), out = draw.between(1, most);
    const Number w1 = draw.of({2 * d_ff, draw.shape_of(x).cols()}), w2 = draw.of({out, d_ff});
    const Number b1 = draw.chance(0.7) ? draw.of({2 * d_ff}) : kNone, b2 = draw.chance(0.7) ? draw.of({out}) : kNone;
    const auto gate = static_cast<Activation>(draw.between(0, 3));
    Step step{.inputs = {x, w1, b1, w2, b2}, .options = {{"activation", std::string(word_of(gate))}}};
    if (draw.chance(0.4)) draw.dropout(step, draw.shape_of(x).rows(), d_ff);
    return step;
}

// relu has a kink where a sum is zero.
bool suits(const Draw& draw, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    if (!draw.small(outputs)) return false;
    return step.options.at("activation") != "relu" || least_magnitude(linear_forward(in[0], in[1], in[2])) > 1e-3;
}

Outputs apply(const Step& step, Inputs in) {
    const Activation gate = value_of<Activation>(step.option<std::string>("activation")).value();
    return {ops::gated_feed_forward(in[0], in[1], in[2], in[3], in[4], gate, step.dropout())};
}

constexpr std::string_view kTorch = R"py(
x, w1, b1, w2, b2 = inputs
gate, up = F.linear(x, w1, b1).chunk(2, -1)
name = options["activation"]
gate = getattr(F, name)(gate) if name != "gelu-tanh" else F.gelu(gate, approximate="tanh")
return [F.linear(kept(gate * up, constants), w2, b2)]
)py";

// ---- what is timed: SwiGLU with dropout

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.rows(), d_model = on.d_model, d_ff = on.d_ff;
    const auto operations = static_cast<double>(6 * rows * d_model * d_ff);
    const auto traffic = on.bytes(static_cast<double>(2 * rows * d_model + 2 * rows * d_ff + 3 * d_model * d_ff));
    return {{.op = "gated_feed_forward",
             .what = fmt::format("[{}, {}], inner {}, silu, dropout", rows, d_model, d_ff),
             .make_run = [=]() -> Run {
                 const Variable x = leaf({rows, d_model}, on), w1 = leaf({2 * d_ff, d_model}, on), b1 = leaf({2 * d_ff}, on);
                 const Variable w2 = leaf({d_model, d_ff}, on), b2 = leaf({d_model}, on);
                 return
                     [=] { return ops::gated_feed_forward(fresh(x), w1, b1, w2, b2, Activation::silu, dropout_of_training()); };
             },
             .forward_operations = operations,
             .backward_operations = 2 * operations,
             .formula = "6 rows d_model d_ff forward, twice that backward",
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
        .name = "gated_feed_forward",
        .place = 18,
        .proofs = proofs,
        .kernels = kernel_cases,
        .functions = {{"gated_feed_forward", draw, apply, kTorch, suits}},
        .benches = {{.cases = bench, .place = 31, .sizes = "translator tiny"}},
        .example_place = 30,
        .examples = {
            {"gate", "the middle of a gated feed-forward network: silu(gate) times up", "rows, d_ff", {4, 64}, explain_gate}}};
}

}  // namespace heddle::gated_feed_forward_cases
