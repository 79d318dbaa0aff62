#include "apps/translation/metrics/metrics.h"

#include <gtest/gtest.h>

#include "apps/command/commands.h"
#include "tests/numbers.h"
#include "tests/support.h"
#include "tests/unicode_test_lines.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;

LineStatistics statistics(const std::string& hypothesis, const std::string& reference, bool lowercase = false) {
    return line_statistics(Lines{hypothesis}, Lines{reference}, {.lowercase = lowercase}).front();
}

// Compares every corpus and sentence score in `wanted`.
void expect_scores(const std::vector<LineStatistics>& lines, const nlohmann::json& wanted) {
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
            EXPECT_NEAR(sentence_score(metric, lines[i]), scores.at("sentences")[i].get<double>(), 0.500001e-4)
                << "line " << i;  // the file has four decimals
    }
}

TEST(Metrics, EqualSacrebleuOnTwoThousandUnicodeTestLines) {
    const nlohmann::json golden = golden_scores();
    const UnicodeTestLines lines = unicode_test_lines(golden.at("seed"), golden.at("lines"));
    ASSERT_EQ(lines.references.size(), 2000u);
    std::string all;
    for (std::size_t i = 0; i < lines.references.size(); ++i) all += lines.first[i] + '\0' + lines.references[i] + '\0';
    ASSERT_EQ(stable_hash(all), golden.at("hash").get<std::uint64_t>()) << "the golden scores are of other lines";
    for (const bool lowercase : {false, true}) {
        SCOPED_TRACE(lowercase ? "lowercase" : "mixed");
        expect_scores(line_statistics(lines.first, lines.references, {.lowercase = lowercase}),
                      golden.at(lowercase ? "lowercase" : "mixed"));
    }
}

TEST(Metrics, AreTheSameForEveryNumberOfThreads) {
    const UnicodeTestLines lines = unicode_test_lines(3, 300);
    const auto scores = [&](int threads) {
        const WithThreads with(threads);
        std::vector<double> out;
        for (const LineStatistics& line : line_statistics(lines.first, lines.references))
            for (const Metric metric : all_metrics) out.push_back(sentence_score(metric, line));
        return out;
    };
    EXPECT_EQ(scores(1), scores(4));
}

// ---- choice of a metric

constexpr const char
    *chinese = "\u6211\u4eec\u4eca\u5929\u53bb\u4e0a\u5b66\u3002",
    *german = "Heute gehen wir in die Schule.", *japanese = "\u4eca\u65e5\u306f\u5b66\u6821\u306b\u884c\u304d\u307e\u3059\u3002",
    *thai = "\u0e27\u0e31\u0e19\u0e19\u0e35\u0e49\u0e40\u0e23\u0e32\u0e44\u0e1b\u0e42\u0e23\u0e07\u0e40\u0e23\u0e35\u0e22\u0e19",
    *korean = "\uc6b0\ub9ac\ub294 \uc624\ub298 \ud559\uad50\uc5d0 \uac11\ub2c8\ub2e4.";

TEST(MetricChoice, TakesTheTokenizerOfTheScript) {
    const std::pair<const char*, Tokenizer> wanted[] = {
        {german, Tokenizer::mteval_13a},
        {korean, Tokenizer::mteval_13a},  // has spaces
        {chinese, Tokenizer::zh},
        {japanese, Tokenizer::character},
        {thai, Tokenizer::character},
        {"\u1781\u17d2\u1789\u17bb\u17c6\u179f\u17d2\u179a\u17a1\u17b6\u1789\u17cb\u1786\u17d2\u1798\u17b6",
         Tokenizer::character},  // Khmer
        {"1234 5678 : ! 9", Tokenizer::mteval_13a},
        {"\U0001f600 \U0001f601 ! ?", Tokenizer::mteval_13a},  // no letter at all
    };
    for (const auto& [line, tokenizer] : wanted) {
        const MetricChoice choice = choose_metric(Lines(20, line));
        EXPECT_EQ(choice.tokenizer, tokenizer) << line << word_of(choice.tokenizer);
        EXPECT_TRUE(choice.bleu_applies) << line;
        EXPECT_EQ(choice.metric(), tokenizer == Tokenizer::character ? Metric::chrf : Metric::bleu) << line;
        EXPECT_EQ(choice.reason.empty(), tokenizer == Tokenizer::mteval_13a) << line;
    }
}

TEST(MetricChoice, GoesByTheShareOfCharactersAndNotByALine) {
    const auto mixed = [](int of_one, const char* one, int of_other, const char* other) {
        Lines lines(static_cast<std::size_t>(of_one), one);
        lines.insert(lines.end(), static_cast<std::size_t>(of_other), other);
        return choose_metric(lines);
    };
    EXPECT_EQ(mixed(99, chinese, 1, german).tokenizer, Tokenizer::zh);
    EXPECT_EQ(mixed(99, german, 1, chinese).tokenizer, Tokenizer::mteval_13a);
    EXPECT_EQ(mixed(99, chinese, 1, japanese).tokenizer, Tokenizer::zh) << "some Japanese";
    EXPECT_EQ(mixed(60, chinese, 40, japanese).tokenizer, Tokenizer::character);
    EXPECT_EQ(mixed(40, japanese, 60, german).tokenizer, Tokenizer::mteval_13a);
    EXPECT_EQ(mixed(60, "\u6211\u7528 Python \u5199\u7a0b\u5e8f", 0, "").tokenizer, Tokenizer::zh) << "5 of 11 characters";
    EXPECT_EQ(mixed(3, chinese, 0, "").reason, "100 % of the references' characters are Chinese");
    EXPECT_EQ(mixed(3, thai, 0, "").reason, "100 % of the references' characters are of a script without spaces between words");
    EXPECT_EQ(choose_metric(Lines{}).tokenizer, Tokenizer::mteval_13a);
}

TEST(MetricChoice, SaysThatBleuDoesNotApplyWhereHardlyAnyReferenceIsLongEnough) {
    Lines words(99, "sieben");
    EXPECT_FALSE(choose_metric(words).bleu_applies);
    words.push_back(german);
    const MetricChoice choice = choose_metric(words);
    EXPECT_FALSE(choice.bleu_applies) << "one line of many decides nothing";
    EXPECT_EQ(choice.metric(), Metric::chrf);
    EXPECT_EQ(choice.reason, "1 of 100 references have the four tokens in a row that BLEU looks at");
    words.insert(words.end(), 11, german);
    EXPECT_TRUE(choose_metric(words).bleu_applies);
    EXPECT_FALSE(choose_metric(Lines(20, chinese), Tokenizer::mteval_13a).bleu_applies) << "a line is one word";
    EXPECT_FALSE(choose_metric(Lines(20, "\u5b66\u6821\u3002")).bleu_applies) << "three characters";
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
    // The precisions of orders 1 to 3 are 2/3, 1/2 and, smoothed, 1/(2 * 1).
    EXPECT_NEAR(sentence_score(Metric::bleu, statistics("a b c", "a b d")), 100 * std::cbrt(2.0 / 3 / 2 / 2), 1e-9);
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

}  // namespace
}  // namespace heddle::app
