// A model that Marian trained gives Marian's results: ../shared/oracles/marian_post holds what pymarian 1.12.42 computes with it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/exchange/marian.h"
#include "core/file.h"
#include "nn/search/scoring.h"
#include "nn/search/search.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

const fs::path oracle = HEDDLE_SOURCE_DIR "/../shared/oracles/marian_post";

std::vector<std::string> lines_of(const char* file) {
    std::vector<std::string> lines;
    std::istringstream stream(read_file(oracle / file));
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// The fields of a line of an n-best list: number, pieces, word scores, total, normalised total.
std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields;
    constexpr std::string_view bar = " ||| ";
    for (std::size_t at = 0; at != std::string::npos;) {
        const std::size_t end = line.find(bar, at);
        fields.push_back(line.substr(at, end == std::string::npos ? end : end - at));
        at = end == std::string::npos ? end : end + bar.size();
    }
    return fields;
}

std::vector<std::string> words_of_line(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

class MarianOracle : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (!fs::exists(oracle)) return;
        model_ = new HeddleModel(to_heddle(read_marian(oracle), "marian_post"));
        for (const std::string& line : lines_of("test.de")) sources_.push_back(ended(source().encode(line)));
        for (std::int32_t id = 0; id < target().size(); ++id) ids_.emplace(target().token(id), id);
    }
    static void TearDownTestSuite() { delete model_; }
    void SetUp() override {
        if (!model_) GTEST_SKIP() << "this test needs " << oracle;
    }

    static nn::Tokens ended(nn::Tokens tokens) {
        tokens.push_back(eos_id);
        return tokens;
    }
    static const nn::Transformer& model() { return *model_->model; }
    static const Vocabulary& source() { return *model_->vocabularies.source; }
    static const Vocabulary& target() { return *model_->vocabularies.target; }
    static nn::Tokens tokens_of(const std::string& pieces) {
        nn::Tokens tokens;
        for (const std::string& piece : words_of_line(pieces)) tokens.push_back(ids_.at(piece));
        return tokens;
    }
    static std::vector<std::string> translations(std::int64_t beam, double length_penalty) {
        const nn::HypothesisLists found = nn::translate(
            model(), sources_, {.beam = beam, .length_penalty = length_penalty, .forbidden = {pad_id, unk_id, bos_id}});
        std::vector<std::string> texts;
        for (const auto& list : found) texts.push_back(target().decode(list.front().tokens));
        return texts;
    }

    static inline HeddleModel* model_ = nullptr;
    static inline std::vector<nn::Tokens> sources_;
    static inline std::unordered_map<std::string, std::int32_t> ids_;
};

TEST_F(MarianOracle, GivesMariansScores) {
    std::vector<nn::Tokens> targets;
    for (const std::string& line : lines_of("test.en")) targets.push_back(target().encode(line));
    const std::vector<nn::PairScore> scores = nn::score(model(), sources_, targets);
    const std::vector<std::string> wanted = lines_of("scores.txt");
    ASSERT_EQ(wanted.size(), 100);
    double worst = 0;  // with norms' epsilon of 1e-5 it is 9e-5
    for (std::size_t i = 0; i < wanted.size(); ++i)
        worst = std::max(worst, std::abs(scores[i].log_probability - std::stod(wanted[i])));
    EXPECT_LE(worst, 5e-5);
}

TEST_F(MarianOracle, ScoresEachHypothesisOfMarianByItsPieces) {
    std::vector<nn::Tokens> sources, targets;
    std::vector<std::vector<double>> wanted;
    for (const char* file : {"nbest5.pieces.txt", "greedy.pieces.txt"})
        for (const std::string& line : lines_of(file)) {
            const std::vector<std::string> fields = fields_of(line);
            sources.push_back(sources_[std::stoul(fields.at(0))]);
            targets.push_back(tokens_of(fields.at(1)));
            std::vector<double> scores;
            for (const std::string& word : words_of_line(fields.at(2).substr(std::string("WordScores=").size())))
                scores.push_back(std::stod(word));
            wanted.push_back(scores);
        }
    ASSERT_EQ(wanted.size(), 600);
    constexpr double rounded = 5e-6;  // a word's score has five decimals
    double worst_word = 0, worst_sentence = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const nn::ScoreBatch batch{.sources = {sources[i]}, .written = {ended(targets[i])}, .indices = {0}};
        const std::vector<double> words = nn::token_log_probabilities(model(), batch);
        ASSERT_GE(words.size(), wanted[i].size());
        double difference = 0;
        for (std::size_t t = 0; t < wanted[i].size(); ++t) {
            worst_word = std::max(worst_word, std::abs(words[t] - wanted[i][t]));
            difference += words[t] - wanted[i][t];
        }
        worst_sentence = std::max(worst_sentence, std::abs(difference) - rounded * static_cast<double>(wanted[i].size()));
    }
    EXPECT_LE(worst_word, 2e-5);
    EXPECT_LE(worst_sentence, 5e-5);
}

TEST_F(MarianOracle, TranslatesGreedilyAsMarian) {
    const std::vector<std::string> wanted = lines_of("greedy.txt"), found = translations(1, 0);
    ASSERT_EQ(wanted.size(), found.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(found[i], wanted[i]) << "line " << i;
}

TEST_F(MarianOracle, FindsTheBestOfFiveAsMarian) {
    for (const int normalize : {0, 1}) {
        std::vector<std::string> wanted(100);
        for (const std::string& line : lines_of(normalize ? "nbest5.normalize1.txt" : "nbest5.normalize0.txt")) {
            const std::vector<std::string> fields = fields_of(line);
            std::string& first = wanted.at(std::stoul(fields.at(0)));
            if (first.empty()) first = fields.at(1);
        }
        const std::vector<std::string> found = translations(5, normalize);
        int equal = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i) equal += found[i] == wanted[i] ? 1 : 0;
        EXPECT_GE(equal, 98) << "normalize " << normalize;
    }
}

}  // namespace
}  // namespace heddle::app
