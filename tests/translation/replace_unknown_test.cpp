// Unknown words of translations: copied from where the model looked, or dropped.
#include "apps/translation/decoding/replace_unknown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/nn/decoding_support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;

Translation translation_of(const Vocabulary& vocabulary, const nn::Tokens& tokens) {
    return {.text = vocabulary.decode(tokens), .tokens = tokens};
}

class ReplaceUnknown : public testing::TestWithParam<VocabularyType> {
  protected:
    ReplaceUnknown() {
        const std::vector<std::string> text{"one two three four, five (six) & seven", "eight nine: ten, one two", "three, six",
                                            "one two three four, five (six) & seven", "eight nine: ten, one two", "three, six"};
        vocabularies_.source = vocabularies_.target = train_vocabulary({.type = GetParam(), .size = 33}, text);
        model_ = nn::random_model(vocabularies_.source->size(), 3, 0.5, 64);
    }

    std::string replaced(UnknownWords how, const std::string& line, const nn::Tokens& tokens) const {
        const std::vector<std::string> lines{line};
        std::vector<std::vector<Translation>> translations{{translation_of(*vocabularies_.target, tokens)}};
        replace_unknown(how, *model_, vocabularies_, lines, translations);
        EXPECT_EQ(translations[0][0].tokens, tokens);
        return translations[0][0].text;
    }

    // The source token with the most attention of the step that writes tokens[step], but for those in `not_these`.
    std::size_t looked_at(const std::string& line, const nn::Tokens& tokens, std::int64_t step,
                          const std::set<std::size_t>& not_these) const {
        const TranslationAttention attention =
            attention_of(*model_, vocabularies_, line, translation_of(*vocabularies_.target, tokens));
        const Tensor& map = attention.maps.cross.back();
        const std::int64_t heads = map.shape()[1], steps = map.shape()[2], keys = map.shape()[3];
        std::vector<double> sums(static_cast<std::size_t>(keys - 1), 0);  // excluding the end mark
        for (std::int64_t head = 0; head < heads; ++head)
            for (std::size_t key = 0; key < sums.size(); ++key)
                if (!not_these.contains(key))
                    sums[key] +=
                        static_cast<double>(map.data<float>()[(head * steps + step) * keys + static_cast<std::int64_t>(key)]);
        return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
    }

    Vocabularies vocabularies_;
    nn::Model model_;
};

INSTANTIATE_TEST_SUITE_P(Vocabularies, ReplaceUnknown,
                         testing::Values(VocabularyType::bpe, VocabularyType::unigram, VocabularyType::word,
                                         VocabularyType::character),
                         [](const auto& type) { return std::string(word_of(type.param)); });

TEST_P(ReplaceUnknown, LeavesOtherTranslationsAlone) {
    const std::string text = "three four, five (six)";
    for (const UnknownWords how : {UnknownWords::copy, UnknownWords::drop})
        for (const std::string line : {"one two", "", "\xC3\xB6"})
            EXPECT_EQ(replaced(how, line, vocabularies_.target->encode(text)), text);
}

TEST_P(ReplaceUnknown, DropsWhatIsUnknown) {
    nn::Tokens tokens = vocabularies_.target->encode("six two");
    tokens.insert(tokens.begin(), unk_id);
    tokens.push_back(unk_id);
    EXPECT_EQ(replaced(UnknownWords::drop, "one", tokens), "six two");
    EXPECT_EQ(replaced(UnknownWords::drop, "one", {unk_id}), "");
    EXPECT_EQ(words_without_unknown(*vocabularies_.target, tokens).front(), -1);
    EXPECT_EQ(words_without_unknown(*vocabularies_.target, tokens)[1], 0);
    EXPECT_EQ(words_without_unknown(*vocabularies_.target, tokens).back(), -1);
}

// A line of one word has no other to attend to. Its letters need not be known, and keep their case.
TEST_P(ReplaceUnknown, CopiesTheOnlyWord) {
    const std::string word = "\xC3\x96gy\xF0\x9F\xA6\x84";  // with an unknown sign inside
    const bool letters = GetParam() == VocabularyType::character, whole = GetParam() != VocabularyType::word;
    const std::string line = whole ? word : "\xC3\x96gy";
    nn::Tokens tokens = vocabularies_.target->encode("six");
    tokens.push_back(unk_id);
    EXPECT_EQ(replaced(UnknownWords::copy, line, tokens), letters ? "six" + line : "six " + line);
    tokens.push_back(unk_id);
    EXPECT_EQ(replaced(UnknownWords::copy, line, tokens), letters ? "six" + line + line : "six " + line + " " + line);
    EXPECT_EQ(replaced(UnknownWords::copy, "", {unk_id}), "\xE2\x81\x87") << "nothing to copy";
}

using ReplaceUnknownWords = ReplaceUnknown;
INSTANTIATE_TEST_SUITE_P(OfWords, ReplaceUnknownWords, testing::Values(VocabularyType::word));

TEST_P(ReplaceUnknownWords, CopiesWhereTheStepLookedMost) {
    const Vocabulary& vocabulary = *vocabularies_.target;
    const std::string line = "seven Hund, five (Katze)";  // tokens: seven Hund , five ( Katze )
    const std::vector<std::string> words{"seven", "Hund", ",", "five", "(", "Katze", ")"};
    const std::set<std::size_t> signs{2, 4, 6};
    nn::Tokens tokens = vocabulary.encode("one two, three, four");  // one two , three , four
    ASSERT_EQ(tokens.size(), 6u);
    tokens[1] = tokens[3] = tokens[5] = unk_id;
    ASSERT_EQ(vocabulary.decode(tokens), "one \xE2\x81\x87, \xE2\x81\x87, \xE2\x81\x87");
    const auto word = [&](std::int64_t step) { return words[looked_at(line, tokens, step, signs)]; };
    EXPECT_EQ(replaced(UnknownWords::copy, line, tokens), "one " + word(1) + ", " + word(3) + ", " + word(5));
    std::set<std::string> different;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        model_ = nn::random_model(vocabulary.size(), seed, 0.9, 64);
        different.insert(word(1));
        EXPECT_EQ(replaced(UnknownWords::copy, line, tokens), "one " + word(1) + ", " + word(3) + ", " + word(5));
    }
    EXPECT_GE(different.size(), 3u) << "the models must look elsewhere, or the test shows little";
    // A sign that the vocabulary lacks is a word of its own, and is copied.
    EXPECT_EQ(replaced(UnknownWords::copy, "\xF0\x9F\xA6\x84,", {unk_id}), "\xF0\x9F\xA6\x84");
    // Dropped words no longer count.
    EXPECT_EQ(replaced(UnknownWords::drop, line, tokens), "one,,");
    EXPECT_THAT(words_without_unknown(vocabulary, tokens), ElementsAre(0, -1, 0, -1, 0, -1));
}

}  // namespace
}  // namespace heddle::app
