// A model that Marian trained gives Marian's results: ../shared/oracles/marian_post holds what pymarian 1.12.42 computes with it.
// Two made of formulas give the results of golden/make_marian.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/exchange/npz.h"
#include "core/file.h"
#include "nn/search/scoring.h"
#include "nn/search/search.h"
#include "tests/exchange/marian_support.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

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
        worst = larger_or_nan(worst, std::abs(scores[i].log_probability - std::stod(wanted[i])));
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
            worst_word = larger_or_nan(worst_word, std::abs(words[t] - wanted[i][t]));
            difference += words[t] - wanted[i][t];
        }
        worst_sentence = larger_or_nan(worst_sentence, std::abs(difference) - rounded * static_cast<double>(wanted[i].size()));
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

// ---- two models whose weights golden/make_marian.py computes, too

constexpr std::int64_t width = 8, inner = 12;

// The arrays of a model by the names that Marian gives them.
class GoldenArrays {
  public:
    void add(const std::string& name, std::int64_t rows, std::int64_t cols) {
        std::int64_t sum = 0;
        for (const char c : name) sum += c;
        Tensor tensor = Tensor::empty({rows, cols});
        std::int64_t index = 0;
        const double one = name.find("_ln_scale") == std::string::npos ? 0 : 1;
        for (float& value : tensor.mutable_values<float>())
            value = static_cast<float>(static_cast<double>((index++ * 7919 + sum * 104729) % 2003 - 1001) / 2002 + one);
        npz_.add(name, tensor);
    }
    void attention(const std::string& name) {
        for (const char* part : {"q", "k", "v", "o"}) {
            add(name + "_W" + part, width, width);
            add(name + "_b" + part, 1, width);
        }
    }
    void norm(const std::string& name, const std::string& suffix) {
        add(name + "_ln_scale" + suffix, 1, width);
        add(name + "_ln_bias" + suffix, 1, width);
    }
    void feed_forward(const std::string& name) {
        add(name + "_W1", width, inner);
        add(name + "_b1", 1, inner);
        add(name + "_W2", inner, width);
        add(name + "_b2", 1, width);
    }
    void options(std::string yml) {
        yml.append(256 - yml.size() % 256, '\0');
        npz_.add("special:model.yml", yml);
    }
    std::string take() { return npz_.take(); }

  private:
    NpzWriter npz_;
};

std::string golden_model(bool pre) {
    GoldenArrays arrays;
    const std::string suffix = pre ? "_pre" : "";
    for (const std::string layer : {"encoder_l1", "encoder_l2", "decoder_l1"}) {
        for (const std::string part : {"_self", "_context"}) {
            if (part == "_context" && layer.starts_with("encoder")) continue;
            arrays.attention(layer + part);
            arrays.norm(layer + part + "_Wo", suffix);
        }
        arrays.feed_forward(layer + "_ffn");
        arrays.norm(layer + "_ffn_ffn", suffix);
    }
    std::string yml =
        "type: transformer\ndim-emb: 8\ntransformer-heads: 2\ntransformer-dim-ffn: 12\nenc-depth: 2\ndec-depth: 1\n";
    if (pre) {
        arrays.add("encoder_Wemb", 60, width);
        arrays.add("decoder_Wemb", 26, width);
        arrays.add("decoder_ff_logit_out_W", width, 26);
        arrays.add("decoder_ff_logit_out_b", 1, 26);
        arrays.norm("encoder_top", "");
        arrays.norm("decoder_top", "");
        yml +=
            "dim-vocabs: [60, 26]\ntransformer-preprocess: n\ntransformer-postprocess: da\ntransformer-postprocess-top: n\n"
            "transformer-ffn-activation: relu\n";
    } else {
        arrays.add("Wemb", 60, width);
        arrays.add("decoder_ff_logit_out_b", 1, 60);
        yml +=
            "dim-vocabs: [60, 60]\ntransformer-preprocess: \"\"\ntransformer-postprocess: dan\n"
            "transformer-postprocess-top: \"\"\ntransformer-ffn-activation: swish\ntied-embeddings-all: true\n";
    }
    arrays.options(yml);
    return arrays.take();
}

// The toolkit's ids as Heddle's, without the end mark.
nn::Tokens numbered(const Vocabulary& vocabulary, const nn::Tokens& toolkit) {
    const std::vector<std::int32_t> ids = vocabulary.toolkit_ids();
    nn::Tokens tokens;
    for (const std::int32_t id : toolkit) tokens.push_back(static_cast<std::int32_t>(std::ranges::find(ids, id) - ids.begin()));
    EXPECT_EQ(tokens.back(), eos_id);
    tokens.pop_back();
    return tokens;
}

TEST(MarianGolden, ComputesTheFormulasOfMarian) {
    const std::vector<std::pair<nn::Tokens, nn::Tokens>> pairs = {
        {{5, 9, 7, 3}, {4, 11, 6, 3}}, {{25, 3}, {8, 3}}, {{4, 4, 12, 30, 31, 8, 3}, {10, 25, 24, 0, 2, 1, 3}}};
    const std::vector<double> wanted[] = {{-23.383494115, -10.762855424, -34.891019177},
                                          {-14.828339857, -6.027157945, -20.147171802}};
    for (const bool pre : {false, true}) {
        const TemporaryFolder folder;
        const HeddleModel vocabularies = made_model(marian_cases[pre ? 2 : 0]);
        const std::string source = vocabularies.vocabularies.source->serialized();
        const std::string target = vocabularies.vocabularies.target->serialized();
        write_export({.files = {{"model.npz", golden_model(pre)}, {"s.spm", source}, {"t.spm", target}}, .notes = {}},
                     folder.path());
        const HeddleModel model = to_heddle(read_marian(folder / "model.npz", {folder / "s.spm", folder / "t.spm"}), "golden");
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            nn::Tokens read = numbered(*model.vocabularies.source, pairs[i].first);
            read.push_back(eos_id);
            const nn::Tokens written = numbered(*model.vocabularies.target, pairs[i].second);
            EXPECT_NEAR(nn::score(*model.model, read, written).log_probability, wanted[pre][i], 2e-5) << pre << ", pair " << i;
        }
    }
}

}  // namespace
}  // namespace heddle::app
