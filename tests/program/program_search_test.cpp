// RUN/search.toml: which commands write it, and which use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/program.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* two_updates = " --layers 1 --d-model 16 --heads 2 --d-ff 32 --dropout 0 --updates 2 --valid-sentences 0";

class ProgramSearch : public testing::Test {
  protected:
    ProgramSearch() { train("RUN", "--task copy"); }

    void train(const std::string& run, const std::string& options) const {
        const ProgramResult trained = here.run("train --out " + run + " " + options + two_updates);
        ASSERT_EQ(trained.status, 0) << trained.err;
    }
    // log p / score = length^alpha of the first translation.
    double divisor(const std::string& options) const {
        const ProgramResult translated = here.run("translate --scores " + options, "a b c d\n");
        EXPECT_EQ(translated.status, 0) << translated.err;
        std::istringstream numbers(translated.out.substr(translated.out.rfind("|||") + 3));
        double log_probability = 0, score = 0;
        numbers >> log_probability >> score;
        EXPECT_LT(log_probability, 0) << translated.out;
        return log_probability / score;
    }

    Workplace here;
};

TEST_F(ProgramSearch, TranslatesWithTheRunsLengthPenaltyUnlessAnotherIsGiven) {
    EXPECT_FALSE(here.exists("RUN/search.toml")) << "two updates are no training to choose by";
    const double length = divisor("--model RUN");
    ASSERT_GT(length, 1.5);
    here.write("RUN/search.toml", "# none\nlength-penalty = 0\n");
    EXPECT_NEAR(divisor("--model RUN"), 1, 1e-4);
    EXPECT_GT(divisor("--model RUN --length-penalty 1"), 1.5);
    EXPECT_THAT(here.run("evaluate --model RUN --beam 1").err, HasSubstr("using length penalty 0 from RUN/search.toml\n"));
    EXPECT_THAT(here.run("evaluate --model RUN --beam 1 --length-penalty 0").err, Not(HasSubstr("length penalty")));

    std::filesystem::copy(here.path("RUN"), here.path("OTHER"), std::filesystem::copy_options::recursive);
    std::filesystem::remove(here.path("OTHER/search.toml"));
    EXPECT_NEAR(divisor("--model RUN OTHER"), 1, 1e-4) << "the first run's counts";
    EXPECT_GT(divisor("--model OTHER RUN"), 1.5);
}

TEST_F(ProgramSearch, NamesFileAndLineOfWhatItCannotRead) {
    here.write("RUN/search.toml", "\nlength-penalty = much\n");
    expect_complaint(here.run("translate --model RUN", "a b\n"), 2, "--length-penalty is 'much'");
    here.write("RUN/search.toml", "beam = 5\n");
    expect_complaint(here.run("translate --model RUN", "a b\n"), 2, "RUN/search.toml:1: 'beam' is not a setting");
}

TEST_F(ProgramSearch, ChoosesAgainAndStoresIt) {
    const ProgramResult tuned = here.run("evaluate --tune RUN --beam 2");
    ASSERT_EQ(tuned.status, 0) << tuned.err;
    EXPECT_EQ(lines_of(tuned.out).size(), 5u) << tuned.out;
    EXPECT_THAT(tuned.out, HasSubstr("length penalty 1: 0.00 % exact\n"));
    EXPECT_THAT(tuned.err, HasSubstr("length penalty 1: 0.00 % exact of 500 validation pairs; stored in RUN/search.toml\n"));
    EXPECT_THAT(here.read("RUN/search.toml"), HasSubstr("\nlength-penalty = 1.0\n"));
    EXPECT_EQ(here.run("evaluate --tune RUN --beam 2 --threads 1").out, tuned.out);
    EXPECT_EQ(here.run("evaluate --tune RUN --beam 2 --max-output-length 5 --forbid-unknown").status, 0);

    // For other pairs the references are the translations with a penalty of 2.
    std::string sources;
    for (int i = 0; i < 100; ++i) sources += std::string("a b c d e f g").substr(0, 3 + 2 * (i % 6)) + "\n";
    here.write("v.in", sources);
    here.write("v.out", here.run("translate --model RUN --beam 2 --length-penalty 2", sources).out);
    ASSERT_NE(here.read("v.out"), here.run("translate --model RUN --beam 2 --length-penalty 1", sources).out);
    const ProgramResult given = here.run("evaluate --tune RUN --beam 2 --valid v");
    ASSERT_EQ(given.status, 0) << given.err;
    EXPECT_THAT(given.err, AllOf(HasSubstr(": BLEU 100.00 (brevity penalty 1.000) of 100 validation pairs, instead of length "
                                           "penalty 1: BLEU "),
                                 HasSubstr("; stored in RUN/search.toml\n")));
    EXPECT_EQ(here.run("translate --model RUN --beam 2", sources).out, here.read("v.out"));
    EXPECT_THAT(here.run("evaluate --tune RUN --beam 2 --valid v --tokenize char").out,
                HasSubstr("length penalty 2: chrF2 100.00 (brevity penalty 1.000)\n"));
    EXPECT_THAT(here.run("evaluate --tune RUN --beam 2 --valid v --tokenize intl").out,
                HasSubstr("length penalty 2: BLEU 100.00 (intl, brevity penalty 1.000)\n"));

    train("RUN", "--task copy --overwrite");
    EXPECT_FALSE(here.exists("RUN/search.toml")) << "it was the run's that is replaced";
}

// A run whose toolkit never writes the unknown token: its searches, samples, fine-tuning and the choice of a penalty keep to it.
TEST_F(ProgramSearch, NeverWritesTheUnknownTokenWhereTheRunForbidsIt) {
    const auto samples = [&](const std::string& options) {
        return here.run("translate --sample --top-k 0 --temperature 5 --n-best 60 " + options, "a b c\nd e\n").out;
    };
    const std::string unknown = "\u2047";
    ASSERT_THAT(samples("--model RUN"), HasSubstr(unknown)) << "weights that are still random";
    const std::string forbidden = samples("--model RUN --forbid-unknown");
    here.write("RUN/search.toml", "forbid-unknown = true\n");
    EXPECT_EQ(samples("--model RUN"), forbidden);
    EXPECT_THAT(forbidden, Not(HasSubstr(unknown)));
    EXPECT_THAT(samples("--model RUN --length-penalty 2"), Not(HasSubstr(unknown)));
    EXPECT_THAT(samples("--model RUN --forbid-unknown false"), HasSubstr(unknown));
    EXPECT_EQ(here.run("translate --model RUN --replace-unknown drop", "a b\n").status, 0) << "given options come first";
    EXPECT_THAT(here.run("evaluate --model RUN --beam 1").err, Not(HasSubstr("length penalty")));

    train("TUNED", "--task copy --init RUN");
    EXPECT_THAT(here.read("TUNED/search.toml"), AllOf(HasSubstr("\nforbid-unknown = true\n"), Not(HasSubstr("length-penalty"))));
    ASSERT_EQ(here.run("evaluate --tune TUNED --beam 2").status, 0);
    EXPECT_THAT(here.read("TUNED/search.toml"), HasSubstr("\nlength-penalty = 1.0\nforbid-unknown = true\n"));
    here.write("TUNED/search.toml", "forbid-unknown = perhaps\n");
    expect_complaint(here.run("translate --model TUNED", "a b\n"), 2, "--forbid-unknown is 'perhaps'");
}

TEST_F(ProgramSearch, ReadsTheRunsOwnValidationText) {
    std::string lines;
    for (int i = 0; i < 120; ++i) lines += "a b c\td e f\n";
    here.write("text.tsv", lines);
    train("TEXT", "--train text.tsv --valid text.tsv --tsv --vocab-type word");
    EXPECT_THAT(here.run("evaluate --tune TEXT").err, HasSubstr(" of 120 validation pairs"));
    here.write("few.tsv", lines.substr(0, 12 * 99));
    expect_complaint(here.run("evaluate --tune TEXT --valid few.tsv"), 1,
                     "--tune has 99 pairs to choose by, wanted 100 or more; give a larger --valid\n");
    here.write("few.tsv", lines.substr(0, 12));
    train("FEW", "--train text.tsv --valid few.tsv --tsv --vocab-type word");
    expect_complaint(here.run("evaluate --tune FEW"), 1,
                     "--tune has 1 pairs to choose by, wanted 100 or more; give --valid PREFIX");
    train("ALONE", "--train text.tsv --tsv --vocab-type word");
    expect_complaint(here.run("evaluate --tune ALONE"), 2, "ALONE names no file of validation pairs; give --valid PREFIX");
}

TEST_F(ProgramSearch, RefusesOptionsThatWouldDoNothing) {
    for (const std::string option : {"test t", "length-penalty 2", "weights best", "json", "reference r", "replace-unknown copy"})
        expect_complaint(here.run("evaluate --tune RUN --" + option), 2,
                         "--tune RUN makes no use of --" + option.substr(0, option.find(' ')));
    for (const char* twice : {"evaluate RUN --tune RUN", "evaluate --tune RUN --model RUN"})
        expect_complaint(here.run(twice), 2, "--tune names the run itself; leave out RUN\n");
    expect_complaint(here.run("evaluate --tune RUN --tokenize zh"), 2,
                     "--tune goes by the exact lines of a generated task; leave out --tokenize");
    expect_complaint(here.run("evaluate --tune RUN --source de"), 2, "--source applies to --valid PREFIX");
    expect_complaint(here.run("evaluate --tune RUN --valid v --tsv --format xml"), 2, "--tsv is a format of its own");
    expect_complaint(here.run("evaluate --model RUN --valid v"), 2, "--valid is for --tune RUN");
    expect_complaint(here.run("evaluate --tune NONE"), 1, "NONE");
}

}  // namespace
}  // namespace heddle
