// Lines alone against lines together, and what becomes of odd ones.
#include "apps/translation/decoding/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "apps/command/run.h"
#include "apps/translation/decoding/scoring.h"
#include "apps/translation/text/corpus.h"
#include "tests/nn/decoding_support.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Lines of one to eight words, out of twenty; enough for several batches.
std::vector<std::string> many_lines(std::size_t count) {
    Sequence random(3);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < count; ++i) {
        std::string line;
        for (std::uint64_t n = 1 + random.below(8); n > 0; --n) line += "w" + std::to_string(random.below(20)) + " ";
        line.pop_back();
        lines.push_back(line);
    }
    return lines;
}

class LineTranslation : public testing::Test {
  protected:
    LineTranslation() {
        VocabularyOptions options;
        options.type = VocabularyType::word;
        vocabularies_.source = vocabularies_.target = train_vocabulary(options, lines_);
    }

    std::vector<std::string> lines_ = many_lines(500);
    Vocabularies vocabularies_;
};

TEST_F(LineTranslation, GivesEachLineItsOwnTranslationInAnyCompanyAndOnAnyThreads) {
    const nn::Model owned_model = nn::random_model(vocabularies_.source->size(), 2);
    const nn::Transformer& model = *owned_model;
    const DecodeOptions options{.beam = 2};
    std::vector<std::string> alone;
    for (const std::string& line : lines_) alone.push_back(translate_lines(model, vocabularies_, {line}, options).front());
    EXPECT_GT(std::set<std::string>(alone.begin(), alone.end()).size(), 20u)
        << "the lines must differ, or the test shows nothing";
    for (const int count : {1, 2, 3}) {
        const WithThreads on(count);
        EXPECT_EQ(translate_lines(model, vocabularies_, lines_, options), alone) << count << " threads";
    }
}

TEST_F(LineTranslation, GivesABlankLineBackAsItIs) {
    const nn::Model owned_model = nn::random_model(vocabularies_.source->size(), 2);
    const nn::Transformer& model = *owned_model;
    const std::vector<std::string> given =
        translate_lines(model, vocabularies_, {"", lines_[0], "  \t ", lines_[1]}, {.beam = 2});
    ASSERT_EQ(given.size(), 4u);
    EXPECT_EQ(given[0], "");
    EXPECT_EQ(given[2], "  \t ");
    EXPECT_EQ(given[1], translate_lines(model, vocabularies_, {lines_[0]}, {.beam = 2}).front());
    VocabularyOptions characters;
    characters.type = VocabularyType::character;
    Vocabularies both;
    both.source = both.target = train_vocabulary(characters, lines_);
    const auto owned_speller = nn::random_model(both.source->size(), 3);
    const nn::Transformer& speller = *owned_speller;
    EXPECT_EQ(translate_lines(speller, both, {"   "}, {.beam = 1}).front(), "   ") << "where a space is a token, too";
}

// The line itself would pass for its translation.
TEST_F(LineTranslation, ALineWithoutATranslationIsAnError) {
    const nn::Model model = nn::random_model(vocabularies_.source->size(), 2);
    nn::named_tensor(*model, "output.bias").mutable_data<float>()[5] = -std::numeric_limits<float>::infinity();
    Translator translator(*model, vocabularies_, {.beam = 2, .prefix = {5}});
    EXPECT_EQ(translator.best({""}).front(), "");
    expect_error([&] { translator.best({"", lines_[0]}); }, "has no translation");
}

std::vector<std::string> texts(const std::vector<Translation>& translations) {
    std::vector<std::string> all;
    for (const Translation& each : translations) all.push_back(each.text);
    return all;
}

// A line's samples do not depend on the sizes of the pieces in which the input arrives.
TEST_F(LineTranslation, DrawsByTheLinesNumberInTheWholeInput) {
    const nn::Model model = nn::random_model(vocabularies_.source->size(), 2);
    const DecodeOptions options{.n_best = 2, .prefix = {}, .sampling = Sampling{.seed = 4}};
    std::vector<std::string> lines(lines_.begin(), lines_.begin() + 60);
    lines[7] = lines[20] = lines[50] = lines[3];
    lines[8] = "";
    Translator whole(*model, vocabularies_, options);
    const auto wanted = whole.translate(lines);
    EXPECT_EQ(wanted[8].size(), 1u) << "an empty line has one translation";
    EXPECT_EQ(std::set<std::string>({wanted[3][0].text, wanted[3][1].text, wanted[7][0].text, wanted[20][0].text}).size(), 4u)
        << "the same line elsewhere is another draw";
    for (const std::size_t piece : {1, 7, 59}) {
        const WithThreads on(piece == 7 ? 3 : 1);
        Translator translator(*model, vocabularies_, options);
        for (std::size_t begin = 0; begin < lines.size(); begin += piece) {
            const std::size_t end = std::min(begin + piece, lines.size());
            const auto given = translator.translate(
                {lines.begin() + static_cast<std::ptrdiff_t>(begin), lines.begin() + static_cast<std::ptrdiff_t>(end)});
            for (std::size_t i = begin; i < end; ++i)
                EXPECT_EQ(texts(given[i - begin]), texts(wanted[i])) << "line " << i << " in pieces of " << piece;
        }
    }
}

TEST_F(LineTranslation, AnEmptyLineScoresWhatTheModelSaysOfTheEmptyPair) {
    const nn::Model model = nn::random_model(vocabularies_.source->size(), 2);
    Translator translator(*model, vocabularies_, {.beam = 3, .n_best = 3, .prefix = {5}});
    const auto given = translator.translate({"", lines_[0]});
    ASSERT_EQ(given[0].size(), 1u);
    EXPECT_EQ(given[0][0].text, "");
    EXPECT_NEAR(given[0][0].log_probability, nn::next_log_probabilities(*model, {eos_id}, {})[eos_id], 1e-5);
    EXPECT_EQ(given[0][0].log_probability,
              score_lines(*model, vocabularies_, std::vector<std::string>{"  "}, std::vector<std::string>{""})
                  .scores[0]
                  .log_probability);
    ASSERT_EQ(given[1].size(), 3u);
    for (const Translation& each : given[1])
        EXPECT_THAT(each.text, StartsWith(vocabularies_.target->decode(std::vector<std::int32_t>{5})));
}

// Text of unknown characters is translated, too, with every kind of vocabulary.
TEST_F(LineTranslation, UnknownCharactersLoseNoLine) {
    const std::vector<std::string> odd{"\xE6\x97\xA5\xE6\x9C\xAC",
                                       "\xF0\x9F\xA6\x84 \xF0\x9F\xA6\x84",
                                       "\xFF\xFE\x80",
                                       "\x01",
                                       "\xE2\x80\x8B",
                                       "w1 \xE6\x97\xA5 w2",
                                       std::string("a\0b", 3)};
    for (const VocabularyType type :
         {VocabularyType::bpe, VocabularyType::unigram, VocabularyType::word, VocabularyType::character}) {
        Vocabularies vocabularies;
        vocabularies.source = vocabularies.target = train_vocabulary({.type = type, .size = 26}, lines_);
        const nn::Model model = nn::random_model(vocabularies.source->size(), 6);
        for (const bool draw : {false, true}) {
            DecodeOptions options{.beam = 2, .n_best = 2};
            if (draw) options.sampling = Sampling();
            Translator translator(*model, vocabularies, options);
            const auto given = translator.translate(odd);
            ASSERT_EQ(given.size(), odd.size());
            for (std::size_t i = 0; i < odd.size(); ++i) {
                const bool nothing = is_blank(odd[i]) || vocabularies.source->encode(odd[i]).empty();
                EXPECT_EQ(given[i].size(), nothing ? 1u : 2u) << word_of(type) << ", line " << i;
                EXPECT_TRUE(!nothing || given[i].front().text == odd[i]);
                for (const Translation& each : given[i]) EXPECT_EQ(each.text.find('\n'), std::string::npos);
            }
        }
    }
}

std::string cuts_said_by(const Translator& translator) {
    testing::internal::CaptureStderr();
    translator.report_cuts();
    return testing::internal::GetCapturedStderr();
}

TEST_F(LineTranslation, SaysOnceHowManyLinesWereCut) {
    const nn::Model model = nn::random_model(vocabularies_.source->size(), 2);
    ASSERT_EQ(model->options().position_table, 16);
    std::string fits, longer;
    for (int i = 0; i < 15; ++i) fits += "w" + std::to_string(i) + " ";
    longer = fits + "w15";
    Translator translator(*model, vocabularies_, {.beam = 1});
    EXPECT_EQ(cuts_said_by(translator), "");
    testing::internal::CaptureStderr();
    const auto first = translator.translate({fits, longer});
    translator.translate({longer, "w1"});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "not while lines come";
    EXPECT_EQ(first[0][0].text, first[1][0].text) << "cut to what fits beside the end mark";
    EXPECT_EQ(cuts_said_by(translator), "2 of 4 lines were cut to 16 tokens, the length of the model's position table\n");
    testing::internal::CaptureStderr();
    translate_lines(*model, vocabularies_, {longer}, {.beam = 1});
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("1 of 1 lines were cut to 16 tokens"));
}

TEST(Scoring, CutsSourcesAsTheTranslatorDoes) {
    Vocabularies vocabularies;
    vocabularies.source = vocabularies.target =
        train_vocabulary({.type = VocabularyType::word, .size = 0}, std::vector<std::string>{"a b c d"});
    const nn::Model model = nn::random_model(vocabularies.source->size(), 3, 0.5, 6);
    const std::vector<std::string> sources{"a b c d a", "a b c d a b b", " "}, targets{"b", "b", " "};
    const LineScores scores = score_lines(*model, vocabularies, sources, targets);
    EXPECT_EQ(scores.cut_sources, 1);
    EXPECT_EQ(scores.scores[0].log_probability, scores.scores[1].log_probability);
    EXPECT_EQ(scores.scores[2].tokens, 1);
}

TEST(Ensemble, NamesHowVocabulariesDiffer) {
    const auto trained = [](VocabularyType type, const std::vector<std::string>& lines, bool lowercase = false) {
        return train_vocabulary({.type = type, .size = 0, .lowercase = lowercase}, lines);
    };
    const auto words = trained(VocabularyType::word, {"a b", "c a"});
    EXPECT_EQ(vocabulary_difference(*words, *trained(VocabularyType::word, {"a b", "c a"})), "");
    EXPECT_EQ(vocabulary_difference(*words, *trained(VocabularyType::character, {"abc"})), "word and char");
    EXPECT_EQ(vocabulary_difference(*words, *trained(VocabularyType::word, {"a b"})), "7 and 6 tokens");
    EXPECT_EQ(vocabulary_difference(*words, *trained(VocabularyType::word, {"a b", "d a"})), "token 6 is 'c' and 'd'");
    EXPECT_EQ(vocabulary_difference(*words, *trained(VocabularyType::word, {"a b c"})),
              "the same tokens with other counts or settings");
    EXPECT_EQ(vocabulary_difference(*words, *trained(VocabularyType::word, {"a b", "c a"}, true)),
              "only one is of lower-case text");
}

}  // namespace
}  // namespace heddle::app
