#include "apps/translation/run/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/error.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;

TEST(Toml, ReadsStringsNumbersArraysAndComments) {
    std::istringstream stream(
        "# comment\n\na = 1 # one\nb= 'li#te\\ral'\n  c = \"t\\\"\\n\\\\\"\r\nd = [0.5, 'x', ]\n\"e\" = true");
    const std::vector<TomlItem> items = read_toml(stream, "t");
    ASSERT_EQ(items.size(), 5u);
    EXPECT_EQ(items[0].values, std::vector<std::string>{"1"});
    EXPECT_EQ(items[1].values, std::vector<std::string>{"li#te\\ral"});
    EXPECT_EQ(items[2].values, std::vector<std::string>{"t\"\n\\"});
    EXPECT_EQ(items[3].values, (std::vector<std::string>{"0.5", "x"}));
    EXPECT_EQ(items[4].key, "e");
    EXPECT_EQ(items[4].line, 7);
}

TEST(Toml, DoesNotTakeALackOfMemoryForTheEndOfTheText) {
    struct Failing : std::streambuf {
        int_type underflow() override { throw std::bad_alloc(); }
    } buffer;
    std::istream stream(&buffer);
    EXPECT_THROW(read_toml(stream, "config.toml"), std::bad_alloc);
}

TEST(Toml, RejectsWhatItDoesNotUnderstand) {
    for (const char* text : {"[table]", "a", "a =", "a = \"x", "a = 1 2", "a = [1", "a = [1 2]", "= 1", "a = \"\\q\""}) {
        std::istringstream stream(text);
        EXPECT_THROW(read_toml(stream, "t"), UsageError) << text;
    }
}

}  // namespace
}  // namespace heddle::app
