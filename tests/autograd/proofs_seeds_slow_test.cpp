// No false alarms: every case is proven with other cotangents, directions and points, too.
#include <mutex>

#include "core/parallel.h"
#include "tests/autograd/proofs_support.h"

namespace heddle {
namespace {

class Seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, ProveEveryCase) {
    std::mutex lock;
    parallel_for(std::ssize(all_cases()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            const GradientCase& one = all_cases()[i];
            GradcheckOptions options = one.options;
            options.seed = GetParam();
            const GradcheckReport report = gradcheck(one.function, one.inputs, options);
            const std::lock_guard held(lock);
            EXPECT_TRUE(report.passed) << one.op << ", " << one.what << ": " << report.message;
            EXPECT_LE(report.resolution, 5e-9) << one.op << ", " << one.what;
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Proofs, Seeds, testing::Range<std::uint64_t>(2, 52));

}  // namespace
}  // namespace heddle
