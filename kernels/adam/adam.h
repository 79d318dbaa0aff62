// One update of all parameters, in one pass over flat arrays: Adam, AdamW, and gradient descent with momentum.
//
// g is the gradient times `gradient_factor` (clipping, or one over the number of accumulated batches), t = 1, 2, .. the update.
//
//   Adam    g = g + decay p                                      (L2: the penalty decay |p|^2 / 2 is part of the loss)
//           m = beta1 m + (1 - beta1) g
//           v = beta2 v + (1 - beta2) g^2
//           p = p - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
//   AdamW   without the first line, and p = (1 - lr decay) p - lr (..)   (decoupled: the decay does not pass through m and v)
//   SGD     g = g + decay p,  m = momentum m + g,  p = p - lr m
//
// A parameter of at most kUndecayed stays as it is: it is the output bias of a forbidden token (cross_entropy.h), which has no
// gradient and which decay would slowly allow again.
//
// Sources: Kingma and Ba, "Adam" (2015), algorithm 1; Loshchilov and Hutter, "Decoupled weight decay regularization" (2019),
// algorithm 2; SGD as PyTorch's (Sutskever et al. 2013 fold lr into m).
#pragma once

#include <array>

#include "core/spans.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

inline constexpr double kUndecayed = -1e8;

struct AdamStep {
    double lr = 0;
    double beta1 = 0.9;
    double beta2 = 0.98;
    double eps = 1e-9;
    double weight_decay = 0;
    bool decoupled = false;   ///< AdamW
    std::int64_t update = 1;  ///< t, from 1
    double gradient_factor = 1;
};

struct SgdStep {
    double lr = 0;
    double momentum = 0;
    double weight_decay = 0;
    double gradient_factor = 1;
};

/// The values that differ between updates: a captured update reads them from memory.
///     Adam   keep = 1 - lr decay (AdamW; else 1), rate = lr / (1 - beta1^t), root = 1 / sqrt(1 - beta2^t)
///     SGD    1, lr, 1
using StepNumbers = std::array<double, 3>;
StepNumbers step_numbers(const AdamStep& step);
StepNumbers step_numbers(const SgdStep& step);

/// Values that an update reads and writes in memory, so that it needs no synchronisation on CUDA. All on the parameters' device;
/// undefined: not used.
struct UpdateInMemory {
    Tensor measured = {};   ///< f64 [2]: norm and factor (measure_gradients); the factor takes the place of gradient_factor
    Tensor numbers = {};    ///< f64 [3]: StepNumbers; they take the place of the step's lr and update
    Tensor bf16_copy = {};  ///< bf16 [n]: the new parameters, rounded, are written here in the same pass
};

/// With `memory.measured`, the update is skipped when the norm is NaN or infinite.
/// All tensors [n] of one dtype, f32 or f64. Only elements in `active` (rows() = n) are changed: a frozen parameter keeps its
/// bits, weight decay included. An element's bits do not depend on the threads. Moments below the smallest normal number become
/// zero: the processor is many times slower with subnormal ones. Bumps the versions of what it changes. Error unless Adam's eps
/// is above 0 in the parameters' dtype, and each beta at least 0 and below 1.
void adam_step(Tensor& parameters, const Tensor& gradients, Tensor& first_moment, Tensor& second_moment, const Spans& active,
               const AdamStep& step, UpdateInMemory memory = {}, Where where = Where::current());
void sgd_step(Tensor& parameters, const Tensor& gradients, Tensor& momentum, const Spans& active, const SgdStep& step,
              UpdateInMemory memory = {}, Where where = Where::current());

// ---- the CUDA side (adam.cu): arguments are checked and results allocated by adam.cpp

HEDDLE_CUDA_FUNCTION(void adam_step_cuda(Tensor& parameters, const Tensor& gradients, Tensor& first_moment, Tensor& second_moment,
                                         const Spans& active, const AdamStep& step, UpdateInMemory& memory))
HEDDLE_CUDA_FUNCTION(void sgd_step_cuda(Tensor& parameters, const Tensor& gradients, Tensor& momentum, const Spans& active,
                                        const SgdStep& step, UpdateInMemory& memory))

}  // namespace heddle::kernels
