// Presets, summaries and word vectors in the program.
#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string small =
    " --task digits --vocab-type word --layers 2 --d-model 16 --heads 2 --d-ff 24 --valid-sentences 0 --threads 2 ";

TEST(ProgramPresets, BeginARunWhoseConfigurationHasTheEffectiveOptions) {
    const Workplace here;
    const ProgramResult trained = here.run("train --preset paper" + small + "--memory layer --updates 2 --out RUN");
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_THAT(here.read("RUN/config.toml"),
                AllOf(HasSubstr("d-model = 16\n"), HasSubstr("memory = \"layer\"\n"), HasSubstr("tie = \"embeddings\"\n"),
                      HasSubstr("schedule = \"noam\"\n"), HasSubstr("position-table = 64\n"), HasSubstr("output-bias = true\n"),
                      Not(HasSubstr("preset"))));
    const ProgramResult resumed = here.run("train --resume RUN --updates 3");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("goes on from update 2"));
    const ProgramResult translated = here.run("translate --model RUN --beam 1", "1 2 3\n");
    EXPECT_EQ(translated.status, 0) << translated.err;
    EXPECT_EQ(lines_of(translated.out).size(), 1u);
    // An option missing in config.toml has its default; if that differs from the weights' it is an error.
    const std::string config = here.read("RUN/config.toml");
    std::string before, other = config;
    for (const std::string& line : lines_of(config))
        if (!line.starts_with("norm-eps") && !line.starts_with("scale-embeddings") && !line.starts_with("embedding-init"))
            before += line + "\n";
    ASSERT_LT(before.size(), config.size());
    here.write("RUN/config.toml", before);
    EXPECT_EQ(here.run("translate --model RUN --beam 1", "1 2 3\n").out, translated.out);
    other.replace(other.find("memory = \"layer\""), 16, "memory = \"last\"");
    here.write("RUN/config.toml", other);
    expect_complaint(here.run("translate --model RUN --beam 1", "1 2 3\n"), 1, "holds a model with memory = layer");
    here.write("RUN/config.toml", config);
    expect_complaint(here.run("train --resume RUN --preset paper"), 2, "leave --preset out");
    expect_complaint(here.run("train --resume RUN --memory last"), 2, "cannot change --memory \"last\" (it has \"layer\")");
    const ProgramResult summary = here.run("summary --model RUN --input 2x5 --depth 1 --json");
    ASSERT_EQ(summary.status, 0) << summary.err;
    const auto json = nlohmann::json::parse(summary.out);
    EXPECT_EQ(json.at("modules").at(0).at("output"), nlohmann::json::parse("[2, 5, 14]"));
}

TEST(ProgramPresets, RefuseWhatHasNoEffectOrCannotBe) {
    const Workplace here;
    expect_complaint(here.run("summary --preset list"), 2, "wanted one of annotated, annotated-copy, explained, notebook, paper");
    expect_complaint(here.run("summary --preset paper --encoder-layers 2 --memory layer"), 2, "pairs each decoder layer");
    expect_complaint(here.run("summary --preset notebook --tie all"), 2, "--tie all needs one vocabulary");
    expect_complaint(here.run("summary --zero-start --output-bias false"), 2,
                     "--zero-start with --tie all forbids the begin mark by its output bias");
    expect_complaint(here.run("summary --d-model 63 --heads 3 --positions marian"), 2,
                     "sines and cosines of positions come in pairs");
    expect_complaint(here.run("summary --norm-eps 0"), 2, "wanted a number > 0");
    expect_complaint(here.run("summary --input 32x"), 2, "--input is '32x'");
    expect_complaint(here.run("summary --input 2x3x4x5"), 2, "--input is '2x3x4x5'");
    expect_complaint(here.run("summary --positions learned --position-table 8 --input 1x9"), 2, "positions are learned for 8");
    expect_complaint(here.run("summary --module layers"), 2,
                     "--module layers: summary: the model has no module 'layers'; its parts are");
    expect_complaint(here.run("summary --input 1000x1001"), 2, "--input 1000x1001 has 1,001,000 tokens on a side");
    expect_complaint(here.run("summary --input 1000000x1000000"), 2, "wanted at most 1,000,000");
    expect_complaint(here.run("summary --input ''"), 2, "--input is ''");
    expect_complaint(here.run("summary --pictures ''"), 2, "--pictures is empty, wanted FOLDER");
    expect_complaint(here.run("summary --model RUN --preset paper"), 2, "--preset cannot be combined with --model");
}

// A preset's options are checked like given ones, and the message names the preset.
TEST(ProgramPresets, SayWhichOptionIsTheirs) {
    const Workplace here;
    const std::string train = "train --preset annotated-copy --out RUN ", has = "; --preset annotated-copy has --task digits: ";
    for (const char* option : {"--tsv", "--format xml", "--replace-invalid"})
        expect_complaint(here.run(train + option), 2, "--task makes its own; leave them out" + has);
    expect_complaint(here.run(train + "--valid X"), 2, "are two sources of sentences; give one of them" + has);
    expect_complaint(here.run(train + "--train X --source a --target b"), 1, "X.a: cannot be read");  // replaces the task
    EXPECT_FALSE(here.exists("RUN"));
    expect_complaint(here.run("summary --preset paper --shared-vocab false"), 2, "; --preset paper has --tie embeddings: ");
    ASSERT_EQ(
        here.run("train --task copy --updates 1 --layers 1 --d-model 16 --heads 2 --d-ff 16 --valid-sentences 0 --out OTHER")
            .status,
        0);
    expect_complaint(here.run("train --init OTHER --preset annotated-copy --out RUN"), 2, "; --preset annotated-copy has --");
}

// A task's preset has the task's vocabulary, so its summary is that of the run.
TEST(ProgramPresets, HaveASummaryThatIsTheirRuns) {
    const Workplace here;
    for (const std::string& line : lines_of(here.run("summary --help").out)) {
        if (line.find("--preset ") == std::string::npos || !line.starts_with("  --")) continue;
        std::istringstream names(line.substr(line.find("--preset ") + 9));
        int count = 0;
        for (std::string name; std::getline(names, name, '|') && name.find(' ') == std::string::npos; ++count) {
            const ProgramResult summary = here.run("summary --layers 1 --depth 0 --input 1x2 --preset " + name);
            EXPECT_EQ(summary.status, 0) << name << ": " << summary.err;
        }
        EXPECT_GE(count, 5);
    }
    const ProgramResult trained = here.run("train --preset annotated-copy --updates 1 --valid-sentences 0 --out RUN");
    ASSERT_EQ(trained.status, 0) << trained.err;
    const ProgramResult preset = here.run("summary --preset annotated-copy --json"), run = here.run("summary --model RUN --json");
    ASSERT_EQ(preset.status, 0) << preset.err;
    EXPECT_TRUE(nlohmann::json::parse(preset.out).at("modules") == nlohmann::json::parse(run.out).at("modules"));
    expect_complaint(here.run("train --resume RUN --updates 2 --tsv"), 2, "--task makes its own; leave them out\n");  // its task
}

TEST(ProgramPresets, CountTheHeadsAsTheyAre) {
    const Workplace here;
    const ProgramResult single =
        here.run("summary --preset explained --layers 1 --heads 1 --head-dim 64 --vocab-size 20 --input 1x4");
    EXPECT_EQ(single.status, 0) << single.err;
    EXPECT_THAT(single.out, AllOf(HasSubstr("98,496"), Not(HasSubstr("99,840"))));
    const ProgramResult twelve =
        here.run("summary --preset explained --layers 1 --heads 12 --head-dim 42 --vocab-size 20 --input 1x4");
    EXPECT_THAT(twelve.out, AllOf(HasSubstr("[1, 4, 504]"), HasSubstr("[1, 4, 512]")));
}

TEST(ProgramPresets, BeginWithWordVectors) {
    const Workplace here;
    std::string vector;
    for (int i = 0; i < 16; ++i) vector += " 0.25";
    here.write("vectors", "1 17\n3" + vector + " 1\n");
    const ProgramResult refused = here.run("train --preset notebook" + small + "--updates 1 --out RUN --embeddings vectors");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("heddle: vectors:1: the vectors have 17 numbers, but the model has --d-model 16\n"));
    EXPECT_FALSE(here.exists("RUN/config.toml"));
    here.write("vectors", "1 16\n3" + vector + "\n");
    const ProgramResult trained =
        here.run("train --preset annotated" + small + "--min-count 1 --head-dim 8 --updates 1 --out RUN --embeddings vectors");
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_THAT(trained.err, AllOf(HasSubstr("source_embedding.weight: 1 of 14 tokens are in vectors, which has 1 vectors"),
                                   HasSubstr("target_embedding.weight: 1 of 14")));
    // The run is resumed without the file.
    std::filesystem::remove(here.path("vectors"));
    EXPECT_EQ(here.run("train --resume RUN --updates 2").status, 0);
    expect_complaint(here.run("train --init RUN --embeddings vectors --out OTHER"), 2, "--init brings the embeddings");
}

}  // namespace
}  // namespace heddle
