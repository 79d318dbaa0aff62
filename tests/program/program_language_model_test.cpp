// heddle train --task names and text, heddle generate, and heddle score of a language model.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/device.h"
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

    /// What the run draws.
    std::string drawn(const std::string& arguments) const {
        const ProgramResult result = here_.run("generate run " + arguments);
        EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
        EXPECT_FALSE(result.out.empty()) << arguments;
        return result.out;
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
    EXPECT_EQ(drawn("--prompt ba --samples 10 --seed 3 --scores --threads 2"), ten.out);
    EXPECT_NE(drawn("--prompt ba --samples 10 --seed 4 --scores"), ten.out);
    const std::string likeliest = drawn("--temperature 0");
    EXPECT_EQ(lines_of(likeliest).size(), 1u);
    EXPECT_EQ(drawn("--top-k 1 --seed 9"), likeliest);
    EXPECT_EQ(drawn("--top-p 0.0001 --seed 9"), likeliest);
    EXPECT_EQ(drawn("--top-k 1000 --samples 10 --seed 3"), drawn("--samples 10 --seed 3")) << "there are 21 tokens";
    const std::vector<std::string> cut = lines_of(drawn("--prompt ba --max-tokens 3 --samples 5"));
    EXPECT_EQ(cut.size(), 5u);
    for (const std::string& line : cut) EXPECT_LE(line.size(), 3u);
    const std::vector<std::string> many = lines_of(drawn("--samples 300 --seed 3 --max-tokens 12"));
    ASSERT_EQ(many.size(), 300u) << "more than are decoded together";
    EXPECT_EQ(lines_of(drawn("--samples 260 --seed 3 --max-tokens 12")), std::vector(many.begin(), many.begin() + 260));

    // generate and score give a text the same log p, and the perplexity follows from their sum.
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

TEST_F(LanguageModelRun, LearnsSubwordsOfATextAndHoldsOutATenth) {
    const ProgramResult trained = here_.run(
        "train --task text --text text.txt --out run --layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 1 --vocab-size 60 "
        "--positions learned --key-heads 1");
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_THAT(trained.err, AllOf(HasSubstr("vocabulary: 60 bpe tokens\n"), HasSubstr("training: 270 lines, ")));
    EXPECT_EQ(lines_of(drawn("--samples 3 --max-tokens 20")).size(), 3u);
}

// Learned positions end; a line that is cut has more bytes than its log p is about.
TEST_F(LanguageModelRun, EndsWhereItsPositionTableEnds) {
    ASSERT_EQ(train("--out run --updates 5 --positions learned --position-table 8").status, 0);
    here_.write("whole", "baba\nnone\n");
    here_.write("cut", "baba\nbabababababababa\nnone\n");
    const ProgramResult whole = here_.run("score run --target-file whole"), cut = here_.run("score run --target-file cut");
    ASSERT_EQ(whole.status, 0) << whole.err;
    ASSERT_EQ(cut.status, 0) << cut.err;
    EXPECT_THAT(whole.err, HasSubstr("perplexity "));
    EXPECT_EQ(cut.err, whole.err +
                           "of 1 targets the first 8 tokens were scored: the model's position table ends there; perplexity "
                           "and bits per byte are those of the others\n");
    EXPECT_EQ(lines_of(cut.out).size(), 3u);

    expect_complaint(here_.run("generate run --prompt babababa"), 2,
                     "--prompt has 8 tokens, but the model's position table ends after 8; give a shorter prompt");
    const ProgramResult drawn = here_.run("generate run --prompt bababab --samples 40 --max-tokens 30");
    ASSERT_EQ(drawn.status, 0) << drawn.err;
    EXPECT_THAT(drawn.err, HasSubstr(" of 40 texts were cut before their end; the model's position table ends after 8 tokens"));
}

TEST_F(LanguageModelRun, ContinuesAPromptLongerThanThePositionTableThatIsOnlyAStart) {
    ASSERT_EQ(train("--out run --updates 5 --positions rotary --position-table 8").status, 0);
    std::string prompt;
    for (int i = 0; i < 300; ++i) prompt += "ba";
    EXPECT_THAT(drawn("--prompt " + prompt), testing::StartsWith(prompt));
}

TEST_F(LanguageModelRun, TrainsAndGeneratesOnTheDevice) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    ASSERT_EQ(train("--out run --updates 3 --device cuda").status, 0);
    EXPECT_THAT(here_.read("run/config.toml"), HasSubstr("device = \"cuda\"\n"));
    const std::string on_device = drawn("--prompt ba --samples 3 --max-tokens 8 --seed 3 --device cuda");
    EXPECT_EQ(lines_of(on_device).size(), 3u);
    for (const std::string& line : lines_of(on_device)) EXPECT_THAT(line, testing::StartsWith("ba"));
    EXPECT_EQ(drawn("--temperature 0 --max-tokens 8 --device cuda"), drawn("--temperature 0 --max-tokens 8"));
}

TEST_F(LanguageModelRun, RefusesWhatItCannotDo) {
    ASSERT_EQ(train("--out run --updates 2").status, 0);
    for (const std::string command : {"translate run", "serve run", "evaluate run --test text", "export run --to marian out"})
        expect_complaint(here_.run(command), 2, "run is a language model, which translates nothing; heddle generate");
    expect_complaint(here_.run("summary run --pictures pictures"), 2, "a language model has no encoder; leave it out");
    expect_complaint(here_.run("score run --source-file text.txt --target-file text.txt"), 2, "leave out --source-file");
    expect_complaint(here_.run("generate run --prompt '?'"), 2, "--prompt '?': the vocabulary reads it as");
    expect_complaint(here_.run("generate run --prompt babab --max-tokens 3"), 2,
                     "--prompt 'babab' has 5 tokens, and --max-tokens 3 counts them; give --max-tokens 6 or more");
    for (const std::string option : {"top-k", "top-p", "seed"})
        expect_complaint(here_.run("generate run --temperature 0 --" + option + " 1"), 2,
                         "--" + option + " draws, and --temperature 0 takes the most probable token each time");
    expect_complaint(here_.run("generate run --temperature 0 --samples 10"), 2,
                     "--samples 10 with --temperature 0 would be one text, 10 times");
    expect_complaint(here_.run("train --task text --text text.txt --source de --out other"), 2,
                     "--source and --target are the languages of sentence pairs, and --task text learns from one file");
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
    // Messages on what the task sets come first.
    const auto expect_refused = [&](const std::string& options, const std::string& part) {
        const ProgramResult result = here_.run("train --task text --text text.txt --out other " + options);
        EXPECT_EQ(result.status, 2) << result.err;
        EXPECT_THAT(result.err, HasSubstr("\nheddle: " + part));
    };
    expect_refused("--decoder-only false", "--task text makes a language model; leave out --decoder-only false");
    expect_refused("--memory layer", "--memory layer is for a decoder that attends to an encoder");
    expect_refused("--tune-search true", "--tune-search chooses how translations are searched for, and --task text makes");
    expect_refused("--encoder-layers 2", "--encoder-layers is for a translator");
    expect_refused("--shared-vocab false", "--shared-vocab false makes a vocabulary for each side");
}

}  // namespace
}  // namespace heddle
