// Checks of a gradient by exact derivatives: the function runs on dual numbers (core/dual.h).
//
// With y = f(x), J its Jacobian at x, x' a random direction and c a random cotangent, the gradient of y that backward starts
// from:
//
//     forward    J x' by dual numbers equals central differences of f along x'
//     adjoint    <c, J x'> = <J^T c, x'>: forward derivative and backward are transposes of one another
//     Hessian    <u, H v> = <v, H u>, H the Hessian of <c, f> + <w, f f> / 2; H v is the derivative of the gradient along v, by
//                backward on dual numbers, and equals central differences of the gradient
//
// The first holds to the accuracy of a difference, the others to rounding: in every built-in case they see a
// factor of 1 + 1e-9 and one dropped element, and they see a backward in f32. The adjoint identity is what backward means
// (Claerbout, "Earth Soundings Analysis" (1992), chapter 5, calls it the dot-product test). The symmetry needs no forward
// derivative: it refuses a backward that is the gradient of no function. Duals run on the CPU's reference loops; the backward
// that the adjoint identity tests runs on options.device, on the paths that f64 takes there.
#pragma once

#include "autograd/gradcheck.h"

namespace heddle {

struct ExactReport {
    static constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

    bool passed = false;
    // NaN if the check was not reached.
    double forward = kNever;  ///< largest |J x' - differences| / (max |differences| + 1e-3)
    double adjoint = kNever;  ///< largest |<c, J x'> - <J^T c, x'>| / (sum of the absolute terms on both sides)
    double hessian = kNever;  ///< |<u, H v> - <v, H u>| / (sum of the absolute terms on both sides)
    std::string message;      ///< on failure one or two lines for each failed check: the input, its worst element, both numbers
};

/// Bounds of the three figures. The sides of the last two are sums over the paths from inputs to outputs of products along the
/// path. With rounding to u = 2^-53, n operations on a path change a sum by at most n u / (1 - n u) times the sum of the absolute
/// values (Higham, "Accuracy and Stability of Numerical Algorithms" (2002), lemma 3.1). 1e-13 is 900 u: 450 roundings on a path
/// for each side, as many as sums of some 30 numbers make in a dozen ops behind one another. The figures divide by the absolute
/// terms of the inner products, which are smaller than the paths' where these cancel on the way. Over all cases and modules with
/// 50 seeds the adjoint identity holds to 1e-14, of whole models to 5e-14, the symmetry to 2e-15, and the forward derivative
/// equals differences to 5e-10. The largest gap, 9.2e-15, is one rounding: along the bias before a whole model's last layer norm,
/// which cancels most of its gradient, the sides are 0.0031 and differ by 7e-17, which is 0.64 u. The other whole models
/// have 5.9e-15 and 8.5e-15.
inline constexpr double kForwardBound = 1e-7;
inline constexpr double kExactBound = 1e-13;

/// Runs the three checks on `function` at `inputs` (f64). It is called on f64 tensors on options.device and on dual tensors on
/// the CPU; it must pass their dtype on, and may not convert or read values itself. An exception of the function is a failure
/// with its message; so is an op whose reference loops cannot take dual numbers, which is named. Of the options, device, seed and
/// zero_by_symmetry count. Error when an input is not f64.
ExactReport exact_check(const GradientFunction& function, const std::vector<Tensor>& inputs,
                        const GradcheckOptions& options = {});

/// The checks of one case; the message names its op.
ExactReport exact_check(const GradientCase& one);

/// J x' of `function` at `inputs` (f64, on the CPU) along `direction`, which has their shapes, by one run on dual numbers.
Tensor forward_derivative(const GradientFunction& function, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& direction);

/// H v for each input, where H is the Hessian of the one-element `function` at `inputs` (f64, on the CPU), by one run forward
/// and back on dual numbers. Zero for inputs on which the function does not depend.
std::vector<Tensor> hessian_vector_product(const GradientFunction& function, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& direction);

}  // namespace heddle
