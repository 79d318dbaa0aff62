// Runs an op's list of gradient cases, and names tests after them.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "autograd/proofs.h"

namespace heddle {

/// All cases; the test parameters are indices into them.
inline const std::vector<GradientCase>& all_cases() {
    static const std::vector<GradientCase> all = gradient_cases();
    return all;
}

/// "LayerNormThreeAxes_71": op and case in the letters that a test's name may have; the number keeps it unique.
inline std::string case_name(const testing::TestParamInfo<std::size_t>& info) {
    const GradientCase& one = all_cases()[info.index];
    std::string name;
    bool upper = true;
    for (const char c : one.op + " " + one.what) {
        const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (good) name += upper ? static_cast<char>(std::toupper(c)) : c;
        upper = !good;
    }
    return name + "_" + std::to_string(info.index);
}

/// Expects every case of `cases` to pass the gradient check, and at least one to be there.
inline void expect_proven(const std::vector<GradientCase>& cases) {
    EXPECT_FALSE(cases.empty());
    for (const GradientCase& each : cases) {
        const GradcheckReport report = gradcheck(each.function, each.inputs, each.options);
        EXPECT_TRUE(report.passed) << each.op << ", " << each.what << ": " << report.message;
    }
}

}  // namespace heddle
