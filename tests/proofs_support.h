// Runs an op's list of gradient cases.
#pragma once

#include <gtest/gtest.h>

#include "autograd/proofs.h"

namespace heddle {

/// Expects every case of `cases` to pass the gradient check, and at least one to be there.
inline void expect_proven(const std::vector<GradientCase>& cases) {
    EXPECT_FALSE(cases.empty());
    for (const GradientCase& each : cases) {
        const GradcheckReport report = gradcheck(each.function, each.inputs, each.options);
        EXPECT_TRUE(report.passed) << each.op << ", " << each.what << ": " << report.message;
    }
}

}  // namespace heddle
