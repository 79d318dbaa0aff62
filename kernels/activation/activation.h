// The non-linear functions between the two layers of the feed-forward, element by element.
//
//   relu       y = max(0, x)                                    dx = dy where y > 0, else 0
//   gelu       y = x Phi(x),  Phi(x) = erfc(-x / sqrt 2) / 2    dx = dy (Phi(x) + x phi(x)),  phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
//   gelu_tanh  y = x s,  s = (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)),  u = sqrt(2 / pi) (x + 0.044715 x^3)
//                                                               dx = dy (s + x s (1 - s) 2 u')
//   silu       y = x s,  s = 1 / (1 + exp(-x))                  dx = dy (s + x s (1 - s))
//
// Sources: ReLU: Nair and Hinton (ICML 2010), in Vaswani et al. (2017) equation 2. GELU and its tanh form: Hendrycks and Gimpel,
// "Gaussian error linear units" (2016), section 2. SiLU, also called swish: the same paper, section 2; Elfwing, Uchibe and Doya,
// "Sigmoid-weighted linear units for neural network function approximation in reinforcement learning" (2017), equation 11.
#pragma once

#include <cstdint>

#include "core/enum_words.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// The functions by name; silu is also called swish.
enum class Activation : std::uint8_t { relu, gelu, gelu_tanh, silu };
constexpr auto enum_words(Activation) {
    return words_for<Activation>({{Activation::relu, "relu"},
                                  {Activation::gelu, "gelu"},
                                  {Activation::gelu_tanh, "gelu-tanh"},
                                  {Activation::silu, "silu"}});
}

/// x f32 or f64 (on CUDA bf16, too) of any shape. A NaN stays a NaN.
Tensor relu_forward(const Tensor& x);
/// dx for dy and forward's result y; the derivative at 0 is 0.
Tensor relu_backward(const Tensor& dy, const Tensor& y);
/// x f32 or f64 (on CUDA bf16, too) of any shape; with the error function, or in its tanh form.
Tensor gelu_forward(const Tensor& x, bool tanh_form = false);
/// dx for dy and forward's argument x.
Tensor gelu_backward(const Tensor& dy, const Tensor& x, bool tanh_form = false);
/// x f32 or f64 (on CUDA bf16, too) of any shape.
Tensor silu_forward(const Tensor& x);
/// dx for dy and forward's argument x.
Tensor silu_backward(const Tensor& dy, const Tensor& x);

/// One of the functions above.
Tensor activation_forward(const Tensor& x, Activation activation);
/// dx for dy and what backward needs of forward: the result for ReLU, the argument for the others.
Tensor activation_backward(const Tensor& dy, const Tensor& saved, Activation activation);

// ---- the vectorised CPU path (activation_fast.cpp)

/// y[i] = f(x[i]) for i < n; f is smooth, one of GELU's two forms or SiLU.
HEDDLE_DECLARE_LEVELS(void smooth_values(const float* x, float* y, std::int64_t n, Activation f))
/// dx[i] = dy[i] f'(x[i]) for i < n.
HEDDLE_DECLARE_LEVELS(void smooth_gradients(const float* dy, const float* x, float* dx, std::int64_t n, Activation f))

// ---- the CUDA side (activation.cu): arguments are checked and results allocated by activation.cpp

/// Errors name `op`.
HEDDLE_CUDA_FUNCTION(void activation_forward_cuda(const char* op, Activation f, const Tensor& x, Tensor& y))
HEDDLE_CUDA_FUNCTION(void activation_backward_cuda(const char* op, Activation f, const Tensor& dy, const Tensor& saved,
                                                   Tensor& dx))

}  // namespace heddle::kernels
