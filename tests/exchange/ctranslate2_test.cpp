// Models of CTranslate2 and packages of Argos Translate, written and read again. program_exchange_slow_test holds them against
// the toolkits themselves.
#include "apps/exchange/ctranslate2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/exchange/argos.h"
#include "apps/exchange/ctranslate2_file.h"
#include "apps/exchange/positions.h"
#include "apps/exchange/token_lists.h"
#include "apps/exchange/zip.h"
#include "core/half.h"
#include "tests/exchange/exchange_support.h"

namespace heddle::app {
namespace {

using nlohmann::json;
using nn::NormPlace;
using nn::Positions;
using nn::Tie;

nn::TransformerOptions with(auto change) {
    nn::TransformerOptions options;
    change(options);
    return options;
}

std::vector<nn::TransformerOptions> kinds() {
    return {
        {},
        with([](auto& o) {
            o.norm = NormPlace::post, o.positions = Positions::sines_first, o.activation = ops::Activation::silu;
        }),
        with([](auto& o) { o.positions = Positions::marian, o.norm_eps = 1e-6, o.final_norm = false; }),
        with([](auto& o) { o.positions = Positions::learned, o.tie = Tie::none, o.activation = ops::Activation::gelu; }),
        with([](auto& o) { o.tie = Tie::embeddings, o.bias = false, o.activation = ops::Activation::gelu_tanh; }),
        with([](auto& o) { o.tie = Tie::target, o.attention_bias = false, o.scale_embeddings = false, o.decoder_layers = 1; }),
        with([](auto& o) { o.norm = NormPlace::post, o.final_norm = true, o.output_bias = true, o.zero_start = true; })};
}

TEST(CTranslate2, KeepsWhatAModelOfHeddleComputes) {
    for (const nn::TransformerOptions& options : kinds())
        for (const bool shared : {true, false}) {
            if (!shared && options.one_embedding()) continue;
            const HeddleModel toy = toy_model(options, shared);
            SCOPED_TRACE(std::string(word_of(options.positions)) + (shared ? ", one vocabulary" : ", two vocabularies"));
            const ExchangedModel model = exchanged(toy);
            const TemporaryFolder folder;
            write_export(to_ctranslate2(model, ExportDType::f32, "toy"), folder.path());
            ASSERT_TRUE(is_ctranslate2(folder.path()));
            const ExchangedModel read = read_ctranslate2(folder.path());
            EXPECT_EQ(read.options.positions, options.positions);
            EXPECT_EQ(read.options.norm, options.norm);
            EXPECT_EQ(read.options.norm_eps, options.norm_eps);
            EXPECT_EQ(read.options.activation, options.activation);
            EXPECT_EQ(read.options.tie, options.tie.value_or(Tie::all));
            EXPECT_EQ(read.options.position_table, 40);
            const std::vector<double> wanted = scores_of(toy), found = scores_of(to_heddle(ExchangedModel(read), "back"));
            // With zero_start pad has no part in the sum of probabilities.
            for (std::size_t i = 0; i < wanted.size(); ++i)
                EXPECT_NEAR(found[i], wanted[i], options.zero_start ? 0.3 : 1e-5) << i;
            // The file that was read comes back with the same bytes.
            const HeddleModel run = to_heddle(ExchangedModel(read), "run");
            const Export again = to_ctranslate2(from_heddle(*run.model, run.vocabularies, false, "run"), ExportDType::f32, "run");
            for (const ExportedFile& file : again.files) {
                if (file.name != "model.bin") continue;
                EXPECT_EQ(file.bytes, read_file(folder.path() / "model.bin"));
            }
        }
}

TEST(CTranslate2, WritesHalvesAndReadsThem) {
    const ExchangedModel model = exchanged(toy_model());
    const TemporaryFolder folder;
    write_export(to_ctranslate2(model, ExportDType::f16, "toy"), folder.path());
    const ExchangedModel read = read_ctranslate2(folder.path());
    EXPECT_EQ(read.options.positions, Positions::learned) << "a table of halves is none of the formulas";
    for (const auto& [name, tensor] : read.tensors) {
        if (!model.tensors.contains(name)) continue;
        const std::span<const float> whole = model.tensors.at(name).values<float>(), half = tensor.values<float>();
        for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(half[i], half_to_float(float_to_half(whole[i]))) << name;
    }
}

TEST(CTranslate2, KeepsPadOutOfTranslationsWhereOtherToolkitsForbidIt) {
    ExchangedModel model = exchanged(toy_model());
    model.target.map.start = model.source.map.start = StartToken::pad;
    const TemporaryFolder folder;
    write_export(to_ctranslate2(model, ExportDType::f32, "toy"), folder.path());
    const ExchangedModel read = read_ctranslate2(folder.path());
    EXPECT_EQ(read.tensors.at("output.bias").values<float>()[pad_id], bias_of_added_token);
    EXPECT_EQ(read.target.map.begin, pad_id);
}

// Converters write one list for each side; with one .spm both sides have one vocabulary with a begin mark all the same.
TEST(CTranslate2, TakesEqualListsForOneVocabulary) {
    const HeddleModel toy = toy_model();
    const TemporaryFolder folder;
    write_export(to_ctranslate2(exchanged(toy), ExportDType::f32, "toy"), folder.path());
    const std::string list = read_file(folder.path() / "shared_vocabulary.json");
    std::filesystem::remove(folder.path() / "shared_vocabulary.json");
    for (const char* side : {"source_vocabulary.json", "target_vocabulary.json"})
        write_file_atomically(folder.path() / side, list);
    const ExchangedModel read = read_ctranslate2(folder.path());
    EXPECT_TRUE(read.one_file);
    EXPECT_EQ(read.source.map, read.target.map);
    const std::vector<double> wanted = scores_of(toy), found = scores_of(to_heddle(ExchangedModel(read), "back"));
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
}

// MarianMT's tokenizer ends the sources, so its converter leaves add_source_eos out.
TEST(CTranslate2, TakesModelsThatStartFromZerosWithoutAddSourceEos) {
    const TemporaryFolder folder;
    write_export(to_ctranslate2(exchanged(toy_model(with([](auto& o) { o.zero_start = true; }))), ExportDType::f32, "toy"),
                 folder.path());
    json config = json::parse(read_file(folder.path() / "config.json"));
    config.erase("add_source_eos");
    write_file_atomically(folder.path() / "config.json", config.dump());
    EXPECT_EQ(read_ctranslate2(folder.path()).target.map.start, StartToken::zeros);
}

TEST(Positions, ATableWithNaNIsNoFormula) {
    Tensor table = position_table(Positions::marian, 100, 24);
    ASSERT_EQ(known_positions(table), Positions::marian);
    for (const std::int64_t row : {0, 63, 64, 99}) {
        Tensor damaged = table.clone();
        damaged.mutable_values<float>()[static_cast<std::size_t>(row * 24 + 5)] = NAN;
        EXPECT_EQ(known_positions(damaged), std::nullopt) << row;
        EXPECT_EQ(distance(damaged, Positions::marian), INFINITY) << row;
    }
}

TEST(CTranslate2, TakesTheVocabularyThatIsGiven) {
    const TemporaryFolder folder;
    write_export(to_ctranslate2(exchanged(toy_model()), ExportDType::f32, "toy"), folder.path());
    const std::filesystem::path here = folder.path() / "sentencepiece.model", there = folder.path() / "elsewhere.spm";
    std::filesystem::rename(here, there);
    expect_error([&] { read_ctranslate2(folder.path()); }, "give --vocab FILE.spm");
    EXPECT_TRUE(read_ctranslate2(folder.path(), {there}).one_file);
    EXPECT_FALSE(read_ctranslate2(folder.path(), {there, there}).one_file);
}

TEST(CTranslate2, RefusesByNameWhatHeddleIsNot) {
    const TemporaryFolder folder;
    const Export made = to_ctranslate2(exchanged(toy_model()), ExportDType::f32, "toy");
    write_export(made, folder.path());
    const std::string whole = read_file(folder.path() / "model.bin"), config = read_file(folder.path() / "config.json");
    const auto complaint_with = [&](const std::string& from, const std::string& to) {
        std::string changed = whole;
        const std::size_t at = changed.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        changed.replace(at, to.size(), to);
        write_file_atomically(folder.path() / "model.bin", changed);
        const std::string message = error_of([&] { read_ctranslate2(folder.path()); });
        write_file_atomically(folder.path() / "model.bin", whole);
        return message;
    };
    using testing::HasSubstr;
    EXPECT_THAT(complaint_with(std::string("\6\0\0\0", 4), std::string("\3\0\0\0", 4)), HasSubstr("version 3"));
    EXPECT_THAT(complaint_with("TransformerSpec", "TransformerSpeq"), HasSubstr("only translation models"));
    EXPECT_THAT(complaint_with("decoder/alibi", "decoder/alibj"), HasSubstr("decoder/alibj"));
    EXPECT_THAT(complaint_with("encoder/layer_0/ffn/layer_norm/beta", "encoder/layer_0/ffn/layer_norm/gama"),
                HasSubstr("layer_norm/beta"));
    const auto with_config = [&](const char* name, const json& value) {
        json changed = json::parse(config);
        changed[name] = value;
        write_file_atomically(folder.path() / "config.json", changed.dump());
        const std::string message = error_of([&] { to_heddle(read_ctranslate2(folder.path()), folder.path().string()); });
        write_file_atomically(folder.path() / "config.json", config);
        return message;
    };
    EXPECT_THAT(with_config("add_source_bos", true), HasSubstr("add_source_bos"));
    EXPECT_THAT(with_config("add_source_eos", false), HasSubstr("set add_source_eos to true"));
    EXPECT_THAT(with_config("decoder_start_token", nullptr), HasSubstr("decoder_start_token"));
    EXPECT_THAT(with_config("eos_token", "</nothing>"), HasSubstr("eos_token"));
    EXPECT_THAT(with_config("layer_norm_epsilon", -1), HasSubstr("norm_eps"));

    nn::TransformerOptions options;
    const auto export_complaint = [](const nn::TransformerOptions& of) {
        return error_of([&] { to_ctranslate2(exchanged(toy_model(of)), ExportDType::f32, "toy"); });
    };
    options.key_heads = 1;
    EXPECT_THAT(export_complaint(options), HasSubstr("--key-heads 1"));
    options = {}, options.head_dim = 4;
    EXPECT_THAT(export_complaint(options), HasSubstr("--head-dim 4"));
    options = {}, options.memory = nn::MemoryFrom::layer;
    EXPECT_THAT(export_complaint(options), HasSubstr("--memory layer"));
}

TEST(CTranslate2, RefusesQuantizedWeights) {
    const TemporaryFolder folder;
    write_export(to_ctranslate2(exchanged(toy_model()), ExportDType::f32, "toy"), folder.path());
    // One variable with the type of int8 and a quarter of its bytes.
    std::string file = read_file(folder.path() / "model.bin");
    const std::string name = "decoder/embeddings/weight";
    const std::size_t type = file.find(name) + name.size() + 1 + 1 + 8;
    file[type] = 1;
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, file.data() + type + 1, sizeof bytes);
    const std::uint32_t quarter = bytes / 4;
    std::memcpy(file.data() + type + 1, &quarter, sizeof quarter);
    file.erase(type + 5 + quarter, bytes - quarter);
    write_file_atomically(folder.path() / "model.bin", file);
    expect_error([&] { read_ctranslate2(folder.path()); }, "--quantization float32");
}

TEST(Argos, PackagesComeBack) {
    ExchangedModel model = exchanged(toy_model());
    expect_error([&] { to_argos(model, ExportDType::f32, "toy"); }, "--languages de en");
    model.source_language = "de", model.target_language = "en";
    const TemporaryFolder folder;
    const std::filesystem::path package = folder.path() / "de_en.argosmodel";
    const Export made = to_argos(model, ExportDType::f32, "toy");
    ZipWriter zip(package);
    for (const ExportedFile& file : made.files) zip.add(file.name, file.bytes);
    zip.commit();
    ASSERT_TRUE(is_argos(package));
    const ExchangedModel read = read_argos(package);
    EXPECT_EQ(read.source_language, "de");
    EXPECT_EQ(read.target_language, "en");
    EXPECT_EQ(read.target.sentencepiece, model.target.sentencepiece);
    for (const auto& [name, tensor] : read.tensors) EXPECT_TRUE(same_bits(tensor, model.tensors.at(name))) << name;
    // The folder of an unpacked package, too.
    write_export(made, folder.path());
    const std::filesystem::path unpacked = folder.path() / "translate-de_en-1_0";
    ASSERT_TRUE(is_argos(unpacked));
    EXPECT_EQ(differing_tensors(read, read_argos(unpacked)), "");
    json config = json::parse(read_file(unpacked / "model/config.json"));
    config["add_source_eos"] = false;
    write_file_atomically(unpacked / "model/config.json", config.dump());
    expect_error([&] { read_argos(unpacked); }, "add_source_eos");
}

TEST(TokenLists, AreReadAndWritten) {
    const std::vector<std::string> tokens = {"</s>", "", "\u2581a\"b\n", "x"};
    EXPECT_EQ(numbered_tokens(numbers_of_tokens(tokens), "t"), tokens);
    const std::vector<std::string> listed = {"</s>", "\u2581a\"b\n", "x"};
    EXPECT_EQ(listed_tokens(list_of_tokens(listed), "t"), listed);
    for (const char* wrong : {"", "[]", "{}", "[1]", "[\"a\", [\"b\"]]", "{\"a\": \"b\"}", "[\"a\"", "[\"\"]", "3", "null"})
        EXPECT_THROW(listed_tokens(wrong, "t"), Error) << wrong;
    for (const char* wrong : {"", "{}", "[\"a\"]", "{\"a\": -1}", "{\"a\": 0.5}", "{\"a\": {\"b\": 0}}", "{\"a\": 999999}",
                              "{\"a\": 0, \"b\": 0}", "{\"a\": 18446744073709551615}", "{\"a\": null}"})
        EXPECT_THROW(numbered_tokens(wrong, "t"), Error) << wrong;
}

}  // namespace
}  // namespace heddle::app
