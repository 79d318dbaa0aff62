// Attention maps of translations: their values, the words they belong to, and the files written.
#include "apps/translation/report/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/markup.h"
#include "tests/nn/decoding_support.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string content(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

std::shared_ptr<const Vocabulary> vocabulary_of(VocabularyType type, const std::vector<std::string>& lines,
                                                std::int64_t size = 0) {
    return train_vocabulary({.type = type, .size = size}, lines);
}

class Attention : public testing::Test {
  protected:
    Attention() {
        vocabularies_.source = vocabularies_.target =
            vocabulary_of(VocabularyType::word, {"one two three four, five <six> & seven"});
        model_ = nn::random_model(vocabularies_.source->size(), 3, 0.5, 32);
    }
    Translation translation_of(const std::string& text, bool ended = true) const {
        return {.text = text, .tokens = vocabularies_.target->encode(text), .ended = ended};
    }

    void add(AttentionReport& report, const std::string& line, const std::string& translation) const {
        const Translation found = translation_of(translation);
        const TranslationAttention attention = attention_of(*model_, vocabularies_, line, found);
        report.add(line, found.text, attention, decoding_steps(*model_, *vocabularies_.target, attention, 5));
    }

    Vocabularies vocabularies_;
    nn::Model model_;
};

TEST_F(Attention, HasTheTokensAtItsSidesAndRowsThatSumToOne) {
    const TranslationAttention attention = attention_of(*model_, vocabularies_, "one two three", translation_of("four five"));
    EXPECT_THAT(attention.source, ElementsAre("one", "two", "three", "</s>"));
    EXPECT_THAT(attention.read, ElementsAre("<s>", "four", "five"));
    EXPECT_THAT(attention.written, ElementsAre("four", "five", "</s>"));
    const auto expect_map = [](const Tensor& map, std::int64_t queries, std::int64_t keys, bool causal) {
        const std::int64_t heads = map.shape()[1];
        ASSERT_EQ(map.shape(), Shape({1, heads, queries, keys}));
        const std::vector<double> weights = map.to_vector();
        for (std::int64_t row = 0; row < heads * queries; ++row) {
            double sum = 0;
            for (std::int64_t key = 0; key < keys; ++key) {
                const double weight = weights[static_cast<std::size_t>(row * keys + key)];
                sum += weight;
                EXPECT_EQ(causal && key > row % queries, weight == 0) << row << " " << key;
            }
            EXPECT_NEAR(sum, 1, 1e-5);
        }
    };
    expect_map(attention.maps.encoder.at(0), 4, 4, false);
    expect_map(attention.maps.decoder.at(0), 3, 3, true);
    expect_map(attention.maps.cross.at(0), 3, 4, false);
}

TEST_F(Attention, OfATranslationThatWasCutHasNoStepForTheEndMark) {
    const TranslationAttention attention =
        attention_of(*model_, vocabularies_, "one two", translation_of("four five six", false));
    EXPECT_THAT(attention.read, ElementsAre("<s>", "four", "five"));
    EXPECT_THAT(attention.written, ElementsAre("four", "five", "six"));
}

TEST_F(Attention, OfManyTranslationsAtOnceIsThatOfEachAlone) {
    std::vector<std::string> lines = {"one two three", "", "five", "seven & one two four"};
    std::vector<Translation> translations = {translation_of("four five"), translation_of(""),
                                             translation_of("one two six", false), translation_of("four", false)};
    // Long lines fill batches of their own, and their sources are truncated.
    for (int i = 0; i < 100; ++i) {
        std::string line = "one";
        for (int word = 0; word < 20 + i % 20; ++word) line += " two";
        lines.push_back(line);
        translations.push_back(translation_of(i % 3 == 0 ? "three five seven" : "six", i % 2 == 0));
    }
    std::vector<TranslatedLine> pairs;
    for (std::size_t i = 0; i < lines.size(); ++i) pairs.push_back({lines[i], &translations[i]});
    std::vector<int> times(lines.size());
    attend(*model_, vocabularies_, pairs, [&](std::size_t i, const TranslationAttention& together) {
        ++times.at(i);
        const TranslationAttention alone = attention_of(*model_, vocabularies_, lines[i], translations[i]);
        EXPECT_EQ(together.source, alone.source);
        EXPECT_EQ(together.read, alone.read);
        EXPECT_EQ(together.written, alone.written);
        EXPECT_EQ(together.source_words, alone.source_words);
        EXPECT_EQ(together.target_words, alone.target_words);
        const auto expect_same = [&](const std::vector<Tensor>& some, const std::vector<Tensor>& others) {
            ASSERT_EQ(some.size(), others.size());
            for (std::size_t layer = 0; layer < some.size(); ++layer) {
                EXPECT_EQ(some[layer].shape(), others[layer].shape());
                EXPECT_EQ(some[layer].to_vector(), others[layer].to_vector()) << "pair " << i;
            }
        };
        expect_same(together.maps.encoder, alone.maps.encoder);
        expect_same(together.maps.decoder, alone.maps.decoder);
        expect_same(together.maps.cross, alone.maps.cross);
    });
    EXPECT_EQ(times, std::vector<int>(lines.size(), 1));
}

TEST_F(Attention, CutsALongLineWhereTheTranslatorDoes) {
    std::string line = "one";
    for (int i = 0; i < 50; ++i) line += " two";
    const TranslationAttention attention = attention_of(*model_, vocabularies_, line, translation_of("four"));
    EXPECT_EQ(attention.source.size(), 32u);
    EXPECT_EQ(attention.source.back(), "</s>");
    EXPECT_EQ(attention.source_words.at(30), 30);
}

TEST_F(Attention, OfAnEmptyLineAndAnEmptyTranslationIsThatOfTheMarks) {
    const TranslationAttention attention = attention_of(*model_, vocabularies_, "  ", translation_of(""));
    EXPECT_THAT(attention.source, ElementsAre("</s>"));
    EXPECT_THAT(attention.written, ElementsAre("</s>"));
    EXPECT_EQ(alignment_text(word_attention(attention)), "");
}

// Maps with known values: two layers, the last with two heads; two source words of three tokens and the end mark, and three
// target tokens and the end mark.
TranslationAttention by_hand() {
    TranslationAttention attention;
    attention.source_words = {0, 0, 1, -1};
    attention.target_words = {0, 1, 1, -1};
    const std::vector<float> last = {.1f, .1f, .7f, .1f, .5f, .1f, .3f, .1f, 0, 0,   .1f, .9f, .25f, .25f, .25f, .25f,
                                     .1f, .0f, .9f, .0f, .5f, .2f, .2f, .1f, 0, .1f, .2f, .7f, .25f, .25f, .25f, .25f};
    attention.maps.cross = {Tensor::full({1, 2, 4, 4}, 0.25, DType::f32), Tensor::from(last, {1, 2, 4, 4})};
    return attention;
}

TEST(WordAttention, AddsTheTokensOfAWordAndTakesTheMeanOfTheLastLayersStepsAndHeads) {
    const WordAttention words = word_attention(by_hand());
    EXPECT_EQ(words.source_words, 2);
    EXPECT_EQ(words.target_words, 2);
    const std::vector<double> wanted = {(.2 + .1) / 2, (.7 + .9) / 2, (.6 + 0 + .7 + .1) / 4, (.3 + .1 + .2 + .2) / 4};
    ASSERT_EQ(words.weights.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(words.weights[i], wanted[i], 1e-6);
    EXPECT_EQ(alignment_text(words), "1-0 0-1") << "source first, in the order of the target's words";
}

TEST(WordsOfTokens, AreTheWordsBetweenSpacesForEveryKindOfVocabulary) {
    const std::string text = "Don't stop (now), little Mädchen";
    const std::vector<std::string> lines(20, text);
    for (const VocabularyType type :
         {VocabularyType::word, VocabularyType::character, VocabularyType::bpe, VocabularyType::unigram}) {
        const bool pieces = is_sentencepiece(type);
        const auto vocabulary = vocabulary_of(type, lines, pieces ? (type == VocabularyType::bpe ? 34 : 24) : 0);
        const std::vector<std::int32_t> tokens = vocabulary->encode(text);
        const std::vector<std::int64_t> words = words_of_line(*vocabulary, text, tokens);
        EXPECT_EQ(words, words_of_text(*vocabulary, tokens)) << word_of(type);
        ASSERT_EQ(words.size(), tokens.size());
        EXPECT_EQ(words.front(), 0);
        EXPECT_EQ(words.back(), 4);
        EXPECT_GT(tokens.size(), 5u) << "words of several tokens, or this shows little";
        for (std::size_t i = 1; i < words.size(); ++i)
            EXPECT_TRUE(words[i] == words[i - 1] || words[i] == words[i - 1] + 1) << word_of(type);
        // The tokens of each word alone make that word.
        const std::vector<std::string> wanted = {"Don't", "stop", "(now),", "little", "Mädchen"};
        for (std::int64_t word = 0; word < 5; ++word) {
            std::vector<std::int32_t> own;
            for (std::size_t i = 0; i < words.size(); ++i)
                if (words[i] == word) own.push_back(tokens[i]);
            std::string read = vocabulary->decode(own);
            std::erase(read, ' ');
            EXPECT_EQ(read, wanted[static_cast<std::size_t>(word)]) << word_of(type);
        }
    }
}

TEST(WordsOfTokens, CountUnknownWordsAndManySpaces) {
    const auto vocabulary = vocabulary_of(VocabularyType::word, {"one two three"});
    const std::string line = "  one   what#ever two ";  // the unknown sign in the middle loses its join marks
    EXPECT_THAT(words_of_line(*vocabulary, line, vocabulary->encode(line)), ElementsAre(0, 1, 1, 1, 2));
}

// The JSON that the page's script reads.
nlohmann::json data_of(const Markup& page) {
    for (const Element& one : page.all("script"))
        if (one.attributes.count("id") > 0) return nlohmann::json::parse(one.text);
    return {};
}

TEST_F(Attention, ReportHasEveryHeadOfEveryLayerOnThePageAndOnRequestAsAFile) {
    const TemporaryFolder folder;
    AttentionReport report(folder / "deep/out", 2, true);
    add(report, "one <six> & two", "four <six>");
    EXPECT_EQ(report.room(), 1);
    add(report, "", "");
    report.leave_out();
    EXPECT_EQ(report.room(), 0);
    report.write();
    expect_loads_nothing(content(folder / "deep/out/index.html"));
    const Markup page = markup_of(content(folder / "deep/out/index.html"));
    const std::int64_t heads = model_->options().heads;
    std::int64_t files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder / "deep/out")) {
        if (each.path().extension() != ".svg") continue;
        ++files;
        EXPECT_EQ(markup_of(content(each.path())).error, "") << each.path();
    }
    EXPECT_EQ(files, 2 * 3 * heads + 1) << "two lines, three kinds of one layer, and the words of the line that has some";
    EXPECT_EQ(page.all("svg").size(), 1u) << "without scripts the words are shown";
    EXPECT_EQ(page.all("details").size(), 2u);
    EXPECT_EQ(page.all("noscript").size(), 1u);
    const nlohmann::json data = data_of(page);
    ASSERT_EQ(data["lines"].size(), 2u);
    EXPECT_EQ(data["lines"][0]["line"], "one <six> & two");
    for (const char* kind : {"cross", "decoder", "encoder"}) {
        ASSERT_EQ(data["lines"][0]["maps"][kind].size(), 1u);
        EXPECT_EQ(data["lines"][0]["maps"][kind][0].size(), static_cast<std::size_t>(heads));
    }
    EXPECT_EQ(data["lines"][1]["source"].dump(), R"(["</s>"])");
    EXPECT_THAT(report.summary(), HasSubstr("the first 2 of 3 lines"));
    EXPECT_THAT(content(folder / "deep/out/index.html"), HasSubstr("The first 2 of 3 lines"));
    EXPECT_TRUE(std::filesystem::exists(folder / "deep/out/line-1/decoder-layer-1-head-1.svg"));
    EXPECT_FALSE(std::filesystem::exists(folder / "deep/out/line-3"));
}

TEST(AttentionReport, ShowsSpacesAndTheMarksThatJoinTokens) {
    TranslationAttention attention;
    attention.source = {"a", " ", "\uFFED."};
    attention.source_words = {0, 0, 0};
    attention.written = attention.read = {"b"};
    attention.target_words = {0};
    attention.maps.encoder = {Tensor::full({1, 2, 3, 3}, 1.0 / 3, DType::f32)};
    attention.maps.cross = {Tensor::full({1, 2, 1, 3}, 1.0 / 3, DType::f32)};
    const TemporaryFolder folder;
    AttentionReport report(folder.path(), 1, true);
    report.add("a \uFFED.", "b", attention, {{}});
    EXPECT_TRUE(std::filesystem::exists(folder / "line-1/encoder-layer-1-head-1.svg"));
    const std::string picture = content(folder / "line-1/encoder-layer-1-head-2.svg");
    for (const char* label : {">a</text>", ">␣</text>", ">·.</text>"}) EXPECT_THAT(picture, HasSubstr(label));
}

TEST(AttentionReport, ExplainsTheSignsThatOccur) {
    const auto explanation = [](std::vector<std::string> source, std::vector<std::string> read,
                                std::vector<std::string> written) {
        TranslationAttention attention;
        attention.source = std::move(source);
        attention.read = std::move(read);
        attention.written = std::move(written);
        attention.source_words.assign(attention.source.size(), 0);
        attention.target_words.assign(attention.written.size(), 0);
        const auto rows = static_cast<std::int64_t>(attention.written.size()),
                   cols = static_cast<std::int64_t>(attention.source.size());
        attention.maps.cross = {Tensor::full({1, 1, rows, cols}, 1.0 / static_cast<double>(cols), DType::f32)};
        const TemporaryFolder folder;
        AttentionReport report(folder.path(), 1, false);
        report.add("a", "b", attention, {{}});
        report.write();
        const std::string page = content(folder / "index.html"), before = "nothing stands above the diagonal.";
        const std::size_t begin = page.find(before) + before.size();
        return page.substr(begin, page.find("</p>", begin) - begin);
    };
    EXPECT_EQ(explanation({"▁a", "b"}, {"c"}, {"d"}), " ▁ is the space before a word.");
    EXPECT_EQ(
        explanation({"a", "</s>"}, {"<s>", "d"}, {"d", "\uFFED."}),
        " · joins a token to its neighbour without a space; &lt;s&gt; begins each translation; &lt;/s&gt; ends each sentence.");
    EXPECT_EQ(explanation({"a", "<unk>"}, {"c", " "}, {" ", "d"}),
              " ␣ is a space; &lt;unk&gt; is what the vocabulary does not have.");
    EXPECT_EQ(explanation({"a"}, {"c"}, {"d"}), "");
}

TEST_F(Attention, ReportLeavesNoPictureOfAFormerOne) {
    const TemporaryFolder folder;
    const auto report = [&](int lines) {
        AttentionReport report(folder.path(), 9, true);
        for (int i = 0; i < lines; ++i) add(report, "one two", "four");
        report.write();
    };
    report(3);
    ASSERT_TRUE(std::filesystem::exists(folder / "line-3/words.svg"));
    std::ofstream(folder / "line-1/cross-layer-9-head-9.svg") << "of a larger model";
    std::ofstream(folder / "line-2/mine.svg") << "x";
    std::filesystem::create_directories(folder / "line-x");
    report(1);
    EXPECT_TRUE(std::filesystem::exists(folder / "line-1/words.svg"));
    EXPECT_FALSE(std::filesystem::exists(folder / "line-1/cross-layer-9-head-9.svg"));
    EXPECT_FALSE(std::filesystem::exists(folder / "line-3"));
    EXPECT_FALSE(std::filesystem::exists(folder / "line-2/words.svg"));
    EXPECT_TRUE(std::filesystem::exists(folder / "line-2/mine.svg")) << "what is not its own stays";
    EXPECT_TRUE(std::filesystem::exists(folder / "line-x"));
}

TEST_F(Attention, ReportLeavesThePagesOfOthersAlone) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / "line-1");
    std::ofstream(folder / "line-1/words.svg") << "mine";
    std::ofstream(folder / "index.html") << "<!DOCTYPE html><title>My site</title>";
    expect_error([&] { AttentionReport(folder.path(), 1, true); }, "index.html: this file is no page that heddle wrote");
    std::filesystem::remove(folder / "index.html");
    AttentionReport report(folder.path(), 1, false);
    EXPECT_EQ(content(folder / "line-1/words.svg"), "mine");
    std::ofstream(folder / "index.html") << "made meanwhile";
    expect_error([&] { report.write(); }, "choose another folder, or move the file away");
    EXPECT_EQ(content(folder / "index.html"), "made meanwhile");
}

}  // namespace
}  // namespace heddle::app
