// The cases of layer_norm.
#include <cmath>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/layer_norm/layer_norm.h"

namespace heddle::layer_norm_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<Tensor> norm_inputs(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    return {random_input({rows, cols}, seed, 2), random_input({cols}, seed + 1), random_input({cols}, seed + 2)};
}

std::vector<Tensor> residual_inputs(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    std::vector<Tensor> inputs = norm_inputs(rows, cols, seed);
    inputs.insert(inputs.begin() + 1, random_input({rows, cols}, seed + 3));
    return inputs;
}

GradientFunction norm(double eps) {
    return [eps](std::span<const Variable> in) { return ops::layer_norm(in[0], in[1], in[2], eps); };
}

enum class Used { sum, normalised, both };

GradientFunction residual_norm(const Dropout& dropout, Used used) {
    return [=](std::span<const Variable> in) {
        const auto out = ops::residual_layer_norm(in[0], in[1], in[2], in[3], 1e-5, dropout);
        if (used == Used::sum) return out.sum;
        if (used == Used::normalised) return out.normalised;
        // A second residual joins the two, so that both gradients arrive at the first.
        return ops::residual_layer_norm(out.sum, out.normalised, in[2], in[3], 0.1).normalised;
    };
}

std::vector<GradientCase> proofs() {
    const Dropout dropout(0.3, 41);
    return {
        {"layer_norm", "plain", norm(1e-5), norm_inputs(3, 7, 21)},
        {"layer_norm", "two columns, a large eps", norm(0.5), norm_inputs(4, 2, 24)},
        {"layer_norm", "three axes", norm(1e-5), {random_input({2, 2, 5}, 27), random_input({5}, 28), random_input({5}, 29)}},
        {"residual_layer_norm", "both outputs", residual_norm({}, Used::both), residual_inputs(3, 5, 30)},
        {"residual_layer_norm", "both outputs, dropout 0.3", residual_norm(dropout, Used::both), residual_inputs(3, 9, 34)},
        {"residual_layer_norm", "the normalised output alone, dropout 0.3", residual_norm(dropout, Used::normalised),
         residual_inputs(2, 6, 38)},
        {"residual_layer_norm",
         "the sum alone, dropout 0.3",
         residual_norm(dropout, Used::sum),
         residual_inputs(2, 6, 42),
         {.zero_by_symmetry = {2, 3}}},
    };
}

// ---- calls of the kernels

constexpr double kEps = 1e-5;

struct Rows {
    std::int64_t rows, cols;
    bool shifted = false;  ///< a large mean
};

std::string text(const Rows& one) {
    return std::to_string(one.rows) + " x " + std::to_string(one.cols) + (one.shifted ? ", shifted" : "");
}

// y, mean and rstd in plain loops.
Tensors plain_layer_norm(const Tensors& in) {
    const Tensor &x = in[0], &gamma = in[1], &beta = in[2];
    const std::int64_t n = x.cols();
    Tensor y = x.clone(), means = Tensor::zeros({x.rows()}, DType::f64), rstds = means.clone();
    for (std::int64_t row = 0; row < x.rows(); ++row) {
        const double* from = x.data<double>() + row * n;
        double mean = 0, variance = 0;
        for (std::int64_t j = 0; j < n; ++j) mean += from[j] / static_cast<double>(n);
        for (std::int64_t j = 0; j < n; ++j) variance += (from[j] - mean) * (from[j] - mean) / static_cast<double>(n);
        means.mutable_data<double>()[row] = mean;
        rstds.mutable_data<double>()[row] = 1 / std::sqrt(variance + kEps);
        for (std::int64_t j = 0; j < n; ++j)
            y.mutable_data<double>()[row * n + j] =
                gamma.data<double>()[j] * (from[j] - mean) / std::sqrt(variance + kEps) + beta.data<double>()[j];
    }
    return {y, means, rstds};
}

KernelCase layer_norm_forward_case(const Rows& one, const Allowed& allowed) {
    const auto run = [](const Tensors& in) {
        const LayerNormResult result = layer_norm_forward(in[0], in[1], in[2], kEps);
        return Tensors{result.y, result.mean, result.rstd};
    };
    return {.what = text(one),
            .inputs = {numbers({one.rows, one.cols}, 1, one.shifted ? 300 : 0.3, 2), numbers({one.cols}, 3, 1, 0.3),
                       numbers({one.cols}, 4)},
            .run = run,
            .allowed = allowed,
            .plain = run,
            // Rows of an odd number of elements are not aligned as they are.
            .offset = one.cols % 8 == 0 && one.rows < 40 ? KernelCase::all_offset : KernelCase::no_offset,
            .by_row = 1,
            .nan = NanSpreads::over_its_row};
}

// dx, dgamma and dbeta; the last two are added to what is there.
KernelCase layer_norm_backward_case(const Rows& one, const Allowed& allowed) {
    const auto run = [](const Tensors& in) {
        const LayerNormResult forward = layer_norm_forward(in[0], in[1], in[2], kEps);
        const Tensor dx = layer_norm_backward(in[3], in[0], in[1], forward.mean, forward.rstd, true, in[4], in[5]);
        return Tensors{dx, in[4], in[5]};
    };
    KernelCase made = layer_norm_forward_case(one, allowed);
    made.what += ", backward";
    made.inputs.insert(made.inputs.end(), {numbers({one.rows, one.cols}, 5), Tensor::full({one.cols}, 0.5, DType::f64),
                                           Tensor::full({one.cols}, -2, DType::f64)});
    made.run = made.plain = run;
    made.rounds_within = true;
    made.sums = 2;
    made.by_row = 0;
    made.nan = NanSpreads::unknown;
    return made;
}

// The gradients of the form behind a residual connection: dx, d_sublayer, dgamma, dbeta.
KernelCase residual_backward_case(const Rows& one, const Allowed& allowed, bool with_sum) {
    const auto run = [with_sum](const Tensors& in) {
        const LayerNormResult forward = layer_norm_forward(in[0], in[1], in[2], kEps);
        const auto [dx, d_sublayer] =
            residual_layer_norm_backward(with_sum ? in[6] : Tensor(), in[3], in[0], in[1], forward.mean, forward.rstd,
                                         Dropout(with_sum ? 0.3 : 0.0, 99), true, in[4], in[5]);
        return Tensors{dx, d_sublayer, in[4], in[5]};
    };
    KernelCase made = layer_norm_backward_case(one, allowed);
    made.what += with_sum ? " behind dropout, with a gradient of the sum" : " behind a residual connection";
    made.inputs.push_back(numbers({one.rows, one.cols}, 6));
    made.run = made.plain = run;
    made.sums = 0;
    return made;
}

// dgamma and dbeta alone, of many rows with given means.
KernelCase layer_norm_sums_case(const Rows& one) {
    KernelCase made = layer_norm_backward_case(one, {.f64 = 1e-11, .f32 = 2e-5});
    const LayerNormResult forward = layer_norm_forward(made.inputs[0], made.inputs[1], made.inputs[2], kEps);
    made.what += ", sums alone";
    made.rounds_within = false;  // f32 sums beside bf16 rows are judged as f32
    made.run = made.plain = [forward](const Tensors& in) {
        const auto there = [&](const Tensor& tensor) {
            return tensor.to(in[0].dtype() == DType::f64 ? DType::f64 : DType::f32).to(in[0].device());
        };
        layer_norm_backward(in[3], in[0], in[1], there(forward.mean), there(forward.rstd), false, in[4], in[5]);
        return Tensors{in[4], in[5]};
    };
    made.offset = KernelCase::no_offset;
    made.runs = RunsOn::unwatched;
    made.in_bf16 = one.cols != 257;
    return made;
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const std::int64_t cols : {1, 2, 31, 32, 33, 127, 128, 512, 1025}) {
        cases.push_back(layer_norm_forward_case({5, cols}, {.f64 = 1e-12, .f32 = 3e-6}));
        cases.back().on_cpu = Allowed{1e-13, 2e-6};
        cases.back().formula = plain_layer_norm;
    }
    // Narrow and wide rows of every vector width, and both ways through shared memory.
    for (const Rows& one : {Rows{1, 1},
                            {3, 32},
                            {33, 33},
                            {70, 127},
                            {2, 512, true},
                            {5, 129, true},
                            {37, 24, true},
                            {0, 8},
                            {3, 264},
                            {3, 1024},
                            {2, 1025, true},
                            {2, 1032},
                            {33, 520},
                            {3, 4096},
                            {2, 4104}}) {
        // f32: the deviations of a row around 300 carry the rounding of x itself in mean and sum.
        const Allowed allowed{.f64 = one.shifted ? 1e-11 : 1e-12, .f32 = one.shifted ? 6e-5 : 3e-6};
        cases.push_back(layer_norm_forward_case(one, allowed));
        if (one.cols == 1) continue;  // dx is 0 but for rounding, which has no scale to be compared with
        cases.push_back(layer_norm_backward_case(one, allowed));
        for (const bool with_sum : {false, true}) {
            cases.push_back(residual_backward_case(one, allowed, with_sum));
            cases.back().offset = KernelCase::no_offset;
        }
    }
    // Runs of several chunks in the sums over chunks, and chunks of more rows than a block has warps.
    for (const Rows& one : {Rows{1100, 8}, {1030, 257}, {40000, 3}}) cases.push_back(layer_norm_sums_case(one));
    // dx of chunks that take a block several rounds, the last with fewer rows: of a warp a row, of two, of eight, of a block that
    // reads its rows twice, by vectors or not.
    for (const Rows& one : {Rows{1800, 24}, {870, 258}, {220, 514}, {217, 4104}, {220, 2051}}) {
        cases.push_back(layer_norm_backward_case(one, {.f64 = 1e-11, .f32 = 2e-5}));
        cases.back().offset = KernelCase::no_offset;
        if (one.rows * one.cols > 150000) cases.back().runs = RunsOn::unwatched;
    }
    const auto behind_dropout = [](const Tensors& in) {
        return Tensors{residual_layer_norm_forward(in[0], in[3], in[1], in[2], kEps, Dropout(0.1, 5)).y};
    };
    KernelCase residual = layer_norm_forward_case({1, 24592}, {.f64 = 1e-12, .f32 = 1e-5});
    residual.what += " behind dropout";
    residual.inputs.push_back(numbers({1, 24592}, 2));
    residual.run = residual.plain = behind_dropout;
    residual.by_row = 0;
    residual.offset = KernelCase::no_offset;
    residual.runs = RunsOn::unwatched;
    cases.push_back(residual);
    cases.push_back(layer_norm_backward_case({1025, 48}, {.f64 = 1e-12, .f32 = 2e-6}));
    cases.back().offset = KernelCase::no_offset;
    cases.back().runs = RunsOn::on_the_cpu;
    for (KernelCase& one : std::vector{layer_norm_forward_case({1, 24592}, {.f64 = 1e-12, .f32 = 1e-5}),  // read again
                                       layer_norm_backward_case({1, 24592}, {.f64 = 1e-12, .f32 = 1e-5})}) {
        one.runs = RunsOn::unwatched;
        one.offset = KernelCase::no_offset;
        cases.push_back(one);
    }
    return cases;
}

// ---- random calls

std::optional<Step> draw(Draw& draw) {
    Step step{.inputs = draw.with_row(draw.any(1, 3))};
    step.inputs.push_back(draw.of(draw.shape_of(step.inputs[1])));
    step.options["eps"] = draw.chance(0.5) ? 1e-5 : draw.uniform(0.01, 1);
    return step;
}

std::optional<Step> draw_residual(Draw& draw) {
    const Number x = draw.any(2, 2);
    const Shape shape = draw.shape_of(x);
    const Number sublayer = draw.of(shape), gamma = draw.of({shape.cols()});
    Step step{.inputs = {x, sublayer, gamma, draw.of({shape.cols()})},
              .options = {{"eps", draw.chance(0.5) ? 1e-5 : draw.uniform(0.01, 1)}}};
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
    const auto both = ops::residual_layer_norm(in[0], in[1], in[2], in[3], step.options.at("eps"), step.dropout());
    return {both.sum, both.normalised};
}

constexpr std::string_view kTorchResidual = R"py(
x, sublayer, gamma, beta = inputs
both = x + kept(sublayer, constants)
return [both, F.layer_norm(both, gamma.shape, gamma, beta, options["eps"])]
)py";

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const auto run = [](const RowInputs& in) { return ops::layer_norm(fresh(in.x), in.gamma, in.beta); };
    return {row_case(on, "layer_norm", "", 2, 3, run)};
}

std::vector<BenchCase> bench_wide(const BenchSetting& on) { return bench(wide_rows(on)); }

std::vector<BenchCase> bench_residual(const BenchSetting& on) {
    return {row_case(on, "residual_layer_norm", ", dropout", 4, 4, [](const RowInputs& in) {
        return ops::residual_layer_norm(fresh(in.x), fresh(in.y), in.gamma, in.beta, 1e-5, dropout_of_training()).normalised;
    })};
}

// ---- what is explained

void explain_layer_norm(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1)), gamma = s.input("gamma", row(d[1], 2)), beta = s.input("beta", row(d[1], 3));
    LayerNormResult result;
    s.trace([&] { result = layer_norm_forward(x, gamma, beta, 1e-5); });
    s.name("y", result.y);
    s.name("mean", result.mean);
    s.name("rstd", result.rstd);
}

void explain_layer_norm_dx(Session& s, Extents d) {
    const Tensor dy = s.input("dy", randn(d, 1)), gamma = row(d[1], 3), host = randn(d, 2);
    const LayerNormResult forward = layer_norm_forward(host, gamma, row(d[1], 4), 1e-5);
    const Tensor x = s.input("x", host), on_device = s.input("gamma", gamma);
    const Tensor mean = s.input("mean", forward.mean), rstd = s.input("rstd", forward.rstd);
    const Tensor dgamma = s.input("dgamma", Tensor::zeros({d[1]})), dbeta = s.input("dbeta", Tensor::zeros({d[1]}));
    traced(s, "dx", [&] { return layer_norm_backward(dy, x, on_device, mean, rstd, true, dgamma, dbeta); });
}

void explain_residual_layer_norm(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1)), sublayer = s.input("sublayer", randn(d, 2));
    const Tensor gamma = s.input("gamma", row(d[1], 3)), beta = s.input("beta", row(d[1], 4));
    LayerNormResult result;
    s.trace([&] { result = residual_layer_norm_forward(x, sublayer, gamma, beta, 1e-5, Dropout(0.1, 1)); });
    s.name("sum", result.sum);
    s.name("y", result.y);
    s.name("mean", result.mean);
    s.name("rstd", result.rstd);
}

}  // namespace

OpCases table() {
    return {.name = "layer_norm",
            .place = 16,
            .proofs = proofs,
            .kernels = kernel_cases,
            .large = true,
            .functions = {{"layer_norm", draw,
                           [](const Step& s, Inputs in) -> Outputs {
                               return {ops::layer_norm(in[0], in[1], in[2], s.option<double>("eps"))};
                           },
                           "return [F.layer_norm(inputs[0], inputs[1].shape, inputs[1], inputs[2], options['eps'])]", suits},
                          {"residual_layer_norm", draw_residual, apply_residual, kTorchResidual, residual_suits}},
            .benches = {{.cases = bench, .place = 100},
                        {.cases = bench_residual, .place = 130},
                        {.cases = bench_wide, .place = 300, .sizes = "large"}},
            .example_place = 19,
            .examples = {{"layer-norm", "layer normalisation of each row", "rows, cols", {4, 64}, explain_layer_norm},
                         {"layer-norm-backward",
                          "the gradients of layer norm: dx, and the column sums dgamma and dbeta",
                          "rows, cols",
                          {8, 64},
                          explain_layer_norm_dx},
                         {"residual-layer-norm",
                          "residual sum, dropout and layer norm in one pass",
                          "rows, cols",
                          {4, 64},
                          explain_residual_layer_norm}}};
}

}  // namespace heddle::layer_norm_cases
