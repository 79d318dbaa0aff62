#include "autograd/gradcheck.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace heddle;

namespace {
Variable square(const Variable& x, Where where = Where::current()) {
    Tensor y = x.value().clone();
    for (double& v : y.span<double>()) v *= v;
    return record(y, {.op = "square", .where = where, .inputs = {x}, .saved = {x.value()}, .backward = [](Gradients& g) {
                          Tensor dx = g.output().clone();
                          for (std::int64_t i = 0; i < dx.numel(); ++i) dx.data<double>()[i] *= 2 * g.saved(0).data<double>()[i];
                          g.give(0, dx);
                      }});
}
}  // namespace

TEST(Gradcheck, ProvesARightGradient) {
    const auto report = gradcheck([](auto in) { return square(in[0]); }, {random_input({3, 5}, 1)});
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_LT(report.worst, 1e-9);
    EXPECT_GT(report.compared, 15);
}
