// Rounding of tensor cores: hand-computed cases for each part of the rule, and the bits of mmasim for 200 tiles each.
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>

#include "tests/documents.h"
#include "tests/emulator/tensor_core_tiles.h"
#include "tests/shell.h"

namespace heddle::emulator {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

float power(int exponent) { return std::ldexp(1.0f, exponent); }

// c + sum of a[i] b[i] by one mma: every element of the tile is this sum, and all have the same bits.
std::uint32_t sum_by_mma(const Instruction& instruction, const TensorCores& cores, const std::vector<float>& a,
                         const std::vector<float>& b, float c) {
    Tiles tiles;
    const auto k = static_cast<std::size_t>(instruction.k);
    tiles.a.assign(16 * k, 0);
    tiles.b.assign(k * 8, 0);
    tiles.c.assign(128, c);
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t row = 0; row < 16; ++row) tiles.a[row * k + i] = a[i];
        for (std::size_t column = 0; column < 8; ++column) tiles.b[i * 8 + column] = b[i];
    }
    multiply(instruction, cores, tiles);
    for (const std::uint32_t bits : tiles.d) EXPECT_EQ(bits, tiles.d[0]);
    return tiles.d[0];
}
float sum_of(const TensorCores& cores, const std::vector<float>& a, const std::vector<float>& b, float c = 0,
             const Instruction& instruction = kBf16) {
    return std::bit_cast<float>(sum_by_mma(instruction, cores, a, b, c));
}

TEST(TensorCoreSums, TermsLoseTheirBitsBelowTheLargestOne) {
    // Added to 1, a term of 2^-24 counts on both chips, one of 2^-25 only on Hopper.
    EXPECT_EQ(sum_of(kAmpere, {1, 1}, {1, -power(-24)}), 1 - power(-24));
    EXPECT_EQ(sum_of(kHopper, {1, 1}, {1, -power(-24)}), 1 - power(-24));
    EXPECT_EQ(sum_of(kAmpere, {1, 1}, {1, -power(-25)}), 1);
    EXPECT_EQ(sum_of(kHopper, {1, 1}, {1, -power(-25)}), 1 - power(-24));  // to nearest: 1
    EXPECT_EQ(sum_of(kHopper, {1, 1}, {1, -power(-26)}), 1);
    // Seven terms of 2^-25 are lost one by one on Ampere, though their sum is nearly 2^-22.
    const std::vector<float> ones(8, 1);
    std::vector<float> small(8, power(-25));
    small[0] = 1;
    EXPECT_EQ(sum_of(kAmpere, ones, small), 1);
    EXPECT_EQ(sum_of(kHopper, ones, small), 1 + power(-23));  // 7 * 2^-25, truncated to a multiple of 2^-23; to nearest: 2^-22
}

TEST(TensorCoreSums, TheResultIsTruncatedTowardZero) {
    for (const TensorCores& cores : {kAmpere, kHopper}) {
        EXPECT_EQ(sum_of(cores, {1, 1}, {1, 3 * power(-25)}), 1);
        EXPECT_EQ(sum_of(cores, {1, 1}, {-1, -3 * power(-25)}), -1);
        EXPECT_EQ(sum_of(cores, {1}, {power(-24)}, 1 + power(-23)), 1 + power(-23));  // a tie; to nearest even: 1 + 2^-22
    }
}

TEST(TensorCoreSums, TheSumOfSmallTermsComesBeforeTheLargeOne) {
    // 2^24 cancels within the sum, and bits below its last bit are lost before that.
    for (const TensorCores& cores : {kAmpere, kHopper}) {
        const float left = power(24), lost = cores.fraction_bits == 24 ? 1.0f : 1.5f;
        EXPECT_EQ(sum_of(cores, {left, left, 1}, {1, -1, 1.5f}), lost);
    }
}

TEST(TensorCoreSums, TheExponentOfAProductIsNotNormalised) {
    // 1.5 * 1.5 = 2.25 counts as 2^0, so one more bit of the other terms is kept than with its own exponent, 2^1.
    const float tiny = power(-24);
    EXPECT_EQ(sum_of(kAmpere, {1.5f, 1.5f, 1}, {1.5f, -1.5f, tiny}), tiny);
    EXPECT_EQ(sum_of(kAmpere, {2, 2, 1}, {1, -1, tiny}), 0);
}

TEST(TensorCoreSums, AmpereAddsTheHalvesOfKOneAfterTheOther) {
    // 1 in the first half, -1 and 2^-24 in the second: the first half's result, 1, is c of the second, relative to which 2^-24
    // is the last bit that is kept.
    std::vector<float> a(16, 0), b(16, 0);
    a[0] = b[0] = a[8] = a[9] = 1;
    b[8] = -1;
    b[9] = power(-24);
    EXPECT_EQ(sum_of(kAmpere, a, b), power(-24));
    // On Ampere 2^25 + 1 loses the 1 in the first half, and - 2^25 in the second gives 0. Hopper adds all three at once.
    std::vector<float> x(16, 0), y(16, 1);
    x[0] = power(25);
    x[1] = 1;
    x[8] = -power(25);
    EXPECT_EQ(sum_of(kAmpere, x, y), 0);
    EXPECT_EQ(sum_of(kHopper, x, y), 1);
    // tf32: halves of four.
    x = {power(25), 1, 0, 0, -power(25), 0, 0, 0};
    y.assign(8, 1);
    EXPECT_EQ(sum_of(kAmpere, x, y, 0, kTf32), 0);
    EXPECT_EQ(sum_of(kHopper, x, y, 0, kTf32), 1);
}

TEST(TensorCoreSums, Tf32OperandsLoseTheirLowBits) {
    EXPECT_EQ(sum_of(kHopper, {1 + power(-11)}, {1}, 0, kTf32), 1);
    EXPECT_EQ(sum_of(kHopper, {std::bit_cast<float>(0x7f800001u)}, {1}, 0, kTf32), kInfinity);  // a NaN of low bits only
}

TEST(TensorCoreSums, SpecialValues) {
    for (const TensorCores& cores : {kAmpere, kHopper}) {
        for (const Instruction& instruction : {kBf16, kTf32}) {
            const auto bits = [&](const std::vector<float>& a, const std::vector<float>& b, float c = 0) {
                return sum_by_mma(instruction, cores, a, b, c);
            };
            constexpr std::uint32_t kCanonical = 0x7fffffffu;
            EXPECT_EQ(bits({kNaN}, {1}), kCanonical);
            EXPECT_EQ(bits({1}, {-kNaN}), kCanonical);
            EXPECT_EQ(bits({1}, {1}, -kNaN), kCanonical);
            EXPECT_EQ(bits({kInfinity}, {0}), kCanonical);
            EXPECT_EQ(bits({kInfinity, kInfinity}, {1, -1}), kCanonical);
            EXPECT_EQ(bits({kInfinity}, {1}, -kInfinity), kCanonical);
            EXPECT_EQ(bits({kInfinity}, {-2}, kLargest), std::bit_cast<std::uint32_t>(-kInfinity));
            EXPECT_EQ(bits({0}, {1}, -0.0f), 0u);
            EXPECT_EQ(bits({-0.0f}, {1}, -0.0f), 0u);
            EXPECT_EQ(bits({1, 1}, {-1, 1}), 0u);
        }
    }
}

TEST(TensorCoreSums, LargeProductsOverflowOnlyInTheResult) {
    for (const TensorCores& cores : {kAmpere, kHopper}) {
        EXPECT_EQ(sum_of(cores, {power(100)}, {power(28)}), kInfinity);
        EXPECT_EQ(sum_of(cores, {power(100), power(100)}, {power(28), -power(27)}), power(127));
        EXPECT_EQ(sum_of(cores, {power(127), power(127)}, {power(127), -power(127)}), 0);
        EXPECT_EQ(sum_of(cores, {1}, {power(103)}, kLargest), kLargest);  // to nearest: infinity
        EXPECT_EQ(sum_of(cores, {1}, {power(104)}, kLargest), kInfinity);
    }
}

TEST(TensorCoreSums, SmallResultsAreSubnormal) {
    for (const TensorCores& cores : {kAmpere, kHopper}) {
        EXPECT_EQ(sum_of(cores, {power(-70)}, {power(-70)}), power(-140));
        EXPECT_EQ(sum_of(cores, {power(-75)}, {1.5f * power(-74)}), kSmallest);
        EXPECT_EQ(sum_of(cores, {power(-75)}, {1.5f * power(-75)}), 0);
        EXPECT_EQ(sum_of(cores, {power(-75)}, {-1.5f * power(-75)}, kSmallest), 0);
        EXPECT_EQ(sum_of(cores, {power(-126)}, {power(-7)}, -kSmallest), power(-133) - kSmallest);
        // A subnormal has the exponent -126, whatever its leading bit.
        EXPECT_EQ(sum_of(cores, {power(-133)}, {power(20)}, kSmallest), power(-113));
    }
}

TEST(TensorCoreSums, AZeroStillHasAnExponent) {
    // Seven terms of 1.15625 * 2^-152 beside a zero make more than 2^-149, the smallest f32. Ampere cuts them at 2^-156,
    // to 1.125.
    const std::vector<float> a(7, power(-80)), b(7, 1.15625f * power(-72));
    EXPECT_EQ(sum_of(kAmpere, a, b), 0);
    EXPECT_EQ(sum_of(kHopper, a, b), kSmallest);
}

// Only this test, in a process with these settings, which the test below starts.
TEST(TensorCoreSums, AreThoseOfTheChipOrTheSetting) {
    const char* const setting = std::getenv("HEDDLE_EMULATOR_TENSOR_CORES");
    const bool ampere = setting != nullptr ? setting == kAmpere.name : profile().major < 9;
    EXPECT_EQ(tensor_cores().name, ampere ? kAmpere.name : kHopper.name);
    EXPECT_EQ(sum_of(tensor_cores(), {1, 1}, {1, -power(-25)}), ampere ? 1 : 1 - power(-24));
}

TEST(TensorCoreSums, ProcessesChooseTheirChip) {
    const auto run = [](const std::string& settings) {
        const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
        return shell(settings + " " + quoted(self) + " --gtest_filter=TensorCoreSums.AreThoseOfTheChipOrTheSetting 2>&1");
    };
    for (const char* settings : {"HEDDLE_EMULATOR_CHIP=sm_80", "HEDDLE_EMULATOR_CHIP=sm_89", "HEDDLE_EMULATOR_CHIP=sm_90",
                                 "HEDDLE_EMULATOR_CHIP=sm_80 HEDDLE_EMULATOR_TENSOR_CORES=hopper",
                                 "HEDDLE_EMULATOR_CHIP=sm_90 HEDDLE_EMULATOR_TENSOR_CORES=ampere"}) {
        const ShellOutput output = run(settings);
        EXPECT_EQ(output.status, 0) << settings << ": " << output.text;
    }
    const ShellOutput wrong = run("HEDDLE_EMULATOR_TENSOR_CORES=volta");
    EXPECT_NE(wrong.status, 0);
    EXPECT_NE(wrong.text.find("HEDDLE_EMULATOR_TENSOR_CORES=volta: wanted ampere (sm_80 to sm_89) or hopper (sm_90)"),
              std::string::npos)
        << wrong.text;
}

// Both implementations of a tile give the same bits: rows of ordinary values are computed in vectors, others by fused_sum.
TEST(TensorCoreSums, TheFastWayGivesTheBitsOfTheRule) {
    for (const Instruction& instruction : {kBf16, kTf32}) {
        Tiles tiles = make_tiles(instruction, 100);
        for (const TensorCores& cores : {kAmpere, kHopper}) {
            multiply(instruction, cores, tiles);
            const int k = instruction.k, terms = std::min(k, cores.fused_bytes / (k == 16 ? 2 : 4));
            for (std::size_t i = 0; i < tiles.d.size(); ++i) {
                const std::size_t tile = i / 128, row = i / 8 % 16, column = i % 8;
                std::vector<float> a, b;
                for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
                    const auto dropped = [&](float x) {
                        return k == 16 ? x : float_of_bits(std::bit_cast<std::uint32_t>(x) & 0xffffe000u);
                    };
                    a.push_back(dropped(tiles.a[(tile * 16 + row) * static_cast<std::size_t>(k) + j]));
                    b.push_back(dropped(tiles.b[(tile * static_cast<std::size_t>(k) + j) * 8 + column]));
                }
                float sum = tiles.c[i];
                for (int j = 0; j < k; j += terms) sum = fused_sum(cores, a.data() + j, b.data() + j, terms, sum);
                ASSERT_EQ(tiles.d[i], std::bit_cast<std::uint32_t>(sum))
                    << instruction.name << " " << cores.name << ", tile " << tile << ", row " << row << ", column " << column;
            }
        }
    }
}

// tests/golden/tensor_cores.txt: "bf16 ampere HASH", of mmasim's results; emulator_tensor_core_oracle_slow_test.cpp names the
// element that differs.
TEST(TensorCoreSums, TwoHundredTilesHaveTheBitsOfMmasim) {
    std::ostringstream hashes;
    for (const Instruction& each : {kBf16, kTf32}) {
        Tiles tiles = make_tiles(each, 200);
        for (const TensorCores& cores : {kAmpere, kHopper}) {
            multiply(each, cores, tiles);
            hashes << each.name << " " << cores.name << " " << std::hex << hash_of_tiles(tiles.d) << "\n";
        }
    }
    EXPECT_EQ(hashes.str(), project_file("tests/golden/tensor_cores.txt"));
}

}  // namespace
}  // namespace heddle::emulator
