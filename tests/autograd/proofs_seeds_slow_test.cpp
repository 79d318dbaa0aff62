// No false alarms: every case of the ops and modules is proven with other cotangents, directions and points, too, by differences
// and by exact derivatives.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "autograd/exact_check.h"
#include "core/parallel.h"
#include "nn/proofs.h"
#include "tests/autograd/proofs_support.h"

namespace heddle {
namespace {

class Seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, ProveEveryCase) {
    std::vector<GradientCase> cases = all_cases();
    for (GradientCase& one : nn::module_cases()) cases.push_back(std::move(one));
    std::mutex lock;
    double forward = 0, adjoint = 0, model_adjoint = 0, hessian = 0;
    parallel_for(std::ssize(cases), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            const GradientCase& one = cases[i];
            GradcheckOptions options = one.options;
            options.seed = GetParam();
            const GradcheckReport report = gradcheck(one.function, one.inputs, options);
            const ExactReport exact = exact_check(one.function, one.inputs, options);
            const std::lock_guard held(lock);
            EXPECT_TRUE(report.passed) << one.op << ", " << one.what << ": " << report.message;
            EXPECT_LE(report.resolution, std::max(5e-9, i < all_cases().size() ? 0 : options.tolerance))
                << one.op << ", " << one.what;
            EXPECT_TRUE(exact.passed) << one.op << ", " << one.what << ": " << exact.message;
            forward = std::max(forward, exact.forward);
            double& widest = one.op == "transformer" ? model_adjoint : adjoint;
            widest = std::max(widest, exact.adjoint);
            hessian = std::max(hessian, exact.hessian);
        }
    });
    // The limits that exact_check.h states for 50 seeds.
    EXPECT_LE(forward, 5e-10);
    EXPECT_LE(adjoint, 1e-14);
    EXPECT_LE(model_adjoint, 5e-14);
    EXPECT_LE(hessian, 2e-15);
}

// Each seed takes some seconds: five, or 50 with HEDDLE_TEST_ALL=1.
INSTANTIATE_TEST_SUITE_P(Proofs, Seeds, testing::Range<std::uint64_t>(2, std::getenv("HEDDLE_TEST_ALL") != nullptr ? 52 : 7));

}  // namespace
}  // namespace heddle
