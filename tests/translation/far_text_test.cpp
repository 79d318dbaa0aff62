// Whether an input looks like the training text, by the length of its subwords.
#include "apps/translation/decoding/far_text.h"

#include <gtest/gtest.h>

#include "tests/support.h"

namespace heddle::app {
namespace {

std::vector<std::string> repeated(const std::vector<std::string>& lines, std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(lines[i % lines.size()]);
    return all;
}

class FarTextTest : public testing::Test {
  protected:
    std::vector<std::vector<std::int32_t>> encoded(const std::vector<std::string>& lines) const {
        std::vector<std::vector<std::int32_t>> tokens;
        for (const std::string& line : lines) tokens.push_back(vocabulary_->encode(line));
        return tokens;
    }
    std::string note(const std::vector<std::string>& lines, std::optional<double> usual) const {
        std::string said;
        FarText far("input", usual, [&](std::string_view text) { said += std::string(text) + "\n"; });
        const auto tokens = encoded(lines);
        for (std::size_t i = 0; i < lines.size(); ++i)
            far.look_at(std::span(lines).subspan(i, 1), std::span(tokens).subspan(i, 1));
        EXPECT_EQ(said, "") << "not while lines come";
        far.report();
        return said;
    }

    std::vector<std::string> text_{"the children play in the garden", "a garden with children", "in the garden a child plays"};
    std::unique_ptr<Vocabulary> vocabulary_ = train_vocabulary({.type = VocabularyType::bpe, .size = 48}, text_);
};

TEST_F(FarTextTest, CountsCharactersForEachTokenOfTheSources) {
    std::vector<TokenPair> pairs;
    std::int64_t characters = 0, tokens = 0;
    for (const std::string& line : text_) {
        pairs.push_back({.source = vocabulary_->encode(line), .target = {5, 6, 7}});
        characters += static_cast<std::int64_t>(line.size()) - std::count(line.begin(), line.end(), ' ');
        tokens += static_cast<std::int64_t>(pairs.back().source.size());
    }
    const double wanted = static_cast<double>(characters) / static_cast<double>(tokens);
    EXPECT_EQ(characters_per_token(pairs, *vocabulary_), wanted);
    std::vector<TokenPair> many(4000, pairs[1]);
    EXPECT_EQ(characters_per_token(many, *vocabulary_), characters_per_token(std::vector<TokenPair>{pairs[1]}, *vocabulary_));
    many[250] = many[1999] = pairs[0];
    EXPECT_EQ(characters_per_token(many, *vocabulary_), characters_per_token(std::vector<TokenPair>{pairs[1]}, *vocabulary_))
        << "a sample: 250 pairs in each quarter";
    many[2249] = pairs[0];
    EXPECT_NE(characters_per_token(many, *vocabulary_), characters_per_token(std::vector<TokenPair>{pairs[1]}, *vocabulary_));
    EXPECT_FALSE(characters_per_token({}, *vocabulary_));
    for (const VocabularyType type : {VocabularyType::word, VocabularyType::character})
        EXPECT_FALSE(characters_per_token(pairs, *train_vocabulary({.type = type}, text_)));
}

TEST_F(FarTextTest, SpeaksOfOtherTextAlone) {
    std::vector<TokenPair> pairs;
    for (const std::string& line : text_) pairs.push_back({.source = vocabulary_->encode(line), .target = {}});
    const std::optional<double> usual = characters_per_token(pairs, *vocabulary_);
    const std::vector<std::string> other{"le chat dort sur le canap\xC3\xA9", "nous partons demain matin"};
    EXPECT_EQ(note(repeated(text_, 200), usual), "");
    EXPECT_EQ(note(repeated({"the child plays", "children in a garden"}, 200), usual), "") << "new sentences of the same kind";
    EXPECT_EQ(note(repeated(other, 10), usual), "") << "too little to tell";
    EXPECT_EQ(note(repeated(other, 200), {}), "") << "the run does not know";
    EXPECT_EQ(note({}, usual), "");
    const std::string said = note(repeated(other, 200), usual);
    EXPECT_TRUE(said.starts_with("input: its words break into ")) << said;
    EXPECT_NE(said.find(" times as many tokens as those of the training text"), std::string::npos) << said;
}

}  // namespace
}  // namespace heddle::app
