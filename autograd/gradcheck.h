// The proof of a gradient: backward against central differences.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace heddle {

/// A differentiable function of some inputs. It may be called thousands of times and must give the same value each time; the
/// state of generator() is restored before every call, so that dropout keys drawn inside stay the same.
using GradientFunction = std::function<Variable(std::span<const Variable>)>;

struct GradcheckOptions {
    double tolerance = 1e-7;      ///< |analytic - numeric| <= tolerance * (max |numeric| + floor) for each input
    double floor = 1e-3;          ///< keeps inputs with tiny gradients comparable
    double step = 1e-3;           ///< first step of the Richardson extrapolation, relative to max(1, |x|)
    std::uint64_t seed = 1;       ///< of the random cotangent
    Device device = Device::cpu;  ///< where the function computes; its inputs are moved there
    std::vector<int> zero_by_symmetry =
        {};  ///< inputs whose gradient is always zero (the key bias of attention); declared ones are checked to be zero
    std::int64_t full_jacobian_up_to = 4096;  ///< output elements x input elements up to which every Jacobian entry is compared
    std::int64_t elements_up_to =
        2048;  ///< of a larger input this many elements are probed; the Taylor remainder covers the rest
};

struct GradcheckReport {
    bool passed = false;
    double worst = 0;           ///< the largest |analytic - numeric| / (max |numeric| + floor)
    std::int64_t compared = 0;  ///< derivatives compared
    std::string message;        ///< on failure, several lines: input, index, both numbers, when, the likely cause
};

/// Proves the gradient of `function` at `inputs` (f64): central differences with Richardson extrapolation, divided by the step as
/// rounded, random cotangent, the full Jacobian at small sizes, zero cotangent gives zero, two runs and a second backward
/// over a retained tape give the same bits, the Taylor remainder shrinks with the square of the step; every combination of
/// required gradients for up to 4 inputs, above that all, none and each alone. NaN fails. Keep inputs away from kinks by more
/// than `step` (away_from_zero below). Captured tensors must be on options.device. An exception of
/// the function is a failure with its message; Error when an input is not f64.
///
///     auto report = gradcheck([](auto in) { return my_op(in[0], in[1]); }, {x, w});
///     if (!report.passed) puts(report.message.c_str());
GradcheckReport gradcheck(const GradientFunction& function, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// One line of `heddle gradcheck`: an op with one choice of shapes, masks and options.
struct GradientCase {
    std::string op;
    std::string what;  ///< "cross attention, causal, dropout 0.3"
    GradientFunction function;
    std::vector<Tensor> inputs;
    GradcheckOptions options = {};
};

/// The proof of one case; the message names its op.
GradcheckReport gradcheck(const GradientCase& one);

/// Every op's cases. Each op's file below autograd/ defines its own list; autograd/proofs.cpp names them all.
std::vector<GradientCase> gradient_cases();

/// A random f64 tensor of normal numbers for cases; the same for the same seed.
Tensor random_input(const Shape& shape, std::uint64_t seed, double deviation = 1);

/// The same values moved away from zero by `margin`, keeping their signs. For kinks at zero.
Tensor away_from_zero(const Tensor& x, double margin = 0.1);

}  // namespace heddle
