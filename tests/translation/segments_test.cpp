// Blocks cut from large pieces (core/segments.h).
#include "core/segments.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/random.h"
#include "tests/support.h"

namespace heddle {
namespace {

std::byte* at(std::int64_t address) { return reinterpret_cast<std::byte*>(address); }

TEST(Segments, JoinWhatComesBack) {
    Segments segments;
    EXPECT_EQ(segments.take(1), nullptr);
    segments.add(at(4096), 1024);
    std::byte* const a = segments.take(1);
    std::byte* const b = segments.take(257);
    std::byte* const c = segments.take(256);
    EXPECT_EQ(a, at(4096));
    EXPECT_EQ(b, at(4096 + 256));
    EXPECT_EQ(c, at(4096 + 768));
    EXPECT_EQ(segments.take(1), nullptr) << "all is taken";
    segments.give(a);
    segments.give(c);
    EXPECT_EQ(segments.take(512), nullptr) << "free, but not in one piece";
    EXPECT_TRUE(segments.release().empty());
    segments.give(b);
    EXPECT_EQ(segments.take(1024), at(4096));
    expect_error([&] { segments.give(at(4096 + 256)); }, "was not given");
    segments.give(at(4096));
    expect_error([&] { segments.give(at(4096)); }, "was not given");
    EXPECT_EQ(segments.release(), std::vector<std::byte*>{at(4096)});
    EXPECT_EQ(segments.take(1), nullptr);
}

// Two pieces that happen to be adjacent in memory are not joined.
TEST(Segments, NeverJoinTwoPieces) {
    Segments segments;
    segments.add(at(1024), 1024);
    segments.add(at(2048), 1024);
    std::byte* const a = segments.take(1024);
    std::byte* const b = segments.take(1024);
    segments.give(b);
    segments.give(a);
    EXPECT_EQ(segments.take(2048), nullptr);
    EXPECT_EQ(segments.release().size(), 2u);
}

TEST(Segments, TakeTheSmallestThatFits) {
    Segments segments;
    segments.add(at(0x10000), 1024);
    segments.add(at(0x20000), 512);
    EXPECT_EQ(segments.take(512), at(0x20000));
    EXPECT_EQ(segments.take(512), at(0x10000));
}

// Thousands of random requests: blocks never overlap and never leave their pieces, and in the end everything is whole again.
TEST(Segments, HoldUnderRandomUse) {
    Sequence numbers(3);
    Segments segments;
    constexpr std::int64_t piece = 1 << 20;
    for (const std::int64_t begin : {std::int64_t{1} << 30, std::int64_t{1} << 31}) segments.add(at(begin), piece);
    std::map<std::byte*, std::int64_t> taken;
    for (int i = 0; i < 20000; ++i) {
        if (numbers.below(2) == 0 && !taken.empty()) {
            auto one = taken.begin();
            std::advance(one, static_cast<std::ptrdiff_t>(numbers.below(taken.size())));
            segments.give(one->first);
            taken.erase(one);
            continue;
        }
        const auto bytes = static_cast<std::int64_t>(1 + numbers.below(40000));
        std::byte* const block = segments.take(bytes);
        if (block == nullptr) continue;
        const auto address = reinterpret_cast<std::int64_t>(block);
        EXPECT_EQ(address % Segments::kAlignment, 0);
        EXPECT_LE(address % (std::int64_t{1} << 30) + bytes, piece);
        const auto [self, added] = taken.emplace(block, bytes);
        ASSERT_TRUE(added);
        if (self != taken.begin()) {
            EXPECT_LE(std::prev(self)->first + std::prev(self)->second, block);
        }
        if (std::next(self) != taken.end()) {
            EXPECT_LE(block + bytes, std::next(self)->first);
        }
    }
    EXPECT_GT(taken.size(), 20u);
    for (const auto& [block, bytes] : taken) segments.give(block);
    EXPECT_NE(segments.take(piece), nullptr);
    EXPECT_NE(segments.take(piece), nullptr);
    EXPECT_EQ(segments.take(1), nullptr);
}

}  // namespace
}  // namespace heddle
