// Files that Heddle writes for Marian are read back bit for bit, and Marian computes the same with them (with pymarian, where
// Python has it).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "apps/exchange/marian.h"
#include "apps/exchange/marian_options.h"
#include "apps/exchange/npz.h"
#include "core/file.h"
#include "nn/search/scoring.h"
#include "tests/exchange/marian_support.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::vector<double> scores_of_pairs(const HeddleModel& model) {
    std::vector<nn::Tokens> sources, targets;
    for (std::size_t i = 0; i < german.size(); ++i) {
        sources.push_back(model.vocabularies.source->encode(german[i]));
        sources.back().push_back(eos_id);
        targets.push_back(model.vocabularies.target->encode(english[i]));
    }
    std::vector<double> scores;
    for (const nn::PairScore& score : nn::score(*model.model, sources, targets)) scores.push_back(score.log_probability);
    return scores;
}

std::string lines(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += text + "\n";
    return all;
}

TEST(MarianWrite, ImportThenExportGivesTheSameArrays) {
    if (!fs::exists(oracle)) GTEST_SKIP() << "this test needs " << oracle;
    const HeddleModel model = to_heddle(read_marian(oracle), "oracle");
    const TemporaryFolder folder;
    write_export(to_marian(from_heddle(*model.model, model.vocabularies, true, "run"), ExportDType::f32, "run"), folder.path());
    const NpzFile before(oracle / "model.npz"), after(folder / "model.npz");
    EXPECT_EQ(after.names(), before.names());
    for (const std::string& name : before.names()) {
        if (name.starts_with("special:")) continue;
        const NpyArray one = before.array(name), other = after.array(name);
        EXPECT_EQ(other.shape, one.shape) << name;
        EXPECT_TRUE(std::ranges::equal(one.bytes, other.bytes)) << name;
    }
    EXPECT_EQ(read_file(folder / "vocab.spm"), read_file(oracle / "vocab.spm"));
    EXPECT_TRUE(model.forbid_unknown);
    EXPECT_TRUE(read_marian(folder.path()).forbid_unknown);
    // Marian's own options, but for its version.
    const auto options = [](const NpzFile& file) {
        const NpyArray array = file.array("special:model.yml");
        EXPECT_EQ(array.bytes.size() % 256, 0U);
        std::string text(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
        std::istringstream stream(text.substr(0, text.find('\0')));
        std::vector<std::string> sorted;
        std::string key;
        for (std::string line; std::getline(stream, line);) {
            if (!line.starts_with(" ")) key = line;
            if (!line.starts_with("version")) sorted.push_back(line.starts_with(" ") ? key + line : line);
        }
        std::ranges::sort(sorted);
        return sorted;
    };
    EXPECT_EQ(options(after), options(before));
}

TEST(MarianWrite, EveryKindOfModelComesBack) {
    for (const MarianCase& kind : marian_cases) {
        const HeddleModel model = made_model(kind);
        const TemporaryFolder folder;
        write_export(to_marian(exchanged(model), ExportDType::f32, "run"), folder.path());
        const HeddleModel again = to_heddle(read_marian(folder.path()), "again");
        EXPECT_FALSE(again.forbid_unknown);
        // Marian knows neither pad nor begin, so these two pieces are ordinary ones now.
        EXPECT_EQ(again.vocabularies.source->size(), model.vocabularies.source->size() + 2);
        EXPECT_EQ(again.vocabularies.shared(), kind.shared);
        const std::vector<double> wanted = scores_of_pairs(model), found = scores_of_pairs(again);
        for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5) << word_of(kind.tie);
    }
}

TEST(MarianWrite, MarianScoresEveryKindOfModelAsHeddle) {
    HEDDLE_NEEDS_PYTHON_WITH("pymarian");
    for (const MarianCase& kind : marian_cases) {
        const HeddleModel model = made_model(kind);
        const TemporaryFolder folder;
        write_export(to_marian(exchanged(model), ExportDType::f32, "run"), folder.path());
        write_file_atomically(folder / "text.de", std::string_view(lines(german)));
        write_file_atomically(folder / "text.en", std::string_view(lines(english)));
        const char* const source = kind.shared ? "vocab.spm" : "source.spm";
        const char* const target = kind.shared ? "vocab.spm" : "target.spm";
        const ShellOutput output = shell(fmt::format(
            "cd {} && {} -m pymarian score --model model.npz --vocabs {} {} --train-sets text.de text.en --cpu-threads 1 "
            "--workspace 128 --quiet 2>&1",
            quoted(folder.path().string()), quoted(python()), source, target));
        ASSERT_EQ(output.status, 0) << output.text;
        std::istringstream stream(output.text);
        for (const double wanted : scores_of_pairs(model)) {
            double found = 0;
            ASSERT_TRUE(stream >> found) << output.text;
            EXPECT_NEAR(found, wanted, 5e-5) << word_of(kind.tie) << " " << word_of(kind.norm);
        }
    }
}

TEST(MarianWrite, MarianTranslatesTheExportAsTheOriginal) {
    HEDDLE_NEEDS_PYTHON_WITH("pymarian");
    if (!fs::exists(oracle)) GTEST_SKIP() << "this test needs " << oracle;
    const HeddleModel model = to_heddle(read_marian(oracle), "oracle");
    const TemporaryFolder folder;
    write_export(to_marian(from_heddle(*model.model, model.vocabularies, true, "run"), ExportDType::f32, "run"), folder.path());
    const ShellOutput output = shell(
        fmt::format("cd {} && {} -m pymarian decode -c decoder.yml --beam-size 1 --normalize 0 --cpu-threads 1 --workspace 128 "
                    "--mini-batch 1 --maxi-batch 1 --quiet --input {} 2>&1",
                    quoted(folder.path().string()), quoted(python()), quoted((oracle / "test.de").string())));
    EXPECT_EQ(output.status, 0);
    EXPECT_EQ(output.text, read_file(oracle / "greedy.txt"));
}

TEST(MarianWrite, RefusesByTheOption) {
    const HeddleModel model = made_model(marian_cases[0]);
    const auto refused = [&](auto&& change) {
        ExchangedModel changed = exchanged(model);
        change(changed);
        return error_of([&] { to_marian(changed, ExportDType::f32, "run"); });
    };
    using Model = ExchangedModel;
    EXPECT_THAT(refused([](Model& m) { m.options.positions = nn::Positions::sinusoidal; }), HasSubstr("--positions marian"));
    EXPECT_THAT(refused([](Model& m) { m.options.activation = ops::Activation::gelu; }), HasSubstr("--activation gelu"));
    EXPECT_THAT(refused([](Model& m) { m.options.norm_eps = 1e-5; }), HasSubstr("--norm-eps 1e-06"));
    EXPECT_THAT(refused([](Model& m) { m.options.key_heads = 1; }), HasSubstr("--key-heads 1"));
    EXPECT_THAT(refused([](Model& m) { m.options.head_dim = 5; }), HasSubstr("--head-dim 5"));
    EXPECT_THAT(refused([](Model& m) { m.options.scale_embeddings = false; }), HasSubstr("--scale-embeddings"));
    EXPECT_THAT(refused([](Model& m) { m.options.decoder_layers = 2, m.options.memory = nn::MemoryFrom::layer; }),
                HasSubstr("--memory layer"));
    EXPECT_THAT(refused([](Model& m) { m.target.map.start = StartToken::pad; }), HasSubstr("--zero-start true"));
    EXPECT_THAT(refused([](Model& m) { m.source.map.pieces = {"a"}; }), HasSubstr("numbered by a list"));
    expect_error([&] { to_marian(exchanged(model), ExportDType::f16, "run"); }, "--dtype f16");
    ExchangedModel pre = exchanged(made_model(marian_cases[1]));
    EXPECT_THAT(to_marian(pre, ExportDType::f32, "run").notes.back(), HasSubstr("--norm pre"));
    // The search is in decoder.yml.
    pre.forbid_unknown = true;
    pre.length_penalty = 0.6;
    const std::string decoder = to_marian(pre, ExportDType::f32, "run").files.back().bytes;
    EXPECT_THAT(decoder, HasSubstr("normalize: 0.6\n"));
    const TemporaryFolder folder;
    write_export(to_marian(pre, ExportDType::f32, "run"), folder.path());
    EXPECT_EQ(read_marian(folder.path()).length_penalty, 0.6);
    for (const bool there : {true, false}) {  // the default of Marian's decoder
        if (there)
            write_file_atomically(folder / "decoder.yml", "beam-size: 5\n");
        else
            std::filesystem::remove(folder / "decoder.yml");
        EXPECT_EQ(read_marian(folder.path()).length_penalty, 0.0) << there;
    }
    EXPECT_THAT(decoder, Not(HasSubstr("allow-unk")));
}

}  // namespace
}  // namespace heddle::app
