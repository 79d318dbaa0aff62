// JSON from untrusted files.
#include "apps/translation/run/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace heddle::app
