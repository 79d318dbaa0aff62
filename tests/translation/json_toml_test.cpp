// JSON from untrusted files, and the part of TOML that configurations use.
#include "apps/translation/run/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/translation/run/toml.h"
#include "core/error.h"

namespace heddle::app {
namespace {

std::string nested(int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

TEST(BoundedJson, IsDiscardedWhenItIsNestedDeeperThanAnyFileOfARun) {
    EXPECT_FALSE(bounded_json(nested(16)).is_discarded());
    EXPECT_TRUE(bounded_json(nested(17)).is_discarded());
    EXPECT_TRUE(bounded_json(std::string(400000, '[')).is_discarded());
    EXPECT_TRUE(bounded_json(R"({"a": [1, 2)").is_discarded());
    const nlohmann::json brackets = bounded_json(R"(["[[[[[[[[[[[[[[[[[[[[[[", "\"[[[[[[[[[[[[[[[[[[[[[[[", "\\"])");
    ASSERT_EQ(brackets.size(), 3u);
    EXPECT_EQ(brackets[2], "\\");
}

// With a callback, nlohmann-json's parser walks over all earlier objects of an array at the end of each: minutes for this one.
TEST(BoundedJson, TakesTimeInProportionToItsSize) {
    std::string text = "[{}";
    for (int i = 1; i < 330000; ++i) text += ",{}";
    EXPECT_EQ(bounded_json(text + "]").size(), 330000u);
}

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
