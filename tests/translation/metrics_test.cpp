#include "apps/translation/metrics/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "apps/command/version.h"
#include "tests/disturbed_lines.h"
#include "tests/numbers.h"
#include "tests/python.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;

LineStatistics statistics(const std::string& hypothesis, const std::string& reference, bool lowercase = false) {
    return line_statistics(Lines{hypothesis}, Lines{reference}, lowercase).front();
}

// Every corpus and sentence score that `wanted` holds.
void expect_scores(const std::vector<LineStatistics>& lines, const nlohmann::json& wanted, double tolerance) {
    for (const Metric metric : all_metrics) {
        const nlohmann::json& scores = wanted.at(score_keys.at(static_cast<std::size_t>(metric)));
        SCOPED_TRACE(name(metric));
        EXPECT_NEAR(corpus_score(metric, sum(lines)), scores.at("corpus").get<double>(), 1e-9);
        double total = 0;
        for (const LineStatistics& line : lines) total += sentence_score(metric, line);
        if (scores.contains("mean")) {
            EXPECT_NEAR(total / static_cast<double>(lines.size()), scores.at("mean").get<double>(), 1e-9);
        }
        if (!scores.contains("sentences")) continue;
        ASSERT_EQ(scores.at("sentences").size(), lines.size());
        for (std::size_t i = 0; i < lines.size(); ++i)
            EXPECT_NEAR(sentence_score(metric, lines[i]), scores.at("sentences")[i].get<double>(), tolerance) << "line " << i;
    }
}

TEST(Metrics, EqualSacrebleuOnTwoThousandDisturbedLines) {
    const nlohmann::json golden = golden_scores();
    const DisturbedLines lines = disturbed_lines(golden.at("seed"), golden.at("lines"));
    ASSERT_EQ(lines.references.size(), 2000u);
    std::string all;
    for (std::size_t i = 0; i < lines.references.size(); ++i) all += lines.first[i] + '\0' + lines.references[i] + '\0';
    ASSERT_EQ(stable_hash(all), golden.at("hash").get<std::uint64_t>()) << "the golden scores are of other lines";
    for (const bool lowercase : {false, true}) {
        SCOPED_TRACE(lowercase ? "lowercase" : "mixed");
        expect_scores(line_statistics(lines.first, lines.references, lowercase), golden.at(lowercase ? "lowercase" : "mixed"),
                      0.500001e-4);  // the file has four decimals
    }
}

TEST(Metrics, EqualTheSacrebleuOfThisMachineOnFreshLines) {
    HEDDLE_NEEDS_PYTHON_WITH("sacrebleu numpy");
    const std::uint64_t seed = std::random_device()();
    const DisturbedLines lines = disturbed_lines(seed, 500);
    const TemporaryFolder folder;
    const std::string given = folder / "lines.json", made = folder / "scores.json";
    std::ofstream(given) << nlohmann::json{{"hypotheses", lines.first}, {"references", lines.references}};
    const std::string script = HEDDLE_SOURCE_DIR "/tests/golden/make_scores.py";
    ASSERT_EQ(std::system(("'" + python() + "' -B '" + script + "' --lines '" + given + "' > '" + made + "'").c_str()), 0);
    std::ifstream file(made);
    const nlohmann::json wanted = nlohmann::json::parse(file);
    for (const bool lowercase : {false, true}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + (lowercase ? ", lowercase" : ", mixed"));
        expect_scores(line_statistics(lines.first, lines.references, lowercase), wanted.at(lowercase ? "lowercase" : "mixed"),
                      1e-9);
    }
}

TEST(Metrics, AreTheSameForEveryNumberOfThreads) {
    const DisturbedLines lines = disturbed_lines(3, 300);
    const auto scores = [&](int threads) {
        const WithThreads with(threads);
        std::vector<double> out;
        for (const LineStatistics& line : line_statistics(lines.first, lines.references))
            for (const Metric metric : all_metrics) out.push_back(sentence_score(metric, line));
        return out;
    };
    EXPECT_EQ(scores(1), scores(4));
}

TEST(Metrics, CountExactLinesInTheirOwnCase) {
    const LineStatistics all = sum(line_statistics(Lines{"a", "B", "", "c "}, Lines{"a", "b", "", "c"}, true));
    EXPECT_EQ(all.lines, 4);
    EXPECT_EQ(all.exact, 2);
}

TEST(Metrics, SayHowTheyWereComputed) {
    const std::string version = std::string("|version:heddle-") + heddle::version;
    EXPECT_EQ(signature(Metric::bleu), "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" + version);
    EXPECT_EQ(signature(Metric::chrf), "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no" + version);
    EXPECT_EQ(signature(Metric::chrf_plus_plus), "nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no" + version);
    EXPECT_EQ(signature(Metric::bleu, {.lowercase = true, .effective_order = true, .resampling = "bs:1000|seed:1|"}),
              "nrefs:1|bs:1000|seed:1|case:lc|eff:yes|tok:13a|smooth:exp" + version);
    EXPECT_EQ(name(Metric::chrf_plus_plus), "chrF2++");
}

TEST(Metrics, NameBothCountsWhenTheyDiffer) {
    expect_error([] { line_statistics(Lines{"a", "b"}, Lines{"a"}); }, "2 hypotheses, but 1 references");
}

TEST(Metrics, OfNoLinesAreZero) {
    const LineStatistics none = sum(line_statistics(Lines{}, Lines{}));
    for (const Metric metric : all_metrics) EXPECT_EQ(corpus_score(metric, none), 0.0) << name(metric);
}

TEST(SentenceBleu, CountsOnlyTheOrdersThatASentenceHas) {
    EXPECT_NEAR(sentence_score(Metric::bleu, statistics("a b", "a b")), 100, 1e-9);
    EXPECT_EQ(corpus_score(Metric::bleu, statistics("a b", "a b")), 0.0);
    EXPECT_EQ(sentence_score(Metric::bleu, statistics("", "a b")), 0.0);
    EXPECT_EQ(sentence_score(Metric::bleu, statistics("a", "b")), 0.0);
    // Orders 1 to 3: 2/3, 1/2 and, smoothed, 1/(2 * 1).
    EXPECT_NEAR(sentence_score(Metric::bleu, statistics("a b c", "a b d")), 100 * std::cbrt(2.0 / 3 / 2 / 2), 1e-9);
}

// "ab" and "abc" have orders 1 and 2 in common: P = 1, R = (2/3 + 1/2) / 2. With words, an order without a match joins them.
TEST(Chrf, OfTwoShortWordsIsWhatOneComputesByHand) {
    const LineStatistics line = statistics("ab", "abc");
    EXPECT_NEAR(corpus_score(Metric::chrf, line), 100 * 35.0 / 55, 1e-9);
    EXPECT_NEAR(corpus_score(Metric::chrf_plus_plus, line), 100 * 1260.0 / 2970, 1e-9);
}

TEST(Chrf, DoesNotSeeSpaces) {
    EXPECT_NEAR(corpus_score(Metric::chrf, statistics("a\u00a0b\u3000c\td e f g", "abcdefg")), 100, 1e-9);
    EXPECT_LT(corpus_score(Metric::chrf_plus_plus, statistics("abc defg", "abcdefg")), 90);
}

TEST(Chrf, LeavesOutWhatHasNoReference) {
    EXPECT_NEAR(corpus_score(Metric::chrf, sum(line_statistics(Lines{"wxyz", "ab"}, Lines{"", "ab"}))), 100, 1e-9);
    EXPECT_LT(corpus_score(Metric::chrf, sum(line_statistics(Lines{"", "ab"}, Lines{"wxyz", "ab"}))), 50);
    EXPECT_EQ(corpus_score(Metric::chrf, statistics("", "")), 0.0);
}

TEST(Chrf, CutsOneMarkOffAWord) {
    EXPECT_EQ(chrf_tokens("(hi) !a ! ... \u00abx\u00bb \u00e9! \U0001f600?\u00a0b,\u3000C-D"),
              (Lines{"(hi", ")", "!", "a", "!", "..", ".", "\u00abx\u00bb", "\u00e9", "!", "\U0001f600", "?", "b", ",", "C-D"}));
    EXPECT_EQ(chrf_tokens("Ab \u00c4", true), (Lines{"ab", "\u00e4"}));
    EXPECT_TRUE(chrf_tokens(" \u2028 ").empty());
}

TEST(Chrf, TakesBytesThatAreNotUtf8) {
    EXPECT_NEAR(corpus_score(Metric::chrf, statistics("a \xff\xfe b\xc3", "a \xff\xfe b\xc3")), 100, 1e-9);
}

// The same counts, from maps.
NgramCounts counted(const std::u32string& hypothesis, const std::u32string& reference, std::size_t n) {
    const auto ngrams = [n](const std::u32string& text) {
        std::map<std::u32string, std::int64_t> out;
        for (std::size_t i = 0; i + n <= text.size(); ++i) ++out[text.substr(i, n)];
        return out;
    };
    auto said = ngrams(hypothesis), wanted = ngrams(reference);
    NgramCounts out;
    for (const auto& [ngram, count] : said) {
        out.hypothesis += count;
        out.matches += std::min(count, wanted[ngram]);
    }
    for (const auto& [ngram, count] : wanted) out.reference += count;
    return out;
}

TEST(Ngrams, AreCountedAsMapsCountThem) {
    Sequence numbers(4);
    const auto text = [&](std::uint64_t letters) {
        std::u32string out(numbers.below(12), U' ');
        for (char32_t& c : out) c = static_cast<char32_t>(0xFFFF + numbers.below(letters));
        return out;
    };
    for (int round = 0; round < 500; ++round) {
        const std::u32string hypothesis = text(1 + round % 4), reference = text(1 + round % 4);
        std::array<NgramCounts, 5> orders;
        count_ngrams(hypothesis, reference, orders);
        for (std::size_t n = 1; n <= orders.size(); ++n) {
            const NgramCounts wanted = counted(hypothesis, reference, n);
            EXPECT_EQ(orders[n - 1].hypothesis, wanted.hypothesis);
            EXPECT_EQ(orders[n - 1].reference, wanted.reference);
            EXPECT_EQ(orders[n - 1].matches, wanted.matches) << "order " << n;
        }
    }
}

}  // namespace
}  // namespace heddle::app
