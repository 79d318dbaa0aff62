// Proves gradients: backward compared with central differences.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/tape.h"

namespace heddle {

/// A differentiable function of some inputs. It may be called thousands of times and must give the same value each time; the
/// state of generator() is restored before every call, so that dropout keys drawn inside stay the same.
using GradientFunction = std::function<Variable(std::span<const Variable>)>;
/// A differentiable function with several outputs.
using GradientFunctions = std::function<std::vector<Variable>(std::span<const Variable>)>;

struct GradcheckOptions {
    /// Maximum error bound of a numeric derivative that counts as a proof, relative to the derivative's scale: sum over outputs
    /// of |cotangent * d output / d element|, where the cotangent is the gradient of the outputs from which backward starts.
    /// (Whether backward passes is decided by the bound itself.)
    double tolerance = 1e-8;
    double floor = 1e-2;          ///< the scale is at least this part of the largest one of its input, and a thousandth of the
                                  ///< outputs' median, at most 1e-3
    double step = 0.1;            ///< first step, relative to max(1, |x|); it is halved until the error estimate stops falling
    std::uint64_t seed = 1;       ///< for the random cotangent, directions and further points
    Device device = Device::cpu;  ///< where the function computes; its inputs are moved there
    /// Inputs whose gradient is always zero (the key bias of attention); declared ones are checked to be zero, all others must
    /// have a derivative that is not.
    std::vector<int> zero_by_symmetry = {};
    std::int64_t full_jacobian_up_to = 4096;  ///< output elements x input elements up to which every Jacobian entry is compared
    /// This many elements of a larger input are probed, including the one with the largest gradient; the derivative along a
    /// random direction covers the rest.
    std::int64_t elements_up_to = 2048;
};

struct GradcheckReport {
    bool passed = false;
    /// The largest |backward - numeric|, relative to the derivative's scale; NaN if nothing was compared.
    double worst = std::numeric_limits<double>::quiet_NaN();
    double resolution = 0;      ///< the largest error bound of a numeric derivative, relative to the same scale
    std::int64_t compared = 0;  ///< derivatives of at least one output compared
    std::string message;        ///< on failure, several lines: input, index, both numbers, when, the likely cause
};

/// Proves the gradient of `function` at `inputs` (f64). Numeric derivatives are central differences, extrapolated over halved
/// steps with an error estimate for each derivative (Ridders 1982, "Accurate computation of F'(x) and F'(x) F''(x)"; Numerical
/// Recipes, section 5.7). A derivative of backward must agree with its numeric one within 50 times that estimate plus a bound of
/// the function's rounding errors, which are measured (Moré & Wild 2011, "Estimating computational noise"). Compared are:
/// a random cotangent, the full Jacobian at small sizes, every combination of required gradients for up to 4 inputs (above
/// that all, none and each alone), gradients that leaves already hold, and the derivative along a random direction at two
/// further points. Zero cotangents give zero, multiples of a cotangent multiples of the gradient; two runs, a second backward
/// over a retained tape, up to 300 walks on other threads (one at a time), and two forward passes with their backwards in either
/// order give the same bits; one Variable given as two inputs gets the sum of their gradients; inputs are left as they were, and
/// if the caller changes one before backward, backward notices. NaN fails. Where differences cannot prove anything (a
/// kink, a jump, a value so large that rounding hides the change) the message says so and does not call backward wrong.
/// Captured tensors must be on options.device. An input that is not f64, and an exception of the function, are failures with
/// their messages; only OutOfMemory passes through.
///
///     auto report = gradcheck([](auto in) { return my_op(in[0], in[1]); }, {x, w});
///     if (!report.passed) puts(report.message.c_str());
GradcheckReport gradcheck(const GradientFunction& function, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});
/// Proves a function with several outputs; backward runs from all at once, and from each by itself.
GradcheckReport gradcheck(const GradientFunctions& function, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// A function and its derivative as plain functions of tensors, without the tape.
struct PlainFunction {
    /// The outputs; all f64.
    std::function<std::vector<Tensor>(std::span<const Tensor> inputs)> forward;
    /// The gradients of the inputs, one for each in their order; an undefined one is zero. `cotangents` are those of the outputs.
    std::function<std::vector<Tensor>(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                      std::span<const Tensor> cotangents)>
        backward;
    const char* name = "function";  ///< for messages; a string literal
};

/// Proves a hand-written pair of forward and backward functions. Error when backward gives a wrong number of gradients, or one
/// with a shape other than its input's.
///
///     auto report = gradcheck({.forward = my_function, .backward = my_derivative}, {x, w});
GradcheckReport gradcheck(const PlainFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

/// A function of n numbers and its derivative, which is written to all n of `dx`, as a PlainFunction of one input [n].
PlainFunction plain_function(std::function<double(std::span<const double> x)> function,
                             std::function<void(std::span<const double> x, std::span<double> dx)> derivative);

/// Proves the derivative of a function of numbers.
///
///     double f(std::span<const double> x);
///     void df(std::span<const double> x, std::span<double> dx);
///     auto report = gradcheck(f, df, {0.3, -1.2});
template <class Function, class Derivative>
requires(std::is_invocable_v<Derivative&, std::span<const double>, std::span<double>>&&
             std::is_invocable_r_v<double, Function&, std::span<const double>>) GradcheckReport
    gradcheck(Function function, Derivative derivative, const std::vector<double>& x, const GradcheckOptions& options = {}) {
    return gradcheck(plain_function(std::move(function), std::move(derivative)), {Tensor::from(x, {std::ssize(x)})}, options);
}

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

/// Backward in f32 or bf16 on one.options.device against backward in f64 on the CPU, which gradcheck(one) proves, at the same
/// rounded inputs and cotangent. Each derivative must agree within
///
///     |backward - f64| <= 16 u max over elements of sum over outputs |cotangent * d output / d element|
///
/// with the unit roundoff u = 2^-24 of f32 and 2^-8 of bf16; `worst` is the largest error in units of u times that maximum. The
/// maximum is the input's and not the element's own sum, because terms cancel within a single derivative, too: softmax's
/// 1 - y has an error of u however small it is. Error unless the outputs times the elements of each input are at most 2^20, and
/// dtype is f32 or bf16.
GradcheckReport gradcheck_rounded(const GradientCase& one, DType dtype);

/// A random f64 tensor of normal numbers for cases; the same for the same seed.
Tensor random_input(const Shape& shape, std::uint64_t seed, double deviation = 1);

/// The same values moved away from zero by `margin`, keeping their signs. For kinks at zero.
Tensor away_from_zero(const Tensor& x, double margin = 0.1);

}  // namespace heddle
