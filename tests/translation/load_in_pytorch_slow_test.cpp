// docs/load_in_pytorch.py reads a run's folder and computes the model's own log-probabilities.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/translation/decoding/scoring.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/training/data.h"
#include "core/random.h"
#include "tests/documents.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

const Corpus text = {.pairs = {{"Der Hund schläft.", "The dog is asleep."},
                               {"Die kleine Katze sieht den Hund", "The small cat sees the dog"},
                               {"ß", "nothing"},
                               {"Ein Wort", ""},
                               {"ÜBER den großen Fluss führt eine alte Brücke", "an old bridge leads ACROSS the wide river"}}};

/// A run's folder as written by heddle train, with random weights: no bias is zero, no norm is one.
Run made_run(const std::filesystem::path& path, const std::string& config) {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    const std::string heads = config.starts_with("heads") ? "" : "heads = 2\n";
    std::istringstream lines("d-model = 24\nd-ff = 20\nlayers = 2\n" + heads + config);
    table.read_config(lines, "the test's options");
    resolve(settings.model, settings.vocabulary);
    const Vocabularies vocabularies = make_vocabularies(settings.vocabulary, text, [](std::string_view) {});
    RunFolder folder(path, false);
    folder.write_config(table.config());
    vocabularies.save(path);
    folder.identify(model_identity(settings, path));
    nn::Transformer model(settings.model.with_vocabularies(vocabularies.source->size(), vocabularies.target->size()));
    Sequence random(3);
    for (auto [name, tensor] : model.named_tensors())
        for (float& value : tensor.mutable_values<float>()) value += 3e-4f * (static_cast<float>(random.below(1000)) - 500);
    folder.write_model(model.named_tensors());
    return open_run(path);
}

// Those of heddle score.
std::vector<double> own_scores(const Run& run) {
    std::vector<double> scores;
    for (const nn::PairScore& each : score_lines(*run.model, run.vocabularies, text.sources(), text.targets()).scores)
        scores.push_back(each.log_probability);
    return scores;
}

std::vector<double> scores_of_pytorch(const std::filesystem::path& run) {
    write_lines(run / "sources", text.sources());
    write_lines(run / "targets", text.targets());
    const ShellOutput output =
        shell(quoted(python()) + " '" HEDDLE_SOURCE_DIR "/docs/load_in_pytorch.py' " + quoted(run.string()) + " " +
              quoted((run / "sources").string()) + " " + quoted((run / "targets").string()) + " 2>&1");
    EXPECT_EQ(output.status, 0) << output.text;
    std::istringstream lines(output.text);
    std::vector<double> scores;
    for (std::string line; std::getline(lines, line);) scores.push_back(std::strtod(line.c_str(), nullptr));
    return scores;
}

class LoadInPyTorch : public testing::TestWithParam<const char*> {};

TEST_P(LoadInPyTorch, FindsTheModelsOwnLogProbabilities) {
    HEDDLE_NEEDS_PYTHON_WITH("torch safetensors sentencepiece tomllib");
    const TemporaryFolder folder;
    const auto run = made_run(folder / "run", GetParam());
    const std::vector<double> own = own_scores(run), theirs = scores_of_pytorch(folder / "run");
    ASSERT_EQ(own.size(), theirs.size());
    for (std::size_t i = 0; i < own.size(); ++i)
        EXPECT_TRUE(std::abs(own[i] - theirs[i]) <= 1e-5 * std::abs(own[i])) << own[i] << " and " << theirs[i];
}

INSTANTIATE_TEST_SUITE_P(Kinds, LoadInPyTorch,
                         testing::Values("",
                                         "norm = \"post\"\nactivation = \"gelu\"\nshared-vocab = false\ntie = \"none\"\n"
                                         "positions = \"learned\"\nposition-table = 60\nlowercase = true\nencoder-layers = 1\n",
                                         "activation = \"gelu-tanh\"\nhead-dim = 7\nbias = false\nfinal-norm = false\n"
                                         "shared-vocab = false\nvocab-type = \"unigram\"\nvocab-size = 38\n",
                                         "memory = \"layer\"\ntie = \"embeddings\"\nattention-bias = false\nnorm-eps = 0.01\n",
                                         "memory = \"layer\"\nnorm = \"post\"\nscale-embeddings = false\n",
                                         "heads = 6\nkey-heads = 2\n",
                                         "activation = \"silu\"\npositions = \"marian\"\nzero-start = true\nnorm = \"post\"\n",
                                         "positions = \"sines-first\"\noutput-bias = true\nactivation = \"silu\"\n"));

// Where two settings are beyond it, both are named.
TEST(LoadInPyTorchScript, RefusesByNameWhatItDoesNotCompute) {
    HEDDLE_NEEDS_PYTHON_WITH("torch safetensors sentencepiece tomllib");
    const auto said = [](const std::string& config) {
        const TemporaryFolder folder;
        const auto run = made_run(folder / "run", config);
        const ShellOutput output = shell(quoted(python()) + " '" HEDDLE_SOURCE_DIR "/docs/load_in_pytorch.py' " +
                                         quoted((folder / "run").string()) + " sources targets 2>&1");
        EXPECT_EQ(output.status, 1) << output.text;
        return output.text.substr(output.text.find("run: ") + 5);
    };
    const std::string rest = ": this script does not compute that; heddle score does\n";
    EXPECT_EQ(said("positions = \"rotary\"\n"), "positions = rotary" + rest);
    EXPECT_EQ(said("positions = \"alibi\"\n"), "positions = alibi" + rest);
    EXPECT_EQ(said("gated = true\nnorm-kind = \"rms\"\n"), "gated = True, norm-kind = rms" + rest);
}

TEST(ModelFormatPage, CountsTheLinesOfTheScript) {
    const std::string script = project_file("docs/load_in_pytorch.py");
    EXPECT_LE(std::count(script.begin(), script.end(), '\n'), 67);
}

}  // namespace
}  // namespace heddle::app
