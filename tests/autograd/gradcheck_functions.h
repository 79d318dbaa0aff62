// Helpers for the tests of the gradient check: ops in plain loops with a given backward, and expectations on reports.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"

namespace heddle {

using Real = double (*)(double);
using In = std::span<const Variable>;

inline Tensor mapped(const Tensor& x, Real f) {
    Tensor y = Tensor::empty(x.shape(), DType::f64);
    for (std::int64_t i = 0; i < x.numel(); ++i) y.mutable_data<double>()[i] = f(x.data<double>()[i]);
    return y;
}

inline Tensor product(const Tensor& a, const Tensor& b) {
    Tensor y = a.clone();
    for (std::int64_t i = 0; i < y.numel(); ++i) y.mutable_data<double>()[i] *= b.data<double>()[i];
    return y;
}

// y = f(x), dx = dy * slope(x).
inline Variable map(const Variable& x, Real f, Real slope) {
    return record(
        mapped(x.value(), f),
        {.op = "map", .where = Where::current(), .inputs = {x}, .saved = {x.value()}, .backward = [slope](Gradients& g) {
             g.give(0, product(g.output(), mapped(g.saved(0), slope)));
         }});
}

inline GradientFunction mapping(Real f, Real slope) {
    return [=](In in) { return map(in[0], f, slope); };
}

inline double square(double x) { return x * x; }
inline double twice(double x) { return 2 * x; }
inline double one(double) { return 1; }

inline Tensor numbers(const std::vector<double>& values) { return Tensor::from(values, {std::ssize(values)}); }
inline Tensor some_numbers() { return numbers({0.3, -1.2, 2.1, 0.7, -0.4}); }

// y = exp(x) with the given backward.
inline Variable exponential(const Variable& x, Backward backward) {
    const Tensor y = mapped(x.value(), std::exp);
    return record(y,
                  {.op = "exponential", .where = Where::current(), .inputs = {x}, .saved = {y}, .backward = std::move(backward)});
}

inline void right_backward(Gradients& g) { g.give(0, product(g.output(), g.saved(0))); }

inline void expect_refused(const GradcheckReport& report, const std::string& because) {
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find(because), std::string::npos) << "the message does not say '" << because << "':\n"
                                                               << report.message;
}

// Expects that the check fails without calling the backward wrong.
inline void expect_not_blamed(const GradcheckReport& report, const std::string& because) {
    expect_refused(report, because);
    EXPECT_EQ(report.message.find("is wrong"), std::string::npos) << report.message;
}

inline void expect_proven(const GradcheckReport& report, double resolution) {
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_LE(report.resolution, resolution);
    EXPECT_GT(report.compared, 0);
}

}  // namespace heddle
