// Which texts training prepares in the run's folder instead of holding them in memory.
#include "apps/translation/training/auto_packed_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "apps/translation/text/byte_source.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

class SizeOfText : public testing::Test {
  protected:
    SizeOfText() {
        options_.train = here_ / "text";
        options_.source = "a";
        options_.target = "b";
        options_.prepare_above = 1;
    }
    void write(const std::string& name, std::size_t bytes) const {
        std::ofstream(here_.path() / name, std::ios::binary) << std::string(bytes, 'x');
    }

    const TemporaryFolder here_;
    DataOptions options_;
};

TEST_F(SizeOfText, IsThatOfBothFiles) {
    write("text.a", 600'000);
    write("text.b", 400'000);
    EXPECT_FALSE(is_too_large_to_hold(options_)) << "1 MB is not more than 1 MB";
    write("text.b", 400'001);
    EXPECT_TRUE(is_too_large_to_hold(options_));
    options_.prepare_above.reset();
    EXPECT_FALSE(is_too_large_to_hold(options_));
    std::filesystem::resize_file(here_ / "text.a", default_prepare_above * 1'000'000);  // sparse: the zeros take no space
    EXPECT_TRUE(is_too_large_to_hold(options_));
    options_.task = "numbers";
    EXPECT_FALSE(is_too_large_to_hold(options_));
}

TEST_F(SizeOfText, IsFourTimesThatOfAPackedFile) {
    write("text.a.gz", 200'000);
    write("text.b", 200'000);
    EXPECT_FALSE(is_too_large_to_hold(options_));
    write("text.b", 200'001);
    EXPECT_TRUE(is_too_large_to_hold(options_));
}

TEST_F(SizeOfText, IsThatOfOneFileWithTwoColumns) {
    write("text", 1'000'001);
    options_.tsv = true;
    EXPECT_TRUE(is_too_large_to_hold(options_));
    write("text", 1'000'000);
    EXPECT_FALSE(is_too_large_to_hold(options_));
}

// Reading, not measuring, reports what is wrong with such files.
TEST_F(SizeOfText, IsNoneWhereThereIsNoFileOfASize) {
    options_.prepare_above = 0;
    EXPECT_FALSE(is_too_large_to_hold(options_));
    ASSERT_EQ(mkfifo((here_ / "text").c_str(), 0600), 0);
    options_.tsv = true;
    EXPECT_FALSE(is_too_large_to_hold(options_));
    options_.train = standard_input;
    EXPECT_FALSE(is_too_large_to_hold(options_));
    options_.train = "";
    EXPECT_FALSE(is_too_large_to_hold(options_));
}

}  // namespace
}  // namespace heddle::app
