// core/random.h: Philox, dropout decisions, keys, fillers and the sequential generator.
#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "tests/support.h"

namespace heddle {
namespace {

// The vectors "philox4x32 10" of Random123's tests/kat_vectors.
TEST(Philox, GivesThePublishedKnownAnswers) {
    EXPECT_EQ(philox4x32(0, {0, 0, 0, 0}), (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
              (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
              (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsKnownAtCompileTime) { static_assert(philox4x32(0, {0, 0, 0, 0})[0] == 0x6627e8d5); }

TEST(Dropout, TakesSixteenBitsOfTheDocumentedWord) {
    const DropoutMask dropout(0.3, 77);
    for (std::int64_t column = 0; column < 64; ++column) {
        const Counter bits = philox4x32(77, {static_cast<std::uint32_t>(column / 8), 5, 6, 7});
        const std::int64_t j = column % 8;
        const std::uint32_t sixteen = (bits[static_cast<std::size_t>(j / 2)] >> (j % 2 * 16)) & 0xffff;
        EXPECT_EQ(dropout.keeps(column, 5, 6, 7), sixteen >= dropout.threshold) << column;
    }
}

TEST(Dropout, AddressesARowByAllItsBits) {
    const DropoutMask dropout(0.5, 3);
    const auto mask = [&](std::int64_t row) {
        std::uint64_t bits = 0;
        for (std::int64_t column = 0; column < 64; ++column) bits = bits << 1 | (dropout.keeps_row(row, column) ? 1u : 0u);
        return bits;
    };
    const std::set<std::uint64_t> masks{mask(0), mask(1), mask(1LL << 31), mask(1LL << 32), mask((1LL << 32) + 1)};
    EXPECT_EQ(masks.size(), 5u);
    EXPECT_EQ(dropout.keeps_row((5LL << 32) + 9, 11), dropout.keeps(11, 9, 5, 0));
}

TEST(Dropout, DropsAsOftenAsAsked) {
    for (const double probability : {0.01, 0.1, 0.5, 0.9}) {
        const DropoutMask dropout(probability, 11);
        constexpr int kCount = 400'000;
        int dropped = 0;
        for (int i = 0; i < kCount; ++i) dropped += dropout.keeps_row(i / 512, i % 512) ? 0 : 1;
        const double deviation = std::sqrt(kCount * probability * (1 - probability));
        EXPECT_NEAR(dropped, kCount * probability, 5 * deviation) << probability;
    }
}

TEST(Dropout, ScalesSoThatTheMeanStays) {
    for (const double probability : {0.1, 0.2, 1.0 / 3, 0.75}) {
        const DropoutMask dropout(probability, 1);
        // Exactly the inverse of the keep probability given by the threshold, which is within 2^-17 of the requested one.
        EXPECT_DOUBLE_EQ(dropout.scale() * (65536 - dropout.threshold) / 65536, 1);
        EXPECT_NEAR(1 / dropout.scale(), 1 - probability, 0x1p-17);
    }
    EXPECT_EQ(DropoutMask(0.5, 1).scale(), 2);
}

TEST(Dropout, IsOffAtZeroAndRefusesWhatIsNoProbability) {
    const DropoutMask off(0, 5);
    EXPECT_FALSE(off.active());
    EXPECT_FALSE(DropoutMask().active());
    EXPECT_EQ(off.scale(), 1);
    for (std::int64_t i = 0; i < 1000; ++i) EXPECT_TRUE(off.keeps_row(i, i));
    expect_error([] { DropoutMask(1.0, 1); }, "probability 1");
    expect_error([] { DropoutMask(-0.1, 1); }, "probability -0.1");
    expect_error([] { DropoutMask(std::numeric_limits<double>::quiet_NaN(), 1); }, "probability nan");
    expect_error([] { DropoutMask(0.999999, 1); }, "leaves nothing");
}

// The number of different keys from draw(generator, name) for 2 seeds, 3 updates, 3 micro-batches, 3 names and 3 calls each.
template <class Draw>
std::size_t different_keys(Draw&& draw) {
    std::set<std::uint64_t> keys;
    for (const std::uint64_t seed : {1, 2})
        for (const std::uint64_t update : {0, 1, 2})
            for (const std::uint64_t micro_batch : {0, 1, 2}) {
                Generator random;
                random.seed = seed;
                random.start(update, micro_batch);
                for (const char* name : {"encoder.layers.0", "encoder.layers.1", ""})
                    for (int call = 0; call < 3; ++call) keys.insert(draw(random, name));
            }
    return keys.size();
}

// Seed 1 with update 2 must not be seed 2 with update 1.
TEST(Generator, KeysDifferByEveryPartOfTheAddress) {
    EXPECT_EQ(different_keys([](Generator& random, const char* name) { return random.next_key(name); }), 2u * 3 * 3 * 3 * 3);
}

TEST(Generator, ARestartedStepDrawsTheSameKeys) {
    Generator random;
    random.start(7, 1);
    const std::uint64_t first = random.next_key("dropout");
    const std::uint64_t second = random.next_key("dropout");
    random.start(8, 0);
    random.next_key("dropout");
    random.start(7, 1);
    random.next_key("another module in between");
    EXPECT_EQ(random.next_key("dropout"), first);
    EXPECT_EQ(random.next_key("dropout"), second);
}

// Runs must be reproducible from their seed on other machines and in later versions, so these values must never change.
TEST(Generator, KeysAreTheSameForever) {
    Generator random;
    random.start(3, 0);
    EXPECT_EQ(stable_hash(""), 0xefd01f60ba992926ULL);
    EXPECT_EQ(stable_hash("encoder.layers.0"), 0x8bb8458a45a3e1a6ULL);
    EXPECT_EQ(random.next_key("encoder.layers.0"), 0x582a049de4bb47fcULL);
}

struct Moments {
    double mean = 0;
    double variance = 0;
    double skewness = 0;
    double kurtosis = 0;
};

Moments moments(const std::vector<double>& values) {
    Moments result;
    const auto n = static_cast<double>(values.size());
    result.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    for (const double value : values) result.variance += (value - result.mean) * (value - result.mean) / n;
    for (const double value : values) {
        const double z = (value - result.mean) / std::sqrt(result.variance);
        result.skewness += z * z * z / n;
        result.kurtosis += z * z * z * z / n;
    }
    return result;
}

TEST(FillNormal, HasTheMomentsOfANormalDistribution) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        Tensor tensor = Tensor::empty({200'000}, dtype);
        fill_normal(tensor, 3, 2, 42);
        const Moments m = moments(tensor.to_vector());
        // Five standard errors: 1, sqrt(2), sqrt(6) and sqrt(24) over sqrt(n).
        EXPECT_NEAR((m.mean - 3) / 2, 0, 5 * 0.0022);
        EXPECT_NEAR(m.variance / 4, 1, 5 * 0.0032);
        EXPECT_NEAR(m.skewness, 0, 5 * 0.0055);
        EXPECT_NEAR(m.kurtosis, 3, 5 * 0.011);
    }
}

TEST(FillUniform, CoversItsRangeEvenly) {
    Tensor tensor = Tensor::empty({200'000}, DType::f32);
    fill_uniform(tensor, -2, 4, 44);
    const std::vector<double> values = tensor.to_vector();
    const Moments m = moments(values);
    EXPECT_NEAR(m.mean, 1, 5 * 6 / std::sqrt(12 * 200'000));
    EXPECT_NEAR(m.variance, 3, 5 * 0.006);
    EXPECT_NEAR(m.kurtosis, 1.8, 0.01);
    EXPECT_GE(std::ranges::min(values), -2);
    EXPECT_LT(std::ranges::max(values), 4);
}

TEST(FillUniform, NeverReachesTheUpperEndByRounding) {
    // With this key the 53-bit value of element 0 is above 1 - 2^-25, which f32 rounds to 1.
    constexpr std::uint64_t kNearlyOne = 34408659;
    Tensor single = Tensor::empty({1}, DType::f32);
    fill_uniform(single, 0, 1, kNearlyOne);
    EXPECT_LT(single.item(), 1);
    EXPECT_GT(single.item(), 0.999999);
    fill_uniform(single, -3, -2, kNearlyOne);
    EXPECT_LT(single.item(), -2);
    Tensor narrow = Tensor::empty({1000}, DType::f64);
    fill_uniform(narrow, 1, 1 + 0x1p-51, 5);
    EXPECT_LT(std::ranges::max(narrow.to_vector()), 1 + 0x1p-51);
}

TEST(Fill, ElementsDependOnKeyAndPlaceOnly) {
    Tensor small = Tensor::empty({10}, DType::f64);
    Tensor large = Tensor::empty({3, 100}, DType::f64);
    Tensor other = Tensor::empty({10}, DType::f64);
    for (const auto fill : {fill_normal, fill_uniform}) {
        fill(small, 0, 1, 9);
        fill(large, 0, 1, 9);
        fill(other, 0, 1, 10);
        const std::vector<double> all = large.to_vector();
        EXPECT_EQ(small.to_vector(), std::vector<double>(all.begin(), all.begin() + 10));
        EXPECT_NE(small.to_vector(), other.to_vector());
    }
}

TEST(Fill, BumpsTheVersionAndRefusesOtherDTypes) {
    Tensor tensor = Tensor::empty({3}, DType::f32);
    const std::uint64_t version = tensor.version();
    fill_normal(tensor, 0, 1, 1);
    fill_uniform(tensor, 0, 1, 1);
    EXPECT_EQ(tensor.version(), version + 2);
    Tensor integers = Tensor::empty({3}, DType::i32);
    expect_error([&] { fill_normal(integers, 0, 1, 1); }, "fill_normal: the CPU computes in f32 or f64, but was given i32");
    expect_error([&] { fill_uniform(tensor, 1, 0, 1); }, "fill_uniform: numbers from 1 to 0");
}

TEST(Sequence, RepeatsForItsKeyAndDiffersForAnother) {
    Sequence a(1);
    Sequence b(1);
    Sequence c(2);
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t number = a.next();
        EXPECT_EQ(number, b.next());
        EXPECT_NE(number, c.next());
    }
}

TEST(Sequence, BelowIsUniform) {
    for (const std::uint64_t bound : {1, 2, 3, 7, 10, 1000}) {
        Sequence random(bound);
        std::vector<double> counts(bound);
        constexpr int kDraws = 100'000;
        for (int i = 0; i < kDraws; ++i) {
            const std::uint64_t value = random.below(bound);
            ASSERT_LT(value, bound);
            counts[value] += 1;
        }
        const double expected = kDraws / static_cast<double>(bound);
        double chi_squared = 0;
        for (const double count : counts) chi_squared += (count - expected) * (count - expected) / expected;
        const auto freedom = static_cast<double>(bound - 1);
        EXPECT_LE(std::abs(chi_squared - freedom), 5 * std::sqrt(2 * freedom) + 1e-9) << bound;
    }
}

TEST(Sequence, BelowDoesNotFavourSmallNumbersUnderAHugeBound) {
    // With next() % bound, two thirds of the values below 3 * 2^62 would be in the first third.
    constexpr std::uint64_t kThird = 1ULL << 62;
    Sequence random(5);
    int small = 0;
    for (int i = 0; i < 30'000; ++i) small += random.below(3 * kThird) < kThird ? 1 : 0;
    EXPECT_NEAR(small, 10'000, 5 * std::sqrt(30'000 * 2.0 / 9));
    expect_error([&] { random.below(0); }, "below 0");
}

TEST(Sequence, ShuffleReachesEveryOrderEquallyOften) {
    Sequence random(7);
    std::map<std::vector<int>, int> counts;
    for (int i = 0; i < 24'000; ++i) {
        std::vector<int> values{0, 1, 2, 3};
        random.shuffle(values);
        ++counts[values];
    }
    EXPECT_EQ(counts.size(), 24u);
    for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000));
}

}  // namespace
}  // namespace heddle
