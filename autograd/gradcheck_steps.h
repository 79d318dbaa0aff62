// The errors of central differences, and of the function's linear model, as functions of the step.
#pragma once

#include <limits>
#include <vector>

#include "autograd/gradcheck.h"

namespace heddle {

/// Along one random direction v, for phi(h) = <c, f(x + h v)> with a random cotangent c and the slope s = <J^T c, v> that
/// backward gives. Errors are relative to the sum of the absolute terms of s; one that could not be computed is NaN.
struct StepErrors {
    std::vector<double> steps;        ///< h, falling
    std::vector<double> differences;  ///< |(phi(h) - phi(-h)) / (2 h) - s|; falls with h^2, then rises with rounding / h
    std::vector<double>
        remainders;       ///< of the linear model: |phi(h) - phi(0) - h s|; falls with h^2 if s is right, with h if not
    double rounding = 0;  ///< rounding error of the remainders: smaller ones mean nothing
    /// The slope of log(remainder) over log(h) where the remainders are well above rounding: 2 if backward is right (more if the
    /// second derivative along v is zero), 1 if it is wrong. NaN if they never are, as for a function that is linear in v.
    double taylor_slope = std::numeric_limits<double>::quiet_NaN();
};

/// Calls the function of `one` on one.options.device for 19 steps from 0.1 to 1e-10. An exception of the function at the inputs
/// themselves passes through. Source: Taylor remainder tests as in Farrell, Ham, Funke and Rognes, "Automated derivation of the
/// adjoint of high-level transient finite element programs" (SIAM J. Sci. Comput. 35(4), 2013), section 5.
StepErrors step_errors(const GradientCase& one);

}  // namespace heddle
