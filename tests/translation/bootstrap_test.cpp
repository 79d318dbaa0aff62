#include "apps/translation/metrics/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/numbers.h"
#include "tests/support.h"
#include "tests/unicode_test_lines.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;

/// Statistics of two systems on the same lines.
struct Systems {
    std::vector<LineStatistics> first;
    std::vector<LineStatistics> second;

    explicit Systems(const UnicodeTestLines& lines)
        : first(line_statistics(lines.first, lines.references)), second(line_statistics(lines.second, lines.references)) {}
};

std::vector<double> numbers_in(const std::vector<Comparison>& comparisons) {
    std::vector<double> out;
    for (const Comparison& one : comparisons) {
        for (const ResampledScore& system : {one.first, one.second})
            out.insert(out.end(), {system.score, system.mean, system.low, system.high});
        out.insert(out.end(), {one.difference, one.p});
    }
    return out;
}

// The tolerance is 1e-3 because sacrebleu sums resamples in f32.
TEST(Bootstrap, EqualsSacrebleuOnTheSameDraws) {
    const nlohmann::json golden = golden_scores(), wanted = golden.at("bootstrap");
    const Systems systems(unicode_test_lines(golden.at("seed"), wanted.at("lines")));
    const std::vector<Comparison> made =
        paired_bootstrap(systems.first, systems.second, wanted.at("resamples"), wanted.at("seed"));
    ASSERT_EQ(made.size(), all_metrics.size());
    for (std::size_t m = 0; m < made.size(); ++m) {
        const nlohmann::json& metric = wanted.at(score_keys[m]);
        SCOPED_TRACE(score_keys[m]);
        EXPECT_NEAR(made[m].p, metric.at("p").get<double>(), 1e-9);
        EXPECT_GT(made[m].p, 0.01) << "a p of 1 / (1 + resamples) proves little";
        for (const auto& [system, key] : {std::pair(made[m].first, "first"), std::pair(made[m].second, "second")}) {
            EXPECT_NEAR(system.score, metric.at(key).at("score").get<double>(), 1e-9);
            EXPECT_NEAR(system.mean, metric.at(key).at("mean").get<double>(), 1e-3);
            EXPECT_NEAR((system.high - system.low) / 2, metric.at(key).at("half_width").get<double>(), 1e-3);
        }
    }
}

/// A literal implementation: draws lines instead of statistics, and scores them as a corpus. By metric and resample.
struct PlainBootstrap {
    std::array<std::vector<double>, 3> first;
    std::array<std::vector<double>, 3> second;

    PlainBootstrap(const UnicodeTestLines& lines, std::uint64_t resamples, std::uint64_t seed) {
        for (std::uint64_t i = 0; i < resamples; ++i) {
            Generator keys;
            keys.seed = seed;
            keys.start(i, 0);
            Sequence numbers(keys.next_key("bootstrap"));
            UnicodeTestLines drawn;
            for (std::size_t n = 0; n < lines.references.size(); ++n) {
                const std::uint64_t line = numbers.below(lines.references.size());
                drawn.references.push_back(lines.references[line]);
                drawn.first.push_back(lines.first[line]);
                drawn.second.push_back(lines.second[line]);
            }
            const Systems systems(drawn);
            for (std::size_t m = 0; m < all_metrics.size(); ++m) {
                first[m].push_back(corpus_score(all_metrics[m], sum(systems.first)));
                second[m].push_back(corpus_score(all_metrics[m], sum(systems.second)));
            }
        }
    }

    double p(std::size_t metric, double difference) const {
        std::vector<double> moved;
        for (std::size_t i = 0; i < first[metric].size(); ++i) moved.push_back(std::abs(first[metric][i] - second[metric][i]));
        double mean = 0;
        for (const double d : moved) mean += d / static_cast<double>(moved.size());
        double count = 1;
        for (const double d : moved) count += d - mean > std::abs(difference) ? 1 : 0;
        return count / static_cast<double>(1 + moved.size());
    }
};

TEST(Bootstrap, EqualsThePlainDefinition) {
    const UnicodeTestLines lines = unicode_test_lines(8, 40);
    const Systems systems(lines);
    const std::vector<Comparison> made = paired_bootstrap(systems.first, systems.second, 120, 9);
    PlainBootstrap plain(lines, 120, 9);
    for (std::size_t m = 0; m < made.size(); ++m) {
        const Comparison& one = made[m];
        SCOPED_TRACE(name(one.metric));
        EXPECT_EQ(one.difference, one.second.score - one.first.score);
        EXPECT_EQ(one.p, plain.p(m, one.difference));
        std::sort(plain.first[m].begin(), plain.first[m].end());
        EXPECT_EQ(one.first.low, plain.first[m][3]) << "3 of 120 lie below";
        EXPECT_EQ(one.first.high, plain.first[m][116]) << "and 3 above";
        EXPECT_EQ(one.first.score, corpus_score(one.metric, sum(systems.first)));
        EXPECT_EQ(one.second.score, corpus_score(one.metric, sum(systems.second)));
    }
}

// Resamples that differ as much as the systems count, so p is 1.
TEST(Bootstrap, FindsNoDifferenceBetweenASystemAndItself) {
    const Systems systems(unicode_test_lines(1, 100));
    for (const Comparison& one : paired_bootstrap(systems.first, systems.first, 200, 1)) {
        EXPECT_EQ(one.difference, 0.0);
        EXPECT_EQ(one.p, 1.0) << name(one.metric);
    }
}

TEST(Bootstrap, DependsOnTheSeedAndNotOnTheThreads) {
    const Systems systems(unicode_test_lines(4, 100));
    const auto with = [&](int threads, std::uint64_t seed) {
        const WithThreads use(threads);
        return numbers_in(paired_bootstrap(systems.first, systems.second, 101, seed));
    };
    EXPECT_EQ(with(1, 1), with(1, 1));
    EXPECT_EQ(with(1, 1), with(3, 1));
    EXPECT_EQ(with(1, 2), with(4, 2));
    EXPECT_NE(with(1, 1), with(1, 2));
}

}  // namespace
}  // namespace heddle::app
