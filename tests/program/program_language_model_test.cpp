// heddle train --task names and text, heddle generate, and heddle score of a language model.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/random.h"
#include "tests/program.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LanguageModelRun : public testing::Test {
  protected:
    // Words of syllables, some lines blank.
    LanguageModelRun() {
        Sequence numbers(7);
        std::string text;
        for (int line = 0; line < 300; ++line) {
            for (std::uint64_t n = 1 + numbers.below(3); n > 0; --n) {
                text += "bdfgklmnprst"[numbers.below(12)];
                text += "aeiou"[numbers.below(5)];
            }
            text += line % 50 == 7 ? "\n\n" : "\n";
        }
        here_.write("text.txt", text);
    }

    ProgramResult train(const std::string& arguments) const {
        return here_.run(
            "train --task names --text text.txt --layers 1 --d-model 16 --heads 2 --d-ff 32 --batch-tokens 200 --log-every 5 "
            "--threads 1 " +
            arguments);
    }

    const Workplace here_;
};

TEST_F(LanguageModelRun, LearnsReportsGeneratesAndScores) {
    const ProgramResult trained = train("--out run --epochs 8 --dropout 0.1");
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_THAT(trained.err,
                AllOf(HasSubstr("the task sets --decoder-only true --vocab-type char"), HasSubstr("vocabulary: 21 char tokens\n"),
                      HasSubstr("training: 270 lines, "), HasSubstr(" bits per byte | "), HasSubstr("    sample      "),
                      HasSubstr("draw texts with: heddle generate run --samples 10"), Not(HasSubstr("BLEU"))));
    EXPECT_THAT(here_.read("run/config.toml"),
                AllOf(HasSubstr("text = \"text.txt\"\n"), HasSubstr("decoder-only = true\n"), HasSubstr("task = \"names\"\n")));
    EXPECT_THAT(here_.read("run/log.jsonl"), AllOf(HasSubstr("\"bits_per_byte\":"), Not(HasSubstr("\"bleu\""))));
    EXPECT_THAT(here_.read("run/report.html"),
                AllOf(HasSubstr("Bits per byte"), HasSubstr("Samples over time"),
                      HasSubstr("270 lines to learn from, 30 to validate"), Not(HasSubstr("BLEU"))));

    const ProgramResult ten = here_.run("generate run --prompt ba --samples 10 --seed 3 --scores");
    ASSERT_EQ(ten.status, 0) << ten.err;
    EXPECT_EQ(lines_of(ten.out).size(), 10u);
    for (const std::string& line : lines_of(ten.out)) EXPECT_THAT(line, AllOf(testing::StartsWith("ba"), HasSubstr(" ||| -")));
    EXPECT_EQ(here_.run("generate run --prompt ba --samples 10 --seed 3 --scores --threads 2").out, ten.out);
    EXPECT_NE(here_.run("generate run --prompt ba --samples 10 --seed 4 --scores").out, ten.out);
    const std::string likeliest = here_.run("generate run --temperature 0").out;
    EXPECT_EQ(here_.run("generate run --top-k 1 --seed 9").out, likeliest);
    EXPECT_EQ(here_.run("generate run --top-p 0.0001 --seed 9").out, likeliest);
    const ProgramResult cut = here_.run("generate run --prompt ba --max-tokens 3 --samples 5");
    for (const std::string& line : lines_of(cut.out)) EXPECT_LE(line.size(), 3u);

    // What generate says of a text is what score says of it, and the perplexity that of all.
    std::string texts;
    double sum = 0, tokens = 0;
    for (const std::string& line : lines_of(ten.out)) {
        const std::string text = line.substr(0, line.find(" ||| "));
        texts += text + "\n";
        sum += std::stod(line.substr(line.find(" ||| ") + 5));
        tokens += static_cast<double>(text.size()) + 1;
    }
    here_.write("texts", texts);
    const ProgramResult scored = here_.run("score run --target-file texts");
    ASSERT_EQ(scored.status, 0) << scored.err;
    for (std::size_t i = 0; i < 10; ++i) {
        const std::string line = lines_of(ten.out)[i];
        EXPECT_NEAR(std::stod(lines_of(scored.out)[i]), std::stod(line.substr(line.find(" ||| ") + 5)), 1e-4);
    }
    double perplexity = 0, bits = 0;
    ASSERT_EQ(std::sscanf(scored.err.c_str(), "perplexity %lf of %*d tokens, %lf bits per byte", &perplexity, &bits), 2)
        << scored.err;
    EXPECT_NEAR(perplexity, std::exp(-sum / tokens), 1e-3);
    EXPECT_NEAR(bits, -sum / std::log(2.0) / tokens, 1e-3) << "a letter is a byte, and the end mark the line end";
    EXPECT_EQ(here_.run("summary run").status, 0);
}

TEST_F(LanguageModelRun, KeepsItsBitsWithThreadsResumedAndPacked) {
    ASSERT_EQ(train("--out whole --updates 60 --valid-every 20 --save-every 30 --keep 0").status, 0);
    const auto wanted = digests_of_weights(here_, "whole");
    ASSERT_EQ(here_.run("train --config whole/config.toml --out threads --threads 2").status, 0);
    EXPECT_EQ(digests_of_weights(here_, "threads"), wanted);
    const ProgramResult packed = here_.run("train --config whole/config.toml --out packed --prepare-above 0");
    ASSERT_EQ(packed.status, 0) << packed.err;
    EXPECT_THAT(packed.err, HasSubstr("text.txt: 1.5 kB of text are more than --prepare-above 0"));
    EXPECT_TRUE(here_.exists("packed/text.prepared/00000.ids"));
    EXPECT_EQ(digests_of_weights(here_, "packed"), wanted);
    for (const char* run : {"whole", "packed"}) {
        std::filesystem::copy(here_.path(run), here_.path("again"), std::filesystem::copy_options::recursive);
        std::filesystem::remove_all(here_.path("again/saves/60"));
        const ProgramResult resumed = here_.run("train --resume again");
        ASSERT_EQ(resumed.status, 0) << resumed.err;
        EXPECT_THAT(resumed.err, HasSubstr("goes on from update 30"));
        EXPECT_EQ(digests_of_weights(here_, "again"), wanted) << run;
        std::filesystem::remove_all(here_.path("again"));
    }
}

// Of every ten lines with text one is held out, drawn by the seed; nothing is in both parts, and nothing is lost.
TEST_F(LanguageModelRun, LearnsSubwordsOfATextAndHoldsOutATenth) {
    const ProgramResult trained = here_.run(
        "train --task text --text text.txt --out run --layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 1 --vocab-size 60 "
        "--positions learned --key-heads 1");
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_THAT(trained.err, AllOf(HasSubstr("vocabulary: 60 bpe tokens\n"), HasSubstr("training: 270 lines, ")));
    EXPECT_THAT(here_.run("generate run --samples 3 --max-tokens 20").out, HasSubstr("\n"));
}

TEST_F(LanguageModelRun, RefusesWhatItCannotDo) {
    ASSERT_EQ(train("--out run --updates 2").status, 0);
    for (const std::string command : {"translate run", "serve run", "evaluate run --test text", "export run --to marian out"})
        expect_complaint(here_.run(command), 2, "run is a language model, which translates nothing; heddle generate");
    expect_complaint(here_.run("summary run --pictures pictures"), 2, "a language model has no encoder; leave it out");
    expect_complaint(here_.run("score run --source-file text.txt --target-file text.txt"), 2, "leave out --source-file");
    expect_complaint(here_.run("generate run --prompt '?'"), 2, "--prompt '?': the vocabulary reads it as");
    expect_complaint(here_.run("train --task names --out other"), 2,
                     "--task names learns from one file, a text per line; give --text");
    expect_complaint(here_.run("train --text text.txt --out other"), 2,
                     "--text text.txt is for a language model; give --task text");
    expect_complaint(here_.run("train --task text --text text.txt --train x --out other"), 2,
                     "--task and --train are two sources");
    expect_complaint(here_.run("train --task text --text - --out other"), 2,
                     "--text - is read twice, to learn from and to validate; give a file");
    expect_complaint(here_.run("train --task numbers --decoder-only true --out other"), 2,
                     "--decoder-only makes a language model");
    // What the task sets is said before these.
    const auto expect_refused = [&](const std::string& options, const std::string& part) {
        const ProgramResult result = here_.run("train --task text --text text.txt --out other " + options);
        EXPECT_EQ(result.status, 2) << result.err;
        EXPECT_THAT(result.err, HasSubstr("\nheddle: " + part));
    };
    expect_refused("--decoder-only false", "--task text makes a language model; leave out --decoder-only false");
    expect_refused("--memory layer", "--memory layer is for a decoder that attends to an encoder");
    expect_refused("--encoder-layers 2", "--encoder-layers is for a translator");
    expect_refused("--shared-vocab false", "--shared-vocab false makes a vocabulary for each side");
}

}  // namespace
}  // namespace heddle
