// The cases of rms_norm, whose kernels are those of kernels/layer_norm.
#include <cmath>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/layer_norm/layer_norm.h"

namespace heddle::rms_norm_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Dropout dropout(0.3, 41);
    const auto residual = [](const Dropout& drop, bool both) -> GradientFunction {
        return [=](auto in) {
            const auto out = ops::residual_rms_norm(in[0], in[1], in[2], 1e-6, drop);
            if (!both) return out.normalised;
            // A second residual joins the two, so that both gradients arrive at the first.
            return ops::residual_rms_norm(out.sum, out.normalised, in[2], 0.1).normalised;
        };
    };
    const auto inputs = [](std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
        return std::vector{random_input({rows, cols}, seed, 2), random_input({rows, cols}, seed + 1),
                           random_input({cols}, seed + 2)};
    };
    return {
        {"rms_norm",
         "plain",
         [](auto in) { return ops::rms_norm(in[0], in[1]); },
         {random_input({3, 7}, 51, 2), random_input({7}, 52)}},
        {"rms_norm",
         "three axes, a large eps",
         [](auto in) { return ops::rms_norm(in[0], in[1], 0.5); },
         {random_input({2, 2, 5}, 53), random_input({5}, 54)}},
        {"residual_rms_norm", "both outputs", residual({}, true), inputs(3, 5, 55)},
        {"residual_rms_norm", "both outputs, dropout 0.3", residual(dropout, true), inputs(3, 9, 58)},
        {"residual_rms_norm", "the normalised output alone, dropout 0.3", residual(dropout, false), inputs(2, 6, 61)},
    };
}

// ---- calls of the kernels

constexpr double kEps = 1e-6;

// y and rstd in plain loops.
Tensors plain_rms_norm(const Tensor& x, const Tensor& gamma) {
    Tensor y = x.clone(), rstd = Tensor::zeros({x.rows()}, DType::f64);
    for (std::int64_t row = 0; row < x.rows(); ++row) {
        double squares = 0;
        for (const double each : row_of(x, row)) squares += each * each;
        const double root = std::sqrt(squares / static_cast<double>(x.cols()) + kEps);
        rstd.mutable_data<double>()[row] = 1 / root;
        for (std::int64_t j = 0; j < x.cols(); ++j)
            y.mutable_data<double>()[row * x.cols() + j] =
                gamma.data<double>()[j] * row_of(x, row)[static_cast<std::size_t>(j)] / root;
    }
    return {y, rstd};
}

KernelCase forward_case(std::int64_t rows, std::int64_t cols) {
    return {.what = std::to_string(rows) + " x " + std::to_string(cols),
            .inputs = {numbers({rows, cols}, 1, 0.3, 2), numbers({cols}, 3, 1, 0.3)},
            .run =
                [](const Tensors& in) {
                    const LayerNormResult result = rms_norm_forward(in[0], in[1], kEps);
                    return Tensors{result.y, result.rstd};
                },
            .allowed = {.f64 = 1e-13, .f32 = 3e-6},
            .formula = [](const Tensors& in) { return plain_rms_norm(in[0], in[1]); },
            .offset = cols % 8 == 0 ? KernelCase::all_offset : KernelCase::no_offset,
            .by_row = 1,
            .nan = NanSpreads::over_its_row};
}

// The formula's gradients of x and gamma for dy, and what gamma's is added to.
Tensors plain_gradients(const Tensor& x, const Tensor& gamma, const Tensor& dy, const Tensor& d_sum, const Tensor& before) {
    const Tensor rstd = plain_rms_norm(x, gamma)[1];
    Tensor dx = x.clone(), dgamma = before.clone();
    for (std::int64_t row = 0; row < x.rows(); ++row) {
        const auto value = row_of(x, row), gradient = row_of(dy, row);
        const double factor = rstd.data<double>()[row];
        double mean = 0;
        for (std::size_t j = 0; j < value.size(); ++j) {
            mean += gamma.data<double>()[j] * gradient[j] * value[j] * factor / static_cast<double>(value.size());
            dgamma.mutable_data<double>()[j] += gradient[j] * value[j] * factor;
        }
        for (std::size_t j = 0; j < value.size(); ++j)
            dx.mutable_data<double>()[static_cast<std::size_t>(row * x.cols()) + j] =
                factor * (gamma.data<double>()[j] * gradient[j] - value[j] * factor * mean) +
                (d_sum.defined() ? row_of(d_sum, row)[j] : 0);
    }
    return {dx, dgamma};
}

KernelCase backward_case(std::int64_t rows, std::int64_t cols) {
    KernelCase made = forward_case(rows, cols);
    made.what += ", backward";
    made.inputs.insert(made.inputs.end(), {numbers({rows, cols}, 5), Tensor::full({cols}, 0.5, DType::f64)});
    made.run = [](const Tensors& in) {
        const LayerNormResult forward = rms_norm_forward(in[0], in[1], kEps);
        const Tensor dx = rms_norm_backward(in[2], in[0], in[1], forward.rstd, true, in[3]);
        return Tensors{dx, in[3]};
    };
    made.formula = [](const Tensors& in) { return plain_gradients(in[0], in[1], in[2], {}, in[3]); };
    made.allowed = {.f64 = 1e-12, .f32 = 2e-5};
    made.rounds_within = true;
    made.sums = 1;
    made.by_row = 0;
    made.nan = NanSpreads::unknown;
    return made;
}

// Behind a residual connection with dropout: sum, y, dx, d_sublayer and dgamma.
KernelCase residual_case(std::int64_t rows, std::int64_t cols, bool with_sum) {
    const Dropout dropout(with_sum ? 0.3 : 0.0, 99);
    KernelCase made = backward_case(rows, cols);
    made.what += with_sum ? " behind dropout, with a gradient of the sum" : " behind a residual connection";
    made.inputs.insert(made.inputs.end(), {numbers({rows, cols}, 6), numbers({rows, cols}, 7)});
    made.run = [=](const Tensors& in) {
        const LayerNormResult forward = residual_rms_norm_forward(in[0], in[4], in[1], kEps, dropout);
        const auto [dx, d_sublayer] = residual_rms_norm_backward(with_sum ? in[5] : Tensor(), in[2], forward.sum, in[1],
                                                                 forward.rstd, dropout, true, in[3]);
        return Tensors{forward.sum, forward.y, dx, d_sublayer, in[3]};
    };
    made.formula = [=](const Tensors& in) {
        const Tensor sum = plain_residual(in[0], in[4], dropout);
        const Tensors gradients = plain_gradients(sum, in[1], in[2], with_sum ? in[5] : Tensor(), in[3]);
        return Tensors{sum, plain_rms_norm(sum, in[1])[0], gradients[0], plain_residual({}, gradients[0], dropout), gradients[1]};
    };
    made.sums = 0;
    made.offset = KernelCase::no_offset;
    return made;
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    // Narrow and wide rows of every vector width, and both ways through shared memory.
    for (const auto& [rows, cols] : {std::pair{1, 1},
                                     {3, 32},
                                     {33, 33},
                                     {70, 127},
                                     {2, 512},
                                     {5, 129},
                                     {37, 24},
                                     {0, 8},
                                     {3, 264},
                                     {3, 1024},
                                     {2, 1025},
                                     {2, 1032},
                                     {33, 520},
                                     {3, 4096},
                                     {2, 4104}}) {
        cases.push_back(forward_case(rows, cols));
        if (cols == 1) continue;  // dx is 0 but for eps and rounding, which has no scale to be compared with
        cases.push_back(backward_case(rows, cols));
        for (const bool with_sum : {false, true}) cases.push_back(residual_case(rows, cols, with_sum));
    }
    cases.push_back(backward_case(300, 48));
    cases.push_back(forward_case(1, 24592));  // read again
    for (KernelCase* one : {&cases.back(), &cases[cases.size() - 2]}) {
        one->offset = KernelCase::no_offset;
        one->runs = RunsOn::unwatched;
    }
    return cases;
}

// ---- random calls

std::optional<Step> draw(Draw& draw) {
    Step step{.inputs = draw.with_row(draw.any(1, 3))};
    step.options["eps"] = draw.chance(0.5) ? 1e-6 : draw.uniform(0.01, 1);
    return step;
}

std::optional<Step> draw_residual(Draw& draw) {
    const Number x = draw.any(2, 2);
    const Shape shape = draw.shape_of(x);
    const Number sublayer = draw.of(shape);
    Step step{.inputs = {x, sublayer, draw.of({shape.cols()})},
              .options = {{"eps", draw.chance(0.5) ? 1e-6 : draw.uniform(0.01, 1)}}};
    if (draw.chance(0.5)) draw.dropout(step, shape.rows(), shape.cols());
    return step;
}

bool suits(const Draw& draw, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    return rows_vary(in[0], step.options.at("eps")) && draw.small(outputs);
}

bool residual_suits(const Draw& draw, const Step& step, const std::vector<Tensor>&, std::span<const Tensor> outputs) {
    return rows_vary(outputs[0], step.options.at("eps")) && draw.small(outputs);
}

Outputs apply_residual(const Step& step, Inputs in) {
    const auto both = ops::residual_rms_norm(in[0], in[1], in[2], step.options.at("eps"), step.dropout());
    return {both.sum, both.normalised};
}

constexpr std::string_view kTorch = R"py(
x, gamma = inputs
return [gamma * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + options["eps"])]
)py";

constexpr std::string_view kTorchResidual = R"py(
x, sublayer, gamma = inputs
both = x + kept(sublayer, constants)
return [both, gamma * both * torch.rsqrt(both.square().mean(-1, keepdim=True) + options["eps"])]
)py";

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    return {row_case(on, "rms_norm", "", 2, 3, [](const RowInputs& in) { return ops::rms_norm(fresh(in.x), in.gamma); })};
}

std::vector<BenchCase> bench_residual(const BenchSetting& on) {
    return {row_case(on, "residual_rms_norm", ", dropout", 4, 4, [](const RowInputs& in) {
        return ops::residual_rms_norm(fresh(in.x), fresh(in.y), in.gamma, 1e-6, dropout_of_training()).normalised;
    })};
}

// ---- what is explained

void explain_rms_norm(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1)), gamma = s.input("gamma", row(d[1], 2));
    LayerNormResult result;
    s.trace([&] { result = rms_norm_forward(x, gamma, kEps); });
    s.name("y", result.y);
    s.name("rstd", result.rstd);
}

}  // namespace

OpCases table() {
    return {
        .name = "rms_norm",
        .place = 16,
        .proofs = proofs,
        .kernels = kernel_cases,
        .large = true,
        .functions = {{"rms_norm", draw,
                       [](const Step& s, Inputs in) -> Outputs { return {ops::rms_norm(in[0], in[1], s.option<double>("eps"))}; },
                       kTorch, suits},
                      {"residual_rms_norm", draw_residual, apply_residual, kTorchResidual, residual_suits}},
        .benches = {{.cases = bench, .place = 101}, {.cases = bench_residual, .place = 131}},
        .example_place = 20,
        .examples = {{"rms-norm", "RMS normalisation of each row", "rows, cols", {4, 64}, explain_rms_norm}}};
}

}  // namespace heddle::rms_norm_cases
