// core/cpu.h. The level is read once per process, so each wish is tried in a process of its own.
#include "core/cpu.h"

#include <cstdio>
#include <cstdlib>

#include "tests/support.h"

namespace heddle {
namespace {

/// Ends the process with the level that HEDDLE_CPU_LEVEL=`wish` leads to, or with 1 and the error's text.
[[noreturn]] void exit_with_level(const char* wish) {
    setenv("HEDDLE_CPU_LEVEL", wish, 1);
    try {
        std::exit(static_cast<int>(cpu_level()));
    } catch (const Error& error) {
        std::fputs(error.what(), stderr);
        std::exit(1);
    }
}

class CpuLevelDeathTest : public testing::Test {
  protected:
    // "threadsafe" starts the program anew instead of forking it, so the level is not read yet.
    void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(CpuLevelDeathTest, CanBeLoweredButNotRaisedByTheEnvironment) {
    const int best = static_cast<int>(processor_level());
    for (int level = 2; level <= 4; ++level) {
        const std::string wish = "v" + std::to_string(level);
        if (level <= best)
            EXPECT_EXIT(exit_with_level(wish.c_str()), testing::ExitedWithCode(level), "");
        else
            EXPECT_EXIT(exit_with_level(wish.c_str()), testing::ExitedWithCode(1), "but this processor has");
    }
}

TEST_F(CpuLevelDeathTest, IsTheProcessorsWhenTheEnvironmentSaysNothing) {
    EXPECT_EXIT(exit_with_level(""), testing::ExitedWithCode(static_cast<int>(processor_level())), "");
}

TEST_F(CpuLevelDeathTest, RefusesWhatIsNoLevel) {
    for (const char* wish : {"v1", "v5", "avx2", "3", "v33"})
        EXPECT_EXIT(exit_with_level(wish), testing::ExitedWithCode(1), "wanted v2, v3 or v4") << wish;
}

TEST(CpuLevel, HasAName) {
#if defined(__x86_64__)
    EXPECT_EQ(name(CpuLevel::v2), "v2 (SSE4.2)");
#else
    EXPECT_EQ(name(CpuLevel::v2), "v2 (the baseline)");
#endif
    EXPECT_EQ(name(CpuLevel::v3), "v3 (AVX2)");
    EXPECT_EQ(name(CpuLevel::v4), "v4 (AVX-512)");
}

}  // namespace
}  // namespace heddle
