// The gradients of functions that are made of ops are proven, as those of the ops are (tests/autograd/proofs_test.cpp).
#include "tests/cross_check/composed.h"

#include <gtest/gtest.h>

#include <set>

namespace heddle::cross_check {
namespace {

class Composed : public testing::TestWithParam<std::size_t> {};

const std::vector<GradientCase>& composed_cases() {
    static const std::vector<GradientCase> all = composed_functions().proofs();
    return all;
}

TEST_P(Composed, HasAProvenGradient) {
    const GradientCase& one = composed_cases()[GetParam()];
    const GradcheckReport report = gradcheck(one);
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_GT(report.compared, 0) << one.op << ", " << one.what;
    EXPECT_LE(report.resolution, 5e-9) << one.op << ", " << one.what;
}

INSTANTIATE_TEST_SUITE_P(Function, Composed, testing::Range<std::size_t>(0, composed_cases().size()),
                         [](const auto& info) { return composed_cases()[info.param].op + "_" + std::to_string(info.param); });

TEST(ComposedFunctions, AreProvenAndComparedWithPyTorchEach) {
    std::set<std::string> proven, called;
    for (const GradientCase& one : composed_cases()) proven.insert(one.op);
    for (const cases::TapeFunction& one : composed_functions().functions) called.insert(std::string(one.name));
    EXPECT_EQ(proven, called);
    EXPECT_GE(proven.size(), 21u);
}

}  // namespace
}  // namespace heddle::cross_check
