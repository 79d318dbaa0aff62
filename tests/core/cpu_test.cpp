// core/cpu.h. The level is read once per process, so each setting is tested in a separate process.
#include "core/cpu.h"

#include <cstdio>
#include <cstdlib>

#include "tests/support.h"

namespace heddle {
namespace {

/// Exits with the level that HEDDLE_CPU_LEVEL=`wish` selects, or with 1 and the error message.
[[noreturn]] void exit_with_level(const char* wish) {
    setenv("HEDDLE_CPU_LEVEL", wish, 1);
    try {
        std::exit(static_cast<int>(cpu_level()));
    } catch (const Error& error) {
        std::fputs(error.what(), stderr);
        std::exit(1);
    }
}

/// The same with the level set by a program's option, in a process that has already used the level `used`, or none.
[[noreturn]] void exit_with_set_level(CpuLevel level, const char* used) {
    setenv("HEDDLE_CPU_LEVEL", used, 1);
    try {
        if (*used != '\0') cpu_level();
        set_cpu_level(level);
        setenv("HEDDLE_CPU_LEVEL", "v9", 1);  // no longer read
        std::exit(static_cast<int>(cpu_level()));
    } catch (const Error& error) {
        std::fputs(error.what(), stderr);
        std::exit(1);
    }
}

class CpuLevelDeathTest : public testing::Test {
  protected:
    // "threadsafe" restarts the program instead of forking it, so the level has not been read yet.
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

TEST_F(CpuLevelDeathTest, IsSetBeforeItsFirstUse) {
    EXPECT_EXIT(exit_with_set_level(CpuLevel::v2, ""), testing::ExitedWithCode(2), "");
    EXPECT_EXIT(exit_with_set_level(CpuLevel::v2, "v2"), testing::ExitedWithCode(2), "");
    if (processor_level() == CpuLevel::v2) return;
    EXPECT_EXIT(exit_with_set_level(CpuLevel::v3, ""), testing::ExitedWithCode(3), "");
    EXPECT_EXIT(exit_with_set_level(CpuLevel::v3, "v2"), testing::ExitedWithCode(1), "in use already; set the level before");
}

TEST_F(CpuLevelDeathTest, IsNotSetAboveTheProcessors) {
    if (processor_level() == CpuLevel::v4) GTEST_SKIP() << "this processor has every level";
    EXPECT_EXIT(exit_with_set_level(CpuLevel::v4, ""), testing::ExitedWithCode(1), "but this processor has");
}

TEST(CpuLevel, HasAWord) {
    for (const CpuLevel level : {CpuLevel::v2, CpuLevel::v3, CpuLevel::v4}) EXPECT_EQ(value_of<CpuLevel>(word_of(level)), level);
    for (const char* other : {"", "v", "v1", "v22", "v5", "V3", "3"}) EXPECT_FALSE(value_of<CpuLevel>(other)) << other;
}

// cpu_levels_test compares the bits.
TEST(CpuLevel, WithFusedMultiplyAddsHasTheSameBits) {
    for (const CpuLevel level : {CpuLevel::v2, CpuLevel::v3, CpuLevel::v4}) EXPECT_TRUE(same_bits(level, level));
    EXPECT_TRUE(same_bits(CpuLevel::v3, CpuLevel::v4));
    EXPECT_FALSE(same_bits(CpuLevel::v2, CpuLevel::v3));
    EXPECT_FALSE(same_bits(CpuLevel::v4, CpuLevel::v2));
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
