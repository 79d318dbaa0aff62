// Every fuzz target on its kept inputs: what once was a finding stays mended in all builds, those without clang too.
#include <gtest/gtest.h>

#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

class FuzzSeeds : public testing::TestWithParam<Target> {};

// A finding ends the process or throws.
TEST_P(FuzzSeeds, AreTakenOrRefused) {
    GetParam().run("");
    int inputs = 0;
    for (const auto& [name, bytes] : seeds_of(GetParam().name)) {
        SCOPED_TRACE(name);
        EXPECT_NO_THROW(GetParam().run(bytes));
        // Cut off in the middle, and with one byte that is another: what an accident leaves.
        EXPECT_NO_THROW(GetParam().run(std::string_view(bytes).substr(0, bytes.size() / 2)));
        for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 16) {
            std::string other = bytes;
            other[at] = static_cast<char>(other[at] ^ 0x11);
            EXPECT_NO_THROW(GetParam().run(other)) << "byte " << at;
        }
        ++inputs;
    }
    EXPECT_GE(inputs, 2);
}

INSTANTIATE_TEST_SUITE_P(Target, FuzzSeeds, testing::ValuesIn(targets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace heddle::fuzz
