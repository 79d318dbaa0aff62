#include "apps/translation/metrics/bleu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace heddle::app {
namespace {

/// Golden cases that tests/golden/make_bleu.py made with sacrebleu; HEDDLE_BLEU_GOLDEN names another file of the same form.
nlohmann::json golden_cases() {
    const char* other = std::getenv("HEDDLE_BLEU_GOLDEN");
    std::ifstream file(other != nullptr ? other : HEDDLE_SOURCE_DIR "/tests/golden/bleu.json");
    return nlohmann::json::parse(file);
}

using Lines = std::vector<std::string>;

TEST(Bleu, EqualsSacrebleuOnAwkwardText) {
    const nlohmann::json cases = golden_cases();
    ASSERT_GT(cases.size(), 50u);
    for (const auto& wanted : cases) {
        const auto hypotheses = wanted.at("hypotheses").get<Lines>(), references = wanted.at("references").get<Lines>();
        const BleuScore bleu = corpus_bleu(hypotheses, references, wanted.at("lowercase").get<bool>());
        SCOPED_TRACE(wanted.dump());
        EXPECT_NEAR(bleu.score, wanted.at("score").get<double>(), 1e-9);
        EXPECT_NEAR(bleu.brevity_penalty, wanted.at("brevity_penalty").get<double>(), 1e-12);
        EXPECT_EQ(bleu.hypothesis_length, wanted.at("hypothesis_length").get<std::int64_t>());
        EXPECT_EQ(bleu.reference_length, wanted.at("reference_length").get<std::int64_t>());
        for (std::size_t n = 0; n < 4; ++n) {
            EXPECT_NEAR(bleu.precisions[n], wanted.at("precisions").at(n).get<double>(), 1e-9);
            EXPECT_EQ(bleu.matches[n], wanted.at("matches").at(n).get<std::int64_t>());
            EXPECT_EQ(bleu.totals[n], wanted.at("totals").at(n).get<std::int64_t>());
        }
    }
}

TEST(Bleu, SplitsALineAs13aDoes) {
    EXPECT_EQ(bleu_tokens("He said: \"1,000.5 is 3-4.\""),
              (Lines{"He", "said", ":", "\"", "1,000.5", "is", "3", "-", "4", ".", "\""}));
    EXPECT_EQ(bleu_tokens("don't re-enter"), (Lines{"don't", "re-enter"}));
    EXPECT_EQ(bleu_tokens("A\u00a0B", true), (Lines{"a", "b"}));
    EXPECT_TRUE(bleu_tokens(" \t ").empty());
}

TEST(Bleu, TakesBytesThatAreNotUtf8) {
    const Lines broken{"a b \xff\xfe c d e \xc3"};
    EXPECT_NEAR(corpus_bleu(broken, broken).score, 100.0, 1e-9);
}

TEST(Bleu, OfNoSentencesIsZero) {
    const BleuScore bleu = corpus_bleu({}, {});
    EXPECT_EQ(bleu.score, 0.0);
    EXPECT_EQ(bleu.reference_length, 0);
}

// No segment is left out, a batch that is not full and segments of one word neither, and parts are added, never averaged.
TEST(Bleu, OfAFileIsThatOfItsSegmentsAddedUpInAnyParts) {
    Lines hypotheses, references;
    std::int64_t tokens = 0;
    for (int i = 0; i < 1305; ++i) {
        std::string line;
        const int words = 1 + i % 13;
        for (int word = 0; word < words; ++word) line += "w" + std::to_string(i * (word + 3) % 97) + " ";
        references.push_back(line);
        hypotheses.push_back(i % 3 == 0 ? line.substr(0, line.find(' ')) : i % 5 == 0 ? "w1 " + line : line);
        tokens += words;
    }
    const BleuScore whole = corpus_bleu(hypotheses, references);
    EXPECT_EQ(whole.reference_length, tokens);
    for (const std::size_t batch : {1u, 32u, 64u, 2000u}) {
        BleuStatistics sum;
        for (std::size_t begin = 0; begin < references.size(); begin += batch) {
            BleuStatistics part;
            for (std::size_t i = begin; i < std::min(begin + batch, references.size()); ++i)
                part += bleu_statistics(hypotheses[i], references[i]);
            sum += part;
        }
        EXPECT_EQ(corpus_bleu(sum).text(), whole.text()) << batch;
        EXPECT_EQ(corpus_bleu(sum).score, whole.score) << batch;
    }
}

TEST(Bleu, NamesBothCountsWhenTheyDiffer) {
    const Lines two{"a", "b"}, one{"a"};
    try {
        corpus_bleu(two, one);
        FAIL() << "wanted an error";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "bleu: 2 hypotheses, but 1 references; wanted one reference per hypothesis");
    }
}

TEST(Bleu, PrintsItsParts) {
    const Lines lines{"a b c d e"};
    EXPECT_EQ(corpus_bleu(lines, lines).text(),
              "BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 5 ref_len = 5)");
}

}  // namespace
}  // namespace heddle::app
