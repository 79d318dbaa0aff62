// Rows of embeddings and outputs on their way from a toolkit's numbering to Heddle's and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "apps/exchange/exchanged_model.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "nn/search/scoring.h"
#include "tests/exchange/marian_support.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;

constexpr std::int64_t pieces = 60;

std::string spm() { return train_vocabulary({.size = pieces, .normalization = Normalization::none}, german)->serialized(); }

// A model of a toolkit that numbers its tokens as the .spm file does: pad 0, unk 1, begin 2, end 3.
ExchangedModel toolkit_model(StartToken start, nn::Tie tie = nn::Tie::all, bool has_pad = true) {
    ExchangedModel model;
    model.options = nn::TransformerOptions{.source_vocabulary = pieces,
                                           .target_vocabulary = pieces,
                                           .layers = 1,
                                           .d_model = 8,
                                           .heads = 2,
                                           .d_ff = 12,
                                           .norm = nn::NormPlace::post,
                                           .tie = tie};
    model.options.output_bias = true;
    TokenMap map{.unk = 1, .end = 3, .start = start};
    if (has_pad) map.pad = 0;
    if (start == StartToken::begin) map.begin = 2;
    model.source = model.target = {.sentencepiece = spm(), .map = map};
    model.one_file = true;
    const nn::Transformer random(model.options, 5);
    for (const auto& [name, tensor] : random.named_tensors()) model.tensors.emplace(name, tensor.clone());
    float value = 0;
    for (float& bias : model.tensors.at("output.bias").mutable_values<float>()) bias = value += 0.25F;
    return model;
}

std::vector<double> row(const Tensor& tensor, std::int64_t i) { return tensor.slice(i, i + 1).to_vector(); }

TEST(ExchangedModel, ImportThenExportGivesTheSameBits) {
    for (const StartToken start : {StartToken::begin, StartToken::pad, StartToken::end, StartToken::zeros})
        for (const nn::Tie tie : {nn::Tie::all, nn::Tie::embeddings, nn::Tie::target, nn::Tie::none})
            for (const bool has_pad : {true, false}) {
                if (start == StartToken::pad && !has_pad) continue;
                const HeddleModel run = to_heddle(toolkit_model(start, tie, has_pad), "toolkit");
                const ExchangedModel back = from_heddle(*run.model, run.vocabularies, false, "run");
                const ExchangedModel before = toolkit_model(start, tie, has_pad);
                ASSERT_EQ(back.tensors.size(), before.tensors.size());
                for (const auto& [name, tensor] : before.tensors)
                    EXPECT_EQ(back.tensors.at(name).to_vector(), tensor.to_vector()) << name << " " << word_of(start);
                EXPECT_EQ(back.target.map, before.target.map);
                EXPECT_EQ(back.source.sentencepiece, before.source.sentencepiece);
                EXPECT_EQ(back.options.target_vocabulary, pieces);
                EXPECT_TRUE(back.one_file);
            }
}

TEST(ExchangedModel, TheBeginMarkIsWhatTheToolkitReadsFirst) {
    const ExchangedModel toolkit = toolkit_model(StartToken::begin);
    const Tensor& rows = toolkit.tensors.at("embedding.weight");
    const std::vector<double> zeros(8, 0.0), wanted[] = {row(rows, 2), row(rows, 0), row(rows, 3), zeros};
    for (const StartToken start : {StartToken::begin, StartToken::pad, StartToken::end, StartToken::zeros}) {
        const HeddleModel run = to_heddle(toolkit_model(start), "toolkit");
        std::map<std::string, Tensor> tensors;
        for (const auto& [name, tensor] : run.model->named_tensors()) tensors.emplace(name, tensor);
        const Tensor& embedding = tensors.at("embedding.weight");
        const std::vector<double> bias = tensors.at("output.bias").to_vector();
        EXPECT_EQ(row(embedding, bos_id), wanted[static_cast<int>(start)]) << word_of(start);
        EXPECT_EQ(row(embedding, pad_id), row(rows, 0));
        EXPECT_EQ(row(embedding, eos_id), row(rows, 3));
        EXPECT_EQ(bias[eos_id], 1.0);
        EXPECT_EQ(bias[bos_id], start == StartToken::begin ? 0.75 : static_cast<double>(bias_of_added_token)) << word_of(start);
        EXPECT_EQ(run.model->options().zero_start, start == StartToken::zeros);
        EXPECT_EQ(run.model->options().target_vocabulary, start == StartToken::begin ? pieces : pieces + 1);
    }
    const HeddleModel no_pad = to_heddle(toolkit_model(StartToken::zeros, nn::Tie::all, false), "toolkit");
    const nn::NamedTensors tensors = no_pad.model->named_tensors();
    const auto bias = std::ranges::find(tensors, "output.bias", &std::pair<std::string, Tensor>::first);
    EXPECT_EQ(bias->second.to_vector()[pad_id], static_cast<double>(bias_of_added_token));
    EXPECT_EQ(row(tensors.front().second, pad_id), zeros);
}

// Fine-tuning moves the begin mark away from the row that the toolkit reads.
TEST(ExchangedModel, ATrainedBeginMarkTakesThePlaceOfPadButNotOfTheEnd) {
    const auto trained = [](StartToken start) {
        HeddleModel run = to_heddle(toolkit_model(start), "toolkit");
        for (auto [name, tensor] : run.model->named_tensors())
            if (name == "embedding.weight") tensor.slice(bos_id, bos_id + 1).fill_(0.5);
        return run;
    };
    const HeddleModel pad = trained(StartToken::pad), end = trained(StartToken::end), zeros = trained(StartToken::zeros);
    const ExchangedModel back = from_heddle(*pad.model, pad.vocabularies, false, "run");
    EXPECT_EQ(row(back.tensors.at("embedding.weight"), 0), std::vector<double>(8, 0.5));
    EXPECT_EQ(back.tensors.at("output.bias").to_vector()[0], static_cast<double>(bias_of_added_token));
    EXPECT_EQ(row(back.tensors.at("embedding.weight"), 3), row(toolkit_model(StartToken::pad).tensors.at("embedding.weight"), 3));
    expect_error([&] { from_heddle(*end.model, end.vocabularies, false, "run"); }, "apart from its end mark");
    expect_error([&] { from_heddle(*zeros.model, zeros.vocabularies, false, "run"); }, "should be a row of zeros");
}

// A .spm of other ids, given by --vocab-model, is renumbered when a run reads it; its own ids come back.
TEST(ExchangedModel, OwnVocabulariesKeepTheIdsOfTheirFile) {
    const std::string oracle = HEDDLE_SOURCE_DIR "/../shared/oracles/marian_post/vocab.spm";
    if (!std::filesystem::exists(oracle)) GTEST_SKIP() << "this test needs " << oracle;
    Vocabularies vocabularies;
    vocabularies.source = vocabularies.target = Vocabulary::load(oracle);  // end 0, unk 1, no pad, no begin
    const std::int64_t size = vocabularies.source->size();
    nn::TransformerOptions options{.source_vocabulary = size, .target_vocabulary = size, .layers = 1, .d_model = 8, .d_ff = 8};
    options.zero_start = true;
    options.positions = nn::Positions::marian;
    options.norm_eps = 1e-6;
    const nn::Transformer model(options, 1);
    const Tensor rows = model.named_tensors().front().second;
    ExchangedModel back = from_heddle(model, vocabularies, false, "run");
    const Tensor& found = back.tensors.at("embedding.weight");
    EXPECT_EQ(found.dim(0), size - 2);
    EXPECT_EQ(row(found, 0), row(rows, eos_id));
    EXPECT_EQ(row(found, 1), row(rows, unk_id));
    EXPECT_EQ(row(found, 2), row(rows, 4));
    EXPECT_EQ(row(found, size - 3), row(rows, size - 1));
    EXPECT_EQ(back.target.map, (TokenMap{.unk = 1, .end = 0, .start = StartToken::zeros}));
    const HeddleModel again = to_heddle(std::move(back), "again");
    EXPECT_EQ(again.vocabularies.source->encode("Ich mag Hunde."), vocabularies.source->encode("Ich mag Hunde."));
    EXPECT_EQ(row(again.model->named_tensors().front().second, 4), row(rows, 4));
    // Without a row of zeros the begin mark, which the file lacks, is a token of a list.
    options.zero_start = false;
    const nn::Transformer reads_a_mark(options, 1);
    const ExchangedModel listed = from_heddle(reads_a_mark, vocabularies, false, "run");
    EXPECT_EQ(listed.target.map.pieces.size(), static_cast<std::size_t>(size));
    EXPECT_EQ(listed.target.map.begin, bos_id);
    EXPECT_EQ(listed.tensors.at("embedding.weight").to_vector(), reads_a_mark.named_tensors().front().second.to_vector());
}

// SentencePiece can be trained without an end mark; Heddle adds one.
TEST(ExchangedModel, AnEndMarkThatTheFileLacksIsATokenOfAList) {
    std::string file = train_vocabulary({.size = 50}, german)->serialized();
    file.replace(file.find("</s>"), 4, "</t>");
    Vocabularies vocabularies;
    vocabularies.source = vocabularies.target = load_sentencepiece(file, "file", false);
    ASSERT_LT(special_ids(file, "file").end, 0);
    ASSERT_GE(special_ids(file, "file").begin, 0);
    const std::int64_t size = vocabularies.source->size();
    nn::TransformerOptions options{.source_vocabulary = size, .target_vocabulary = size, .layers = 1, .d_model = 8, .d_ff = 8};
    options.heads = 2;
    for (const bool zero_start : {false, true}) {
        options.zero_start = zero_start;
        const nn::Transformer model(options, 1);
        const ExchangedModel listed = from_heddle(model, vocabularies, false, "run");
        EXPECT_EQ(listed.target.map.pieces.size(), static_cast<std::size_t>(size));
        EXPECT_EQ(listed.target.map.end, eos_id);
        const HeddleModel again = to_heddle(ExchangedModel(listed), "again");
        EXPECT_EQ(again.vocabularies.source->decode(again.vocabularies.source->encode(german[0])), german[0]);
        EXPECT_EQ(row(again.model->named_tensors().front().second, eos_id), row(model.named_tensors().front().second, eos_id));
    }
}

TEST(ExchangedModel, RefusesTensorsThatDoNotFit) {
    const auto refused = [](auto&& change) {
        ExchangedModel model = toolkit_model(StartToken::zeros);
        change(model);
        return error_of([&] { to_heddle(std::move(model), "the folder"); });
    };
    const std::string query = "encoder.layers.0.self_attention.query.weight";
    EXPECT_THAT(refused([&](ExchangedModel& m) { m.tensors.erase(query); }), HasSubstr("query.weight is missing"));
    EXPECT_THAT(refused([&](ExchangedModel& m) {
                    m.tensors[query] = Tensor::zeros({8, 9});
                }),
                HasSubstr("[8, 9], wanted [8, 8]"));
    EXPECT_THAT(refused([&](ExchangedModel& m) {
                    m.tensors["embedding.weight"] = Tensor::zeros({59, 8});
                }),
                HasSubstr("wanted 60 rows"));
    EXPECT_THAT(refused([&](ExchangedModel& m) {
                    m.tensors["embedding.weight"] = Tensor::zeros({60, 7});
                }),
                HasSubstr("[61, 7], wanted [61, 8]"));
    EXPECT_THAT(refused([&](ExchangedModel& m) { m.tensors["other"] = Tensor::zeros({1}); }), HasSubstr("other has no place"));
    EXPECT_THAT(refused([&](ExchangedModel& m) { m.tensors[query].fill_(std::numeric_limits<double>::infinity()); }),
                HasSubstr("holds NaN or infinity"));
    EXPECT_THAT(refused([](ExchangedModel& m) { m.options.source_vocabulary = 61; }),
                HasSubstr("60 and 60 tokens, but the model 61"));
    EXPECT_THAT(refused([](ExchangedModel& m) { m.one_file = false, m.target.map.pad.reset(); }),
                HasSubstr("numbered differently"));
    for (const std::string& message :
         {refused([&](ExchangedModel& m) { m.tensors.erase(query); }), refused([](ExchangedModel& m) { m.options.heads = 3; })})
        EXPECT_THAT(message, HasSubstr("the folder"));
}

TEST(ExchangedModel, RefusesVocabulariesOfWordsAndInLowerCase) {
    const auto refused = [](const VocabularyOptions& options) {
        Vocabularies vocabularies;
        vocabularies.source = vocabularies.target = train_vocabulary(options, german);
        const std::int64_t size = vocabularies.source->size();
        const nn::Transformer model(
            {.source_vocabulary = size, .target_vocabulary = size, .layers = 1, .d_model = 8, .heads = 2, .d_ff = 8}, 1);
        return error_of([&] { from_heddle(model, vocabularies, false, "run"); });
    };
    EXPECT_THAT(refused({.type = VocabularyType::word, .size = 0}), HasSubstr("--vocab-type bpe or unigram"));
    EXPECT_THAT(refused({.type = VocabularyType::character, .size = 0}), HasSubstr("characters"));
    EXPECT_THAT(refused({.size = 50, .lowercase = true}), HasSubstr("--lowercase"));
}

}  // namespace
}  // namespace heddle::app
