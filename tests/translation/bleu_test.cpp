#include "apps/translation/metrics/bleu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

/// Test cases computed with sacrebleu by tests/golden/make_bleu.py.
nlohmann::json cases_of(const std::string& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
}

using Lines = std::vector<std::string>;

void expect_equal(const nlohmann::json& cases) {
    for (const auto& given : cases) {
        const auto hypotheses = given.at("hypotheses").get<Lines>(), references = given.at("references").get<Lines>();
        for (const auto& wanted : given.at("scores")) {
            SCOPED_TRACE(given.at("name").get<std::string>() + ": " + wanted.dump());
            const auto tokenizer = value_of<Tokenizer>(wanted.at("tokenizer").get<std::string>());
            ASSERT_TRUE(tokenizer);
            const BleuScore bleu = corpus_bleu(hypotheses, references, {wanted.at("lowercase").get<bool>(), *tokenizer});
            EXPECT_NEAR(bleu.score, wanted.at("score").get<double>(), 1e-9);
            EXPECT_NEAR(bleu.brevity_penalty, wanted.at("brevity_penalty").get<double>(), 1e-12);
            EXPECT_EQ(bleu.hypothesis_length, wanted.at("hypothesis_length").get<std::int64_t>());
            EXPECT_EQ(bleu.reference_length, wanted.at("reference_length").get<std::int64_t>());
            for (std::size_t n = 0; n < bleu_orders; ++n) {
                EXPECT_NEAR(bleu.precisions[n], wanted.at("precisions").at(n).get<double>(), 1e-9);
                EXPECT_EQ(bleu.matches[n], wanted.at("matches").at(n).get<std::int64_t>());
                EXPECT_EQ(bleu.totals[n], wanted.at("totals").at(n).get<std::int64_t>());
            }
        }
    }
}

TEST(Bleu, EqualsSacrebleuOnAwkwardText) {
    const nlohmann::json cases = cases_of(HEDDLE_SOURCE_DIR "/tests/golden/bleu.json");
    ASSERT_GT(cases.size(), 35u);
    std::map<std::string, int> of_tokenizer;
    for (const auto& one : cases)
        for (const auto& score : one.at("scores")) ++of_tokenizer[score.at("tokenizer").get<std::string>()];
    ASSERT_EQ(of_tokenizer.size(), 4u);
    for (const auto& [tokenizer, count] : of_tokenizer) ASSERT_GE(count, 10) << tokenizer;
    expect_equal(cases);
}

TEST(Bleu, SplitsALineAs13aDoes) {
    EXPECT_EQ(bleu_tokens("He said: \"1,000.5 is 3-4.\""),
              (Lines{"He", "said", ":", "\"", "1,000.5", "is", "3", "-", "4", ".", "\""}));
    EXPECT_EQ(bleu_tokens("don't re-enter"), (Lines{"don't", "re-enter"}));
    EXPECT_EQ(bleu_tokens("A\u00a0B", {.lowercase = true}), (Lines{"a", "b"}));
    EXPECT_TRUE(bleu_tokens(" \t ").empty());
}

TEST(Bleu, SplitsALineAsItsTokenizerDoes) {
    const auto tokens = [](const char* line, Tokenizer tokenizer) { return bleu_tokens(line, {.tokenizer = tokenizer}); };
    EXPECT_EQ(tokens("\u6211\u7528 iPhone 3.5\u3002", Tokenizer::zh), (Lines{"\u6211", "\u7528", "iPhone", "3.5", "\u3002"}));
    EXPECT_EQ(tokens("&amp; .a", Tokenizer::zh), (Lines{"&", "amp", ";", ".", "a"})) << "zh decodes nothing";
    EXPECT_EQ(tokens("\u0e41\u0e21\u0e27 ab", Tokenizer::character), (Lines{"\u0e41", "\u0e21", "\u0e27", "a", "b"}));
    EXPECT_EQ(tokens(" a,b  c. ", Tokenizer::none), (Lines{"a,b", "c."}));
    expect_error([&] { tokens("a", Tokenizer::automatic); }, "no tokenizer was chosen");
}

TEST(Bleu, PrintsItsParts) {
    const Lines lines{"a b c d e"};
    EXPECT_EQ(corpus_bleu(lines, lines).text(),
              "BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 5 ref_len = 5)");
    const std::string empty = corpus_bleu(Lines{""}, Lines{""}).text();
    EXPECT_TRUE(empty.ends_with("(BP = 1.000 ratio = 0.000 hyp_len = 0 ref_len = 0)")) << empty;
}

}  // namespace
}  // namespace heddle::app
