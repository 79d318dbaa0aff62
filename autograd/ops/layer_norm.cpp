#include "kernels/layer_norm/layer_norm.h"

#include "autograd/ops.h"

namespace heddle::inline ops {
namespace {

// The gradient of input 0 so far, if a kernel may add to it in the pass that computes the rest of it. On the CPU, whose bits stay
// those of two roundings, the tape adds.
Tensor to_add_to(Gradients& g) {
    const Tensor& x = g.saved(0);
    if (!g.needs(0) || x.device() == Device::cpu) return {};
    const Tensor so_far = g.so_far(0);
    return so_far.defined() && so_far.dtype() == x.dtype() ? g.accumulate_into(0) : Tensor();
}

}  // namespace

Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta, double eps, Where where) {
    kernels::LayerNormResult result = kernels::layer_norm_forward(x.value(), gamma.value(), beta.value(), eps);
    return record(result.y, {.op = "layer_norm",
                             .where = where,
                             .inputs = {x, gamma, beta},
                             .saved = {x.value(), gamma.value(), result.mean, result.rstd},
                             .backward = [](Gradients& g) {
                                 const Tensor dgamma = g.needs(1) ? g.accumulate_into(1) : Tensor();
                                 const Tensor dbeta = g.needs(2) ? g.accumulate_into(2) : Tensor();
                                 const Tensor sum = to_add_to(g);
                                 Tensor dx = kernels::layer_norm_backward(g.output(), g.saved(0), g.saved(1), g.saved(2),
                                                                          g.saved(3), g.needs(0), dgamma, dbeta, sum);
                                 if (g.needs(0) && !sum.defined()) g.give(0, std::move(dx));
                             }});
}

ResidualNorm residual_layer_norm(const Variable& x, const Variable& sublayer, const Variable& gamma, const Variable& beta,
                                 double eps, const DropoutMask& dropout, Where where) {
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

Variable rms_norm(const Variable& x, const Variable& gamma, double eps, Where where) {
    kernels::LayerNormResult result = kernels::rms_norm_forward(x.value(), gamma.value(), eps);
    return record(result.y, {.op = "rms_norm",
                             .where = where,
                             .inputs = {x, gamma},
                             .saved = {x.value(), gamma.value(), result.rstd},
                             .backward = [](Gradients& g) {
                                 const Tensor dgamma = g.needs(1) ? g.accumulate_into(1) : Tensor();
                                 const Tensor sum = to_add_to(g);
                                 Tensor dx = kernels::rms_norm_backward(g.output(), g.saved(0), g.saved(1), g.saved(2),
                                                                        g.needs(0), dgamma, sum);
                                 if (g.needs(0) && !sum.defined()) g.give(0, std::move(dx));
                             }});
}

ResidualNorm residual_rms_norm(const Variable& x, const Variable& sublayer, const Variable& gamma, double eps,
                               const DropoutMask& dropout, Where where) {
    kernels::LayerNormResult result =
        kernels::residual_rms_norm_forward(x.value(), sublayer.value(), gamma.value(), eps, dropout);
    auto backward = [dropout](Gradients& g) {
        const Tensor dgamma = g.needs(2) ? g.accumulate_into(2) : Tensor();
        const Tensor d_sum = g.has_output(0) ? g.output(0) : Tensor();
        auto [dx, d_sublayer] = kernels::residual_rms_norm_backward(d_sum, g.output(1), g.saved(0), g.saved(1), g.saved(2),
                                                                    dropout, g.needs(1), dgamma);
        if (g.needs(1)) g.give(1, std::move(d_sublayer));
        if (g.needs(0)) g.give(0, std::move(dx));
    };
    std::vector<Variable> outputs = record_many({result.sum, result.y}, {.op = "residual_rms_norm",
                                                                         .where = where,
                                                                         .inputs = {x, sublayer, gamma},
                                                                         .saved = {result.sum, gamma.value(), result.rstd},
                                                                         .backward = std::move(backward)});
    return {outputs[0], outputs[1]};
}

}  // namespace heddle::inline ops
