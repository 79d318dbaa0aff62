#include "kernels/layer_norm/layer_norm.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta, double eps, Where where) {
    kernels::LayerNormResult result = kernels::layer_norm_forward(x.value(), gamma.value(), beta.value(), eps);
    return record(result.y, {.op = "layer_norm",
                             .where = where,
                             .inputs = {x, gamma, beta},
                             .saved = {x.value(), gamma.value(), result.mean, result.rstd},
                             .backward = [](Gradients& g) {
                                 const Tensor dgamma = g.needs(1) ? g.accumulate_into(1) : Tensor();
                                 const Tensor dbeta = g.needs(2) ? g.accumulate_into(2) : Tensor();
                                 Tensor dx = kernels::layer_norm_backward(g.output(), g.saved(0), g.saved(1), g.saved(2),
                                                                          g.saved(3), g.needs(0), dgamma, dbeta);
                                 if (g.needs(0)) g.give(0, std::move(dx));
                             }});
}

ResidualNorm residual_layer_norm(const Variable& x, const Variable& sublayer, const Variable& gamma, const Variable& beta,
                                 double eps, const Dropout& dropout, Where where) {
    kernels::LayerNormResult result =
        kernels::residual_layer_norm_forward(x.value(), sublayer.value(), gamma.value(), beta.value(), eps, dropout);
    auto backward = [dropout](Gradients& g) {
        const Tensor dgamma = g.needs(2) ? g.accumulate_into(2) : Tensor();
        const Tensor dbeta = g.needs(3) ? g.accumulate_into(3) : Tensor();
        const Tensor d_sum = g.has_output(0) ? g.output(0) : Tensor();
        auto [dx, d_sublayer] = kernels::residual_layer_norm_backward(d_sum, g.output(1), g.saved(0), g.saved(1), g.saved(2),
                                                                      g.saved(3), dropout, g.needs(1), dgamma, dbeta);
        if (g.needs(1)) g.give(1, std::move(d_sublayer));
        if (g.needs(0)) g.give(0, std::move(dx));
    };
    std::vector<Variable> outputs =
        record_many({result.sum, result.y}, {.op = "residual_layer_norm",
                                             .where = where,
                                             .inputs = {x, sublayer, gamma, beta},
                                             .saved = {result.sum, gamma.value(), result.mean, result.rstd},
                                             .backward = std::move(backward)});
    return {outputs[0], outputs[1]};
}

}  // namespace heddle::ops

namespace heddle::proofs {
namespace {

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

}  // namespace

std::vector<GradientCase> layer_norm() {
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

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> layer_norm(const Setting& on, std::int64_t rows, std::int64_t cols) {
    const auto run = [](const RowInputs& in) { return ops::layer_norm(fresh(in.x), in.gamma, in.beta); };
    return {row_case(on, rows, cols, "layer_norm", "", 2, 3, run)};
}

std::vector<OpCase> residual_layer_norm(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "residual_layer_norm", ", dropout", 4, 4, [](const RowInputs& in) {
        return ops::residual_layer_norm(fresh(in.x), fresh(in.y), in.gamma, in.beta, 1e-5, dropout_of_training()).normalised;
    })};
}

}  // namespace heddle::benches
