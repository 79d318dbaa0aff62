// Runs every fuzz target on its saved inputs, so that former findings stay fixed in all builds, also those without clang.
#include <gtest/gtest.h>

#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

class FuzzSeeds : public testing::TestWithParam<Target> {};

// A finding would end the process or throw.
TEST_P(FuzzSeeds, AreTakenOrRefused) {
    GetParam().run("");
    int inputs = 0;
    for (const auto& [name, bytes] : seeds_of(GetParam().name)) {
        SCOPED_TRACE(name);
        EXPECT_NO_THROW(GetParam().run(bytes));
        // Accidental damage: cut in the middle, and with one byte changed.
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
