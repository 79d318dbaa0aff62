// Layer normalisation and RMS normalisation, alone and after a residual connection.
//
// Ba, Kiros, Hinton, "Layer normalization" (2016), equations 3 and 4, with eps inside the root. For each row x of n elements:
//     mean  = 1/n sum_j x_j
//     rstd  = 1 / sqrt(1/n sum_j (x_j - mean)^2 + eps)              biased variance
//     xhat  = (x - mean) rstd
//     y     = gamma xhat + beta
// Backward, with g = gamma dy (both means taken over the row):
//     dx     = rstd (g - mean(g) - xhat mean(g xhat))
//     dgamma = sum over the rows of dy xhat,   dbeta = sum over the rows of dy
// RMS normalisation (Zhang and Sennrich, "Root mean square layer normalization", 2019, equation 4, with eps inside the root) is
// the same without means and without beta: a row is neither centred nor shifted.
//     rstd = 1 / sqrt(1/n sum_j x_j^2 + eps),   xhat = x rstd,   y = gamma xhat
//     dx   = rstd (g - xhat mean(g xhat)),      dgamma as above
// With a residual connection (Vaswani et al. 2017, section 5.4) x is sum = x + dropout(sublayer), and both sum and y continue:
//     d_total = d_sum + dx(d_normalised),   dx = d_total,   d_sublayer = dropout mask * d_total
//
// Saved for backward: x (or sum), and mean and rstd of each row (rstd alone of RMS). The dropout mask is made again from its key.
#pragma once

#include "core/random.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// Results of the forward functions. Statistics have shape [rows] and x's dtype, but f32 if x is bf16.
struct LayerNormResult {
    Tensor sum;   ///< x + dropout(sublayer); undefined without a sublayer
    Tensor y;     ///< [..., cols], normalised
    Tensor mean;  ///< undefined for RMS
    Tensor rstd;
};

/// x [..., cols], gamma and beta [cols], all f32 or all f64; on CUDA all bf16 as well. Statistics are taken in two passes, so
/// that a large mean costs no digits of the variance. A constant row gives beta. A row of finite numbers has finite statistics,
/// however large they are (its squares may overflow; its differences from the mean must not). Error when a shape or dtype
/// differs, x has no columns or eps <= 0.
LayerNormResult layer_norm_forward(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps);

/// sum = x + dropout(sublayer) and y = layer_norm(sum) in one pass over the rows; the bits are those of the two ops one after
/// the other. sublayer [..., cols] as x. The dropout counter of an element is its row and column.
LayerNormResult residual_layer_norm_forward(const Tensor& x, const Tensor& sublayer, const Tensor& gamma, const Tensor& beta,
                                            double eps, const Dropout& dropout);

/// dx for dy [..., cols]; undefined unless `need_dx`. dgamma and dbeta [cols] are added to where they are defined: sums over
/// fixed chunks of rows, added in order, so that their bits do not depend on the number of threads. They have x's dtype, or f32
/// where x is bf16. A defined `sum` [..., cols] of x's dtype is the gradient of x so far: dx is added to it, with one rounding,
/// and is the result.
Tensor layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                           bool need_dx, Tensor dgamma, Tensor dbeta, const Tensor& sum = {});

struct ResidualLayerNormGradients {
    Tensor dx;
    Tensor d_sublayer;  ///< undefined unless wanted; without dropout the same handle as dx
};

/// Both gradients of the residual form in one pass. d_sum [..., cols] or undefined (sum went nowhere else), d_normalised
/// [..., cols]; `sum`, `mean` and `rstd` are the forward's. dgamma and dbeta as above.
ResidualLayerNormGradients residual_layer_norm_backward(const Tensor& d_sum, const Tensor& d_normalised, const Tensor& sum,
                                                        const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                                                        const Dropout& dropout, bool need_sublayer, Tensor dgamma, Tensor dbeta);

/// RMS normalisation, with the promises of layer_norm_forward: y = gamma x rstd; a row of zeros gives zeros. x [..., cols], gamma
/// [cols].
LayerNormResult rms_norm_forward(const Tensor& x, const Tensor& gamma, double eps);
/// The sum and its RMS normalisation in one pass, with the promises of residual_layer_norm_forward.
LayerNormResult residual_rms_norm_forward(const Tensor& x, const Tensor& sublayer, const Tensor& gamma, double eps,
                                          const Dropout& dropout);
/// The gradients of rms_norm_forward, with the promises of layer_norm_backward.
Tensor rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gamma, const Tensor& rstd, bool need_dx, Tensor dgamma,
                         const Tensor& sum = {});
/// The gradients of residual_rms_norm_forward, with the promises of residual_layer_norm_backward.
ResidualLayerNormGradients residual_rms_norm_backward(const Tensor& d_sum, const Tensor& d_normalised, const Tensor& sum,
                                                      const Tensor& gamma, const Tensor& rstd, const Dropout& dropout,
                                                      bool need_sublayer, Tensor dgamma);

// ---- the CUDA side (layer_norm.cu, layer_norm_backward.cu): arguments are checked and results allocated by layer_norm.cpp

/// The tensors of a backward pass. d_sum may be undefined (see above), as may those of dx, d_sublayer, dgamma and dbeta that are
/// not wanted. Without a mean it is that of RMS.
struct LayerNormBackwardTensors {
    Tensor dy, d_sum, x, gamma, mean, rstd;  // x: what was normalised
    Tensor dx, d_sublayer, dgamma, dbeta;
};

/// Fills result.y, rstd, and mean where it is defined, and with a sublayer result.sum. `beta` is undefined for RMS, as is the
/// mean.
HEDDLE_CUDA_FUNCTION(void layer_norm_forward_cuda(const Tensor& x, const Tensor& sublayer, const Tensor& gamma,
                                                  const Tensor& beta, double eps, const Dropout& dropout,
                                                  LayerNormResult& result))
/// Fills dx and d_sublayer, adds to dgamma and dbeta.
HEDDLE_CUDA_FUNCTION(void layer_norm_backward_cuda(LayerNormBackwardTensors& tensors, const Dropout& dropout))

}  // namespace heddle::kernels
