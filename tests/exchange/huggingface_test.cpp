// Models of transformers give its results (../shared/oracles/hf_* hold what transformers 5.24 computes with them), and what is
// written is read again bit for bit.
#include "apps/exchange/huggingface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/exchange/ctranslate2.h"
#include "apps/exchange/positions.h"
#include "autograd/tape.h"
#include "core/safetensors.h"
#include "nn/search/search.h"
#include "tests/exchange/exchange_support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<fs::path> oracle_folders() {
    std::vector<fs::path> found;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(HEDDLE_SOURCE_DIR "/../shared/oracles", missing))
        if (entry.path().filename().string().starts_with("hf_")) found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

/// A model of transformers, and what it computes with it.
struct Oracle {
    explicit Oracle(const fs::path& folder)
        : path(folder),
          model(to_heddle(read_huggingface(folder), folder.string())),
          results(json::parse(read_file(folder / "oracle.json"))["sentences"]) {
        for (const auto& sentence : results) {
            sources.push_back(encoded(*model.vocabularies.source, sentence["source"]));
            sources.back().push_back(eos_id);
            targets.push_back(encoded(*model.vocabularies.target, sentence["target"]));
        }
    }
    static nn::Tokens encoded(const Vocabulary& vocabulary, const std::string& text) { return vocabulary.encode(text); }

    fs::path path;
    HeddleModel model;
    json results;
    std::vector<nn::Tokens> sources, targets;
};

#define HEDDLE_NEEDS_HUGGINGFACE_ORACLES(folders)           \
    const std::vector<fs::path> folders = oracle_folders(); \
    if (folders.empty()) GTEST_SKIP() << "this test needs ../shared/oracles/hf_*"

TEST(HuggingFaceOracle, EncodesGivesLogitsAndScores) {
    HEDDLE_NEEDS_HUGGINGFACE_ORACLES(folders);
    for (const fs::path& folder : folders) {
        SCOPED_TRACE(folder.filename());
        const Oracle oracle(folder);
        const std::vector<std::int32_t> source_ids = oracle.model.vocabularies.source->toolkit_ids(),
                                        target_ids = oracle.model.vocabularies.target->toolkit_ids();
        const std::vector<nn::PairScore> scores = nn::score(*oracle.model.model, oracle.sources, oracle.targets);
        const SafetensorsFile logits(folder / "oracle.safetensors");
        double worst_logit = 0, worst_score = 0;
        ASSERT_EQ(oracle.results.size(), 40u);
        for (std::size_t i = 0; i < oracle.results.size(); ++i) {
            std::vector<std::int32_t> ids;
            for (const std::int32_t id : oracle.sources[i]) ids.push_back(source_ids[static_cast<std::size_t>(id)]);
            EXPECT_EQ(ids, oracle.results[i]["source_ids"].get<std::vector<std::int32_t>>()) << "sentence " << i;
            worst_score =
                larger_or_nan(worst_score, std::abs(scores[i].log_probability - oracle.results[i]["log_prob"].get<double>()));
            const std::string name = "logits." + std::to_string(i);
            if (!logits.contains(name)) continue;
            const NoGrad no_grad;
            nn::Tokens read = oracle.targets[i];
            read.insert(read.begin(), bos_id);
            const Tensor source = Tensor::from(oracle.sources[i], {static_cast<std::int64_t>(oracle.sources[i].size())});
            const Tensor target = Tensor::from(read, {static_cast<std::int64_t>(read.size())});
            const std::int64_t source_length[] = {source.numel()}, target_length[] = {target.numel()};
            const nn::Transformer& model = *oracle.model.model;
            const nn::Sentences from{source, Spans::packed(source_length)}, to{target, Spans::packed(target_length)};
            const Tensor ours = model.logits(model.decode(to, model.encode(from), from.spans).value());
            const Tensor theirs = logits.load(name);
            for (std::int64_t row = 0; row < theirs.rows(); ++row)
                for (std::int64_t id = 0; id < ours.cols(); ++id) {
                    const std::int32_t their_id = target_ids[static_cast<std::size_t>(id)];
                    if (their_id < 0) continue;
                    const float wanted = theirs.values<float>()[static_cast<std::size_t>(row * theirs.cols() + their_id)];
                    const float found = ours.values<float>()[static_cast<std::size_t>(row * ours.cols() + id)];
                    worst_logit = larger_or_nan(worst_logit, static_cast<double>(std::abs(wanted - found)));
                }
        }
        EXPECT_LE(worst_logit, 1e-5);
        EXPECT_LE(worst_score, 3e-5);
    }
}

TEST(HuggingFaceOracle, TranslatesAsTransformers) {
    HEDDLE_NEEDS_HUGGINGFACE_ORACLES(folders);
    for (const fs::path& folder : folders) {
        SCOPED_TRACE(folder.filename());
        const Oracle oracle(folder);
        const nn::HypothesisLists greedy =
            nn::translate(*oracle.model.model, oracle.sources, {.beam = 1, .forbidden = {pad_id, bos_id}});
        for (std::size_t i = 0; i < oracle.results.size(); ++i)
            EXPECT_EQ(oracle.model.vocabularies.target->decode(greedy[i].front().tokens), oracle.results[i]["greedy"])
                << "sentence " << i;
    }
}

// Its beam search ends by other rules, so what it found is scored: log p / length.
TEST(HuggingFaceOracle, ScoresEachHypothesisOfTransformersByItsPieces) {
    HEDDLE_NEEDS_HUGGINGFACE_ORACLES(folders);
    for (const fs::path& folder : folders) {
        SCOPED_TRACE(folder.filename());
        const Oracle oracle(folder);
        const std::vector<std::int32_t> toolkit = oracle.model.vocabularies.target->toolkit_ids();
        double worst = 0;
        int hypotheses = 0;
        for (std::size_t i = 0; i < oracle.results.size(); ++i)
            for (const auto& hypothesis : oracle.results[i]["beam4"]) {
                nn::Tokens written;  // without pad, which fills the shorter ones, and without what the decoder reads first
                for (const std::int32_t id : hypothesis["ids"].get<std::vector<std::int32_t>>()) {
                    const auto own = static_cast<std::int32_t>(std::ranges::find(toolkit, id) - toolkit.begin());
                    if (own != pad_id && (own != eos_id || !written.empty())) written.push_back(own);
                }
                const nn::ScoreBatch batch{.sources = {oracle.sources[i]}, .written = {written}, .indices = {0}};
                double sum = 0;
                for (const double token : nn::token_log_probabilities(*oracle.model.model, batch)) sum += token;
                worst =
                    larger_or_nan(worst, std::abs(sum / static_cast<double>(written.size()) - hypothesis["score"].get<double>()));
                ++hypotheses;
            }
        EXPECT_EQ(hypotheses, 160);
        EXPECT_LE(worst, 1e-5);
    }
}

TEST(HuggingFaceOracle, ComesBackBitForBit) {
    HEDDLE_NEEDS_HUGGINGFACE_ORACLES(folders);
    for (const fs::path& folder : folders) {
        SCOPED_TRACE(folder.filename());
        const ExchangedModel read = read_huggingface(folder);
        const HeddleModel model = to_heddle(ExchangedModel(read), "read");
        const ExchangedModel back = from_heddle(*model.model, model.vocabularies, model.forbid_unknown, "back");
        EXPECT_EQ(differing_tensors(read, back), "");
        const TemporaryFolder written;
        write_export(to_huggingface(back, ExportDType::f32, "back"), written.path());
        const ExchangedModel again = read_huggingface(written.path());
        EXPECT_EQ(differing_tensors(read, again), "");
        EXPECT_EQ(again.source.map, read.source.map);
        EXPECT_EQ(again.target.map, read.target.map);
        EXPECT_EQ(again.source.sentencepiece, read.source.sentencepiece);
        EXPECT_EQ(again.target.sentencepiece, read.target.sentencepiece);
        EXPECT_EQ(again.options.position_table, read.options.position_table);
        // A model of CTranslate2 made of it translates in the same way; all but the marks have the same ids in Heddle.
        const TemporaryFolder other;
        write_export(to_ctranslate2(back, ExportDType::f32, "back"), other.path());
        const HeddleModel through = to_heddle(read_ctranslate2(other.path()), "through");
        const Oracle oracle(folder);
        const nn::DecodeOptions greedy{.beam = 1, .forbidden = {pad_id, bos_id}};
        const nn::HypothesisLists wanted = nn::translate(*model.model, oracle.sources, greedy),
                                  found = nn::translate(*through.model, oracle.sources, greedy);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            EXPECT_EQ(found[i].front().tokens, wanted[i].front().tokens) << "sentence " << i;
    }
}

struct Kind {
    const char* what;
    nn::TransformerOptions options;
    bool shared = true;
};

std::vector<Kind> kinds_of_exports() {
    using nn::Positions;
    using nn::Tie;
    nn::TransformerOptions post;
    post.norm = nn::NormPlace::post;
    const auto with = [&](auto change) {
        nn::TransformerOptions options = post;
        change(options);
        return options;
    };
    return {{"sinusoidal", post},
            {"sines first", with([](auto& o) { o.positions = Positions::sines_first; })},
            {"tied target, silu", with([](auto& o) { o.tie = Tie::target, o.activation = ops::Activation::silu; })},
            {"tied embeddings, gelu", with([](auto& o) { o.tie = Tie::embeddings, o.activation = ops::Activation::gelu; })},
            {"two vocabularies", with([](auto& o) { o.tie = Tie::none, o.activation = ops::Activation::gelu_tanh; }), false},
            {"no biases, no scale", with([](auto& o) { o.bias = false, o.scale_embeddings = false; })},
            {"an output bias", with([](auto& o) { o.output_bias = true, o.encoder_layers = 1; })},
            {"begins with zeros", with([](auto& o) { o.zero_start = true; })}};
}

TEST(HuggingFace, KeepsWhatAModelOfHeddleComputes) {
    for (const Kind& kind : kinds_of_exports()) {
        SCOPED_TRACE(kind.what);
        const HeddleModel toy = toy_model(kind.options, kind.shared);
        const TemporaryFolder folder;
        write_export(to_huggingface(exchanged(toy), ExportDType::f32, "toy"), folder.path());
        ASSERT_TRUE(is_huggingface(folder.path()));
        const HeddleModel back = to_heddle(read_huggingface(folder.path()), "back");
        EXPECT_EQ(back.model->options().positions, nn::Positions::sines_first);
        const std::vector<double> wanted = scores_of(toy), found = scores_of(back);
        for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-5) << i;
    }
}

TEST(HuggingFace, KeepsTheLengthPenaltyOfTheSearch) {
    ExchangedModel model = exchanged(toy_model(kinds_of_exports()[0].options));
    const TemporaryFolder folder;
    for (const std::optional<double> penalty :
         {std::optional<double>(), std::optional<double>(0.0), std::optional<double>(1.5)}) {
        model.length_penalty = penalty;
        write_export(to_huggingface(model, ExportDType::f32, "toy"), folder.path());
        EXPECT_EQ(read_huggingface(folder.path()).length_penalty, penalty.value_or(1));
    }
}

TEST(HuggingFace, IsKnownByItsConfigurationThoughThatIsDamaged) {
    const TemporaryFolder folder;
    EXPECT_FALSE(is_huggingface(folder.path()));
    write_file_atomically(folder.path() / "config.json", std::string_view("{\"model_type\": \"mar"));
    EXPECT_TRUE(is_huggingface(folder.path()));
    expect_error([&] { read_huggingface(folder.path()); }, "config.json");
}

// A model that was saved in bf16 holds a table of positions that is rounded by up to 2e-3.
TEST(HuggingFace, TakesItsPositionsInHalfPrecision) {
    nn::TransformerOptions options = kinds_of_exports()[0].options;
    options.positions = nn::Positions::learned;
    ExchangedModel model = exchanged(toy_model(options));
    const Tensor exact = position_table(nn::Positions::sines_first, 40, 24);
    for (const DType dtype : {DType::bf16, DType::f32}) {
        for (const char* table : {"source_positions.weight", "target_positions.weight"})
            model.tensors.at(table) = exact.to(dtype).to(DType::f32);
        const TemporaryFolder folder;
        write_export(to_huggingface(model, ExportDType::f32, "toy"), folder.path());
        const ExchangedModel read = read_huggingface(folder.path());
        EXPECT_EQ(read.options.positions, dtype == DType::f32 ? nn::Positions::sines_first : nn::Positions::learned);
    }
    model.tensors.at("source_positions.weight").mutable_values<float>()[7] += 0.01F;
    expect_error([&] { to_huggingface(model, ExportDType::f32, "toy"); }, "positions are learned");
}

TEST(HuggingFace, RefusesByNameWhatMarianMtCannotBe) {
    nn::TransformerOptions post;
    post.norm = nn::NormPlace::post;
    const auto complaint = [](const nn::TransformerOptions& options) {
        return error_of([&] { to_huggingface(exchanged(toy_model(options)), ExportDType::f32, "toy"); });
    };
    EXPECT_THAT(complaint({}), testing::HasSubstr("toy: it is pre-norm"));
    nn::TransformerOptions options = post;
    options.final_norm = true;
    EXPECT_THAT(complaint(options), testing::HasSubstr("--final-norm"));
    options = post, options.norm_eps = 1e-6;
    EXPECT_THAT(complaint(options), testing::HasSubstr("--norm-eps 1e-06"));
    options = post, options.key_heads = 1;
    EXPECT_THAT(complaint(options), testing::HasSubstr("--key-heads 1"));
    options = post, options.head_dim = 4;
    EXPECT_THAT(complaint(options), testing::HasSubstr("--head-dim 4"));
    options = post, options.memory = nn::MemoryFrom::layer;
    EXPECT_THAT(complaint(options), testing::HasSubstr("--memory layer"));
    options = post, options.positions = nn::Positions::marian;
    EXPECT_THAT(complaint(options), testing::HasSubstr("--positions marian"));
    options = post, options.positions = nn::Positions::learned;
    EXPECT_THAT(complaint(options), testing::HasSubstr("positions are learned"));
}

}  // namespace
}  // namespace heddle::app
