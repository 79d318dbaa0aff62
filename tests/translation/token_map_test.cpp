// Vocabularies whose tokens another toolkit numbers: the numbering, its file, text to ids and back, and the marks that such a
// toolkit's search never writes.
#include "apps/translation/vocabulary/token_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/command/run.h"
#include "apps/translation/decoding/attention.h"
#include "apps/translation/decoding/scoring.h"
#include "apps/translation/decoding/translate.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "core/device.h"
#include "core/file.h"
#include "tests/nn/decoding_support.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using Numbers = std::vector<std::int32_t>;

const std::vector<std::string>& few_lines() {
    static const std::vector<std::string> lines{"the cat sat on the mat", "the dog sat on the cat", "a dog and a cat"};
    return lines;
}

const Vocabulary& own_vocabulary() {
    static const std::unique_ptr<Vocabulary> vocabulary =
        train_vocabulary({.type = VocabularyType::bpe, .size = 40}, few_lines());
    return *vocabulary;
}

// The tokens of own_vocabulary() in the order of Hugging Face's Marian models: the end mark first, pad last, no bos. Piece 10
// is missing, and a language and a piece that only another vocabulary has stand before pad.
TokenMap reordered() {
    TokenMap map{.pieces = {"</s>", "<unk>"}, .unk = 1, .end = 0, .start = StartToken::pad};
    for (std::int32_t id = static_cast<std::int32_t>(own_vocabulary().size()) - 1; id > eos_id; --id)
        if (id != 10) map.pieces.push_back(own_vocabulary().token(id));
    map.pieces.insert(map.pieces.end(), {">>fra<<", "\u2581zebra", "<pad>"});
    map.pad = static_cast<std::int32_t>(map.pieces.size()) - 1;
    return map;
}

std::unique_ptr<Vocabulary> mapped(const TokenMap& map = reordered()) {
    return load_sentencepiece(own_vocabulary().serialized(), "vocab.model", false, map);
}

TEST(TokenMap, NumbersTheSpecialTokensFirst) {
    const TokenMap all{.pieces = {"a", "<s>", "b", "<pad>", "</s>", "<unk>"}, .unk = 5, .end = 4, .pad = 3, .begin = 1};
    EXPECT_THAT(all.toolkit_ids(99), ElementsAre(3, 5, 1, 4, 0, 2));
    TokenMap other = all;
    other.start = StartToken::pad;
    EXPECT_THAT(other.toolkit_ids(99), ElementsAre(3, 5, -1, 4, 0, 1, 2)) << "a begin mark that is not read is like any token";
    other.begin.reset();
    EXPECT_THAT(other.toolkit_ids(99), ElementsAre(3, 5, -1, 4, 0, 1, 2));
    // The way of Marian: the ids are those of the .spm, and the decoder reads zeros first.
    const TokenMap marian{.unk = 1, .end = 0, .start = StartToken::zeros};
    EXPECT_THAT(marian.toolkit_ids(5), ElementsAre(-1, 1, -1, 0, 2, 3, 4));
}

TEST(TokenMap, RefusesIdsThatDoNotFit) {
    const TokenMap good{.pieces = {"</s>", "<unk>", "a", "<pad>"}, .unk = 1, .end = 0, .pad = 3, .start = StartToken::pad};
    ASSERT_EQ(good.toolkit_ids(0).size(), 5u);
    const auto refused = [&](const auto& change, const std::string& part) {
        TokenMap map = good;
        change(map);
        expect_error([&] { map.toolkit_ids(0); }, part);
    };
    refused([](TokenMap& map) { map.unk = 4; }, "unk is 4, but the ids are 0 to 3");
    refused([](TokenMap& map) { map.end = -1; }, "end is -1, but");
    refused([](TokenMap& map) { map.unk = -1; }, "unk is -1, but");
    refused([](TokenMap& map) { map.pad = 7; }, "pad is 7, but");
    refused([](TokenMap& map) { map.pad = -1; }, "pad is -1, but");
    refused([](TokenMap& map) { map.end = 3; }, "pad and end are both 3");
    refused([](TokenMap& map) { map.start = StartToken::begin; }, "starts with a begin mark, but it has none");
    refused([](TokenMap& map) { map.pad.reset(); }, "starts with pad, but it has none");
    refused([](TokenMap& map) { map.pieces[2] = "<unk>"; }, "token 2 has the text of an earlier one");
    refused([](TokenMap& map) { map.pieces[2] = std::string("a\0b", 3); }, "token 2 holds a NUL");
    refused([](TokenMap& map) { map.pieces[2] = "\xff"; }, "token 2 is not UTF-8");
    refused([](TokenMap& map) { map.pieces[2].assign(1025, 'a'); }, "token 2 has 1025 bytes");
    refused([](TokenMap& map) { map.pieces.clear(); }, "but the ids are 0 to -1");
    TokenMap unused = good;
    unused.pieces.insert(unused.pieces.end(), {"", ""});
    EXPECT_EQ(unused.toolkit_ids(0).size(), 7u) << "ids that no text has";
}

TEST(TokenMap, ComesBackFromItsFile) {
    TokenMap map{.pieces = {"</s>", "<unk>", "a\"\\\n\u2581\u00fc", "", "<pad>"}, .unk = 1, .end = 0, .pad = 4, .begin = 2};
    EXPECT_EQ(map.json(),
              "{\"start\":\"begin\",\"unk\":1,\"end\":0,\"pad\":4,\"begin\":2,\"pieces\":[\n\"</s>\",\n\"<unk>\",\n"
              "\"a\\\"\\\\\\n\u2581\u00fc\",\n\"\",\n\"<pad>\"\n]}\n");
    EXPECT_EQ(TokenMap::from_json(map.json(), "m"), map);
    EXPECT_FALSE(nlohmann::json::parse(map.json(), nullptr, false).is_discarded());
    const TokenMap bare{.unk = 1, .end = 0, .start = StartToken::zeros};
    EXPECT_EQ(TokenMap::from_json(bare.json(), "m"), bare);
    EXPECT_EQ(TokenMap::from_json(reordered().json(), "m"), reordered());
}

TEST(TokenMap, RefusesADamagedFileByName) {
    const std::string good = reordered().json();
    const auto refused = [](const std::string& text, const std::string& part) {
        const std::string message = error_of([&] { TokenMap::from_json(text, "RUN/vocab.map.json"); });
        EXPECT_THAT(message, testing::AllOf(testing::StartsWith("RUN/vocab.map.json: not a map of tokens ("),
                                            testing::HasSubstr(part), testing::HasSubstr("import the model again")));
    };
    for (std::size_t cut = 0; cut < good.size(); ++cut) refused(good.substr(0, cut), "");
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        return text.replace(text.find(from), from.size(), to);
    };
    refused(changed("\"pad\",", "\"none\","), "its start is not begin, pad, end or zeros");
    refused(changed("\"pad\",", "7,"), "it has no start");
    refused(changed("\"unk\":1", "\"unk\":1.5"), "its unk is no id");
    refused(changed("\"unk\":1", "\"unk\":-1"), "its unk is no id");
    refused(changed("\"unk\":1", "\"unk\":18446744073709551615"), "its unk is no id");
    refused(changed("\"unk\":1", "\"unk\":4294967297"), "its unk is no id");
    refused(changed("\"unk\":1,", ""), "it has no unk");
    refused(changed("\"end\":0,", ""), "it has no end");
    refused(changed("\"end\":0", "\"end\":1,\"end\":0"), "not as heddle import writes it");
    refused(changed("\"end\":0", "\"other\":3,\"end\":0"), "not as heddle import writes it");
    refused(changed("\"end\":0", "\"end\": 0"), "not as heddle import writes it");
    refused(changed("\"<unk>\"", "\"</s>\""), "token 1 has the text of an earlier one");
    refused(changed("\"<unk>\"", "3"), "line 3 is not the text of a token");
    refused(changed("\"<unk>\",", "\"<unk>\""), "line 3 ends without a comma");
    refused(changed("\"<unk>\"", "\"\\ud800\""), "line 3 is not JSON");
    refused(changed("\"<unk>\"", "\"\xff\""), "line 3 is not JSON");
    refused(changed("\"<unk>\"", "\"\\u0000\""), "token 1 holds a NUL");
    refused(changed("\"<unk>\"", '"' + std::string(1025, 'a') + '"'), "token 1 has 1025 bytes");
    refused(changed("\"<unk>\"", std::string(7000, '[')), "line 3 has 7000 bytes");
    refused(changed("\"<unk>\"", std::string(5000, '[')), "line 3 is not JSON");
    refused(good + " ", "not as heddle import writes it");
    refused(std::string(std::size_t{65} << 20, ' '), "bytes; wanted at most");
}

TEST(MappedVocabulary, LooksEachPieceUp) {
    const std::unique_ptr<Vocabulary> vocabulary = mapped();
    const TokenMap map = reordered();
    EXPECT_EQ(*vocabulary->token_map(), map);
    EXPECT_EQ(own_vocabulary().token_map(), nullptr);
    EXPECT_THAT(own_vocabulary().toolkit_ids(), testing::SizeIs(40));
    EXPECT_EQ(own_vocabulary().toolkit_ids()[17], 17);
    const Numbers toolkit = vocabulary->toolkit_ids();
    EXPECT_EQ(vocabulary->size(), static_cast<std::int64_t>(map.pieces.size()) + 1) << "bos is added";
    EXPECT_THAT(Numbers(toolkit.begin(), toolkit.begin() + 5), ElementsAre(*map.pad, 1, -1, 0, 2));
    EXPECT_THAT(
        std::vector<std::string>({vocabulary->token(0), vocabulary->token(1), vocabulary->token(2), vocabulary->token(3)}),
        ElementsAre("<pad>", "<unk>", "<s>", "</s>"));
    int unknown = 0;
    for (const std::string& line : few_lines()) {
        const Numbers own = own_vocabulary().encode(line), ids = vocabulary->encode(line);
        ASSERT_EQ(ids.size(), own.size());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            unknown += own[i] == 10 ? 1 : 0;
            if (own[i] == 10) {
                EXPECT_EQ(ids[i], unk_id);
            } else {
                EXPECT_EQ(vocabulary->token(ids[i]), own_vocabulary().token(own[i]));
            }
        }
        EXPECT_EQ(std::ranges::count(own, 10), std::ranges::count(ids, unk_id));
        if (std::ranges::count(own, 10) == 0) {
            EXPECT_EQ(vocabulary->decode(ids), line);
        }
    }
    EXPECT_GT(unknown, 0) << "the test must show what becomes of a piece that the map lacks";
    expect_error([&] { vocabulary->decode(Numbers{static_cast<std::int32_t>(vocabulary->size())}); }, "there is no token");
}

TEST(MappedVocabulary, SplitsALanguageOffFirst) {
    const std::unique_ptr<Vocabulary> vocabulary = mapped();
    const auto french = static_cast<std::int32_t>(vocabulary->size()) - 2;
    ASSERT_EQ(vocabulary->token(french), ">>fra<<");
    Numbers wanted = vocabulary->encode("a dog");
    wanted.insert(wanted.begin(), french);
    EXPECT_EQ(vocabulary->encode(">>fra<< a dog"), wanted);
    EXPECT_EQ(vocabulary->encode(">>fra<<a dog"), wanted);
    EXPECT_EQ(vocabulary->encode(">>fra<<"), Numbers{french});
    wanted[0] = unk_id;
    EXPECT_EQ(vocabulary->encode(">>deu<< a dog"), wanted);
    EXPECT_THAT(vocabulary->unknown_parts(">>deu<< a dog"), ElementsAre(">>deu<<"));
    for (const char* text : {"a >>fra<< dog", " >>fra<<", ">>fra", ">fra<<"})
        EXPECT_EQ(std::ranges::count(vocabulary->encode(text), french), 0) << text;
    // Where no token is a language, such a beginning is text like any other.
    TokenMap without = reordered();
    std::ranges::replace(without.pieces, std::string(">>fra<<"), std::string("\u2581qqq"));
    const std::unique_ptr<Vocabulary> one_language = mapped(without);
    EXPECT_EQ(one_language->encode(">>x<<").size(), own_vocabulary().encode(">>x<<").size());
    EXPECT_GT(one_language->encode(">>the dog<<").size(), 1u);
    // Without texts the ids are the model's, and its pieces are all there is.
    const TokenMap bare{.unk = unk_id, .end = eos_id, .start = StartToken::zeros};
    EXPECT_GT(mapped(bare)->encode(">>fra<<").size(), 1u);
}

TEST(MappedVocabulary, JoinsTheTextsAsTheModelDoes) {
    const std::unique_ptr<Vocabulary> vocabulary = mapped();
    const Numbers dog = vocabulary->encode("a dog");
    const auto zebra = static_cast<std::int32_t>(vocabulary->size()) - 1;
    ASSERT_EQ(vocabulary->token(zebra), "\u2581zebra");
    Numbers all{bos_id, zebra, pad_id};
    all.insert(all.end(), dog.begin(), dog.end());
    all.insert(all.end(), {zebra, eos_id});
    EXPECT_EQ(vocabulary->decode(all), "zebra a dog zebra") << "a piece that the model lacks";
    EXPECT_EQ(vocabulary->decode(Numbers{zebra, unk_id}), "zebra \u2047 ");
    EXPECT_EQ(vocabulary->decode({}), "");
    const std::string unknown = "\u4e2d\u6587";
    EXPECT_EQ(std::ranges::count(vocabulary->encode("a " + unknown), unk_id), 1);
    EXPECT_THAT(vocabulary->unknown_parts("a " + unknown), ElementsAre(unknown));
    // A text that the model takes for unknown may be one of the map's.
    TokenMap known = reordered();
    known.pieces[known.pieces.size() - 2] = unknown;
    EXPECT_EQ(mapped(known)->encode("a " + unknown).back(), zebra);
    EXPECT_EQ(mapped(known)->decode(Numbers{zebra}), unknown);
    known.pieces[known.pieces.size() - 2] = "two\nlines";
    EXPECT_EQ(mapped(known)->decode(Numbers{zebra}), "two lines");
}

// Such text would otherwise end a source, or pad it.
TEST(MappedVocabulary, NoTextBecomesAMark) {
    TokenMap map = reordered();
    map.pieces[static_cast<std::size_t>(*map.pad)] = "\u4e2d";
    map.pieces[0] = "\u6587";
    const std::unique_ptr<Vocabulary> vocabulary = mapped(map);
    for (const char* text : {"\u4e2d", "\u6587", "a \u4e2d b", "</s>", "<pad>", "<unk>", "<s>"})
        for (const std::int32_t id : vocabulary->encode(text)) EXPECT_TRUE(id == unk_id || id > eos_id) << text;
}

TEST(MappedVocabulary, OfAModelsOwnIdsNumbersThemOnly) {
    const TokenMap bare{.unk = unk_id, .end = eos_id, .start = StartToken::zeros};
    const std::unique_ptr<Vocabulary> vocabulary = mapped(bare);
    EXPECT_EQ(vocabulary->size(), own_vocabulary().size() + 2) << "pad and bos of the model are ordinary tokens here";
    const Numbers toolkit = vocabulary->toolkit_ids();
    for (const std::string& line : few_lines()) {
        Numbers ids = vocabulary->encode(line);
        EXPECT_EQ(vocabulary->decode(ids), line);
        for (std::int32_t& id : ids) id = toolkit[static_cast<std::size_t>(id)];
        EXPECT_EQ(ids, own_vocabulary().encode(line));
    }
    EXPECT_EQ(vocabulary->token(4), "<pad>");
    EXPECT_EQ(vocabulary->token(5), "<s>");
    expect_error([] { mapped({.unk = 5, .end = eos_id, .start = StartToken::zeros}); },
                 "vocab.model: its map of tokens is not sound: unk and end are 5 and 3, but in the vocabulary they are 1 and 3");
    expect_error([] { mapped({.unk = 1, .end = 99, .start = StartToken::zeros}); }, "end is 99, but the ids are 0 to 39");
    // Texts for fewer tokens than the model has: none of them may be taken for the model's ids.
    const std::unique_ptr<Vocabulary> few = mapped({.pieces = {"</s>", "<unk>"}, .unk = 1, .end = 0, .start = StartToken::end});
    for (const std::int32_t id : few->encode("the cat")) EXPECT_EQ(id, unk_id);
}

TEST(MappedVocabulary, IsSavedWithItsMap) {
    const TemporaryFolder folder;
    const auto files = [&] {
        std::vector<std::string> names;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder.path()))
            names.push_back(entry.path().filename().string());
        std::ranges::sort(names);
        return names;
    };
    const std::shared_ptr<const Vocabulary> one = mapped(), bare = mapped({.unk = 1, .end = 3, .start = StartToken::zeros});
    Vocabularies{one, one}.save(folder.path());
    EXPECT_THAT(files(), ElementsAre("vocab.map.json", "vocab.model"));
    const std::string digest = vocabulary_digest(folder.path());
    const Vocabularies again = Vocabularies::load(folder.path(), false);
    EXPECT_TRUE(again.shared() && again.one_numbering());
    EXPECT_EQ(*again.source->token_map(), reordered());
    EXPECT_EQ(again.source->encode(">>fra<< a cat"), one->encode(">>fra<< a cat"));
    EXPECT_EQ(read_file(folder / "vocab.model"), own_vocabulary().serialized()) << "the .spm is kept as it is";

    const Vocabularies two{
        mapped(), load_sentencepiece(train_vocabulary({.type = VocabularyType::bpe, .size = 30}, few_lines())->serialized(),
                                     "target.spm", false, reordered())};
    two.save(folder.path());
    EXPECT_THAT(files(),
                ElementsAre("vocab.source.map.json", "vocab.source.model", "vocab.target.map.json", "vocab.target.model"));
    EXPECT_NE(vocabulary_digest(folder.path()), digest);
    const Vocabularies both = Vocabularies::load(folder.path(), false);
    EXPECT_FALSE(both.shared());
    EXPECT_TRUE(both.one_numbering()) << "two models whose pieces have the same numbers";
    EXPECT_EQ(both.source->token(30), both.target->token(30));
    EXPECT_FALSE((Vocabularies{one, bare}.one_numbering()));
    EXPECT_TRUE((Vocabularies{bare, std::shared_ptr(mapped(*bare->token_map()))}.one_numbering()));
    EXPECT_FALSE(
        (Vocabularies{bare, load_sentencepiece(both.target->serialized(), "t", false, *bare->token_map())}).one_numbering())
        << "the ids of two models are not the same tokens";

    Vocabularies{one, one}.save(folder.path());
    EXPECT_EQ(vocabulary_digest(folder.path()), digest);
    // A changed map is another vocabulary.
    TokenMap other = reordered();
    std::swap(other.pieces[2], other.pieces[3]);
    std::ofstream(folder / "vocab.map.json") << other.json();
    EXPECT_NE(vocabulary_digest(folder.path()), digest);
    std::ofstream(folder / "vocab.map.json") << "{}";
    expect_error([&] { Vocabularies::load(folder.path(), false); }, "vocab.map.json: not a map of tokens");

    const std::shared_ptr<const Vocabulary> own = train_vocabulary({.type = VocabularyType::bpe, .size = 40}, few_lines());
    Vocabularies{own, own}.save(folder.path());
    EXPECT_THAT(files(), ElementsAre("vocab.model")) << "a map of an earlier vocabulary would be taken for this one's";
}

TEST(MappedVocabulary, WithAnotherMapIsAnotherVocabulary) {
    EXPECT_EQ(vocabulary_difference(*mapped(), *mapped()), "");
    TokenMap other = reordered();
    std::swap(other.pieces[2], other.pieces[3]);
    EXPECT_THAT(vocabulary_difference(*mapped(), *mapped(other)), testing::StartsWith("token 4 is '"));
    other = reordered();
    other.start = StartToken::end;
    EXPECT_EQ(vocabulary_difference(*mapped(), *mapped(other)), "the same tokens with other counts or settings");
    EXPECT_NE(vocabulary_difference(*mapped(), own_vocabulary()), "");
    // Two numberings cannot share an embedding.
    std::swap(other.pieces[2], other.pieces[3]);
    const Vocabularies two{mapped(), mapped(other)};
    const nn::TransformerOptions tied{.tie = nn::Tie::all}, apart{.tie = nn::Tie::target};
    expect_error([&] { check_numbering(tied, two, "RUN"); }, "RUN: its languages share an embedding (tie all), but");
    EXPECT_NO_THROW(check_numbering(apart, two, "RUN"));
    EXPECT_NO_THROW(check_numbering(tied, {mapped(), mapped()}, "RUN"));
}

class MarkedModel : public testing::Test {
  protected:
    MarkedModel() {
        vocabularies_.source = vocabularies_.target = mapped();
        model_ = nn::random_model(vocabularies_.target->size(), 5);
        // Another toolkit's model may find its pad and bos likely wherever it is not asked for them.
        float* bias = nn::named_tensor(*model_, "output.bias").mutable_data<float>();
        bias[pad_id] = bias[bos_id] = 9;
        bias[unk_id] = 7;
    }

    std::vector<std::vector<Translation>> translated(const DecodeOptions& options) const {
        return Translator(*model_, vocabularies_, options).translate(few_lines());
    }
    static std::set<std::int32_t> tokens_in(const std::vector<std::vector<Translation>>& lists) {
        std::set<std::int32_t> tokens;
        for (const std::vector<Translation>& list : lists)
            for (const Translation& each : list) tokens.insert(each.tokens.begin(), each.tokens.end());
        return tokens;
    }

    Vocabularies vocabularies_;
    nn::Model model_;
};

TEST_F(MarkedModel, WritesNeitherPadNorBos) {
    std::vector<DecodeOptions> searches{{.beam = 1}, {.beam = 4, .n_best = 4}};
    searches.push_back({.n_best = 9, .sampling = Sampling{.seed = 3}});
    searches.push_back({.n_best = 9, .sampling = Sampling{.top_k = 3, .seed = 3}});
    for (const Device device : {Device::cpu, Device::cuda}) {
        if (device == Device::cuda && !device::available()) continue;
        model_->to(device);
        for (DecodeOptions options : searches) {
            options.max_length = 5;
            SCOPED_TRACE(fmt::format("{} beam {} samples {}", word_of(device), options.beam, options.sampling.has_value()));
            const std::set<std::int32_t> tokens = tokens_in(translated(options));
            EXPECT_TRUE(tokens.contains(unk_id)) << "it is likely, and not forbidden";
            EXPECT_FALSE(tokens.contains(pad_id) || tokens.contains(bos_id)) << fmt::format("{}", fmt::join(tokens, " "));
            options.forbidden = {unk_id};
            const std::set<std::int32_t> fewer = tokens_in(translated(options));
            EXPECT_GT(fewer.size(), 1u);
            EXPECT_FALSE(fewer.contains(pad_id) || fewer.contains(bos_id) || fewer.contains(unk_id));
        }
    }
    model_->to(Device::cpu);
    // A model of Heddle's own is searched as ever.
    Vocabularies own;
    own.source = own.target = train_vocabulary({.type = VocabularyType::word, .size = 0}, few_lines());
    const nn::Model other = nn::random_model(own.target->size(), 5);
    nn::named_tensor(*other, "output.bias").mutable_data<float>()[pad_id] = 9;
    EXPECT_TRUE(tokens_in(Translator(*other, own, {.beam = 1}).translate(few_lines())).contains(pad_id));
}

// The probabilities of the other tokens stay the model's.
TEST_F(MarkedModel, KeepsTheModelsProbabilities) {
    const std::vector<std::vector<Translation>> lists =
        translated({.beam = 3, .length_penalty = 0, .n_best = 3, .max_length = 9});
    int compared = 0;
    for (std::size_t i = 0; i < lists.size(); ++i)
        for (const Translation& each : lists[i]) {
            if (!each.ended) continue;
            nn::Tokens source = vocabularies_.source->encode(few_lines()[i]);
            source.push_back(eos_id);
            EXPECT_NEAR(each.log_probability,
                        nn::score(*model_, source, each.tokens, {.begin = bos_id, .end = eos_id}).log_probability, 1e-4);
            ++compared;
        }
    EXPECT_GT(compared, 0);
}

TEST_F(MarkedModel, AlignsTheTokensOfAMap) {
    Translator translator(*model_, vocabularies_, {.beam = 2, .max_length = 6});
    const std::vector<std::string> lines{">>fra<< the cat sat", "a dog"};
    const auto lists = translator.translate(lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const TranslationAttention attention = attention_of(*model_, vocabularies_, lines[i], lists[i].front());
        EXPECT_EQ(attention.source.size(), vocabularies_.source->encode(lines[i]).size() + 1);
        EXPECT_EQ(attention.source_words.back(), -1);
        EXPECT_THAT(std::vector<std::int64_t>(attention.source_words.begin(), attention.source_words.end() - 1),
                    testing::Each(testing::Ge(0)));
        if (i == 0) {
            EXPECT_EQ(attention.source.front(), ">>fra<<");
        }
    }
}

}  // namespace
}  // namespace heddle::app
