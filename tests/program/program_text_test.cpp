// Unusual text in the program: its messages and results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>

#include "tests/program.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::string_literals;

// A minimal model: what is learned does not matter here.
const std::string one_update =
    " --out RUN --overwrite --updates 1 --valid-sentences 2 --layers 1 --d-model 16 --heads 2 --d-ff 32 --threads 2";
const std::string files = " --train t --source de --target en";

void write_gzip(const std::string& path, const std::string& text) {
    gzFile file = gzopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

class ProgramText : public testing::Test {
  protected:
    ProgramText() {
        here.write("t.de", "ein Hund läuft\ndas Haus ist groß\n\ndie Katze schläft\n");
        here.write("t.en", "a dog runs\nthe house is big\nnothing there\nthe cat sleeps\n");
        here.write("t.tsv",
                   "ein Hund läuft\ta dog runs\ndas Haus ist groß\tthe house is big\n\tnothing there\n"
                   "die Katze schläft\tthe cat sleeps\n");
    }
    ProgramResult train(const std::string& options, const std::string& input = "") const {
        return here.run("train " + options + one_update, input);
    }
    ProgramResult train_words(const std::string& options = "", const std::string& input = "") const {
        return train(files + " --vocab-type word " + options, input);
    }

    const Workplace here;
};

TEST_F(ProgramText, TrainsTheSameFromFilesGzipColumnsAndStandardInput) {
    const ProgramResult plain = train_words();
    ASSERT_EQ(plain.status, 0) << plain.err;
    EXPECT_THAT(plain.err, AllOf(HasSubstr("1 training pairs with an empty side"), Not(HasSubstr("warning"))));
    const std::string model = here.read("RUN/model.safetensors");

    for (const char* side : {"de", "en"}) write_gzip(here.path("z."s + side), here.read("t."s + side));
    const std::string words = " --vocab-type word";
    ASSERT_EQ(train("--train z --source de --target en" + words).status, 0);
    EXPECT_EQ(here.read("RUN/model.safetensors"), model) << "gzip under the name of a text";

    const ProgramResult columns = train("--train t.tsv --tsv" + words);
    ASSERT_EQ(columns.status, 0) << columns.err;
    EXPECT_THAT(columns.err, HasSubstr("1 training pairs with an empty side"));
    EXPECT_EQ(here.read("RUN/model.safetensors"), model) << "two columns, no languages named";

    write_gzip(here.path("t.gz"), here.read("t.tsv"));
    ASSERT_EQ(train("--train - --tsv" + words, here.read("t.gz")).status, 0);
    EXPECT_EQ(here.read("RUN/model.safetensors"), model) << "gzip on standard input";
}

TEST_F(ProgramText, ReadsTheColumnsThatAreChosen) {
    ASSERT_EQ(train("--train t.tsv --tsv --vocab-type word").status, 0);
    const std::string model = here.read("RUN/model.safetensors");
    EXPECT_EQ(here.read("RUN/config.toml").find("tsv-columns"), std::string::npos);
    std::string wide;
    for (const std::string& line : lines_of(here.read("t.tsv"))) {
        const std::size_t tab = line.find('\t');
        wide += "id\t" + line.substr(tab + 1) + "\t\t" + line.substr(0, tab) + "\tnote\n";
    }
    here.write("wide.tsv", wide);
    const std::string columns = "--train wide.tsv --tsv-columns 4,2 --vocab-type word";
    const ProgramResult trained = train(columns + " --valid wide.tsv");
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_EQ(trained.err.find("ignored"), std::string::npos);
    EXPECT_EQ(here.read("RUN/model.safetensors"), model);
    EXPECT_THAT(here.read("RUN/config.toml"), HasSubstr("\ntsv-columns = [4, 2]\n"));
    // evaluate reads files as the run did, unless told otherwise.
    const std::string evaluate = "evaluate RUN --beam 1 --test ";
    const ProgramResult scored = here.run(evaluate + "wide.tsv");
    EXPECT_EQ(scored.status, 0) << scored.err;
    EXPECT_EQ(here.run(evaluate + "t.tsv --tsv").out, scored.out);
    EXPECT_EQ(here.run(evaluate + "t.tsv --tsv-columns 1 2").out, scored.out);
    EXPECT_EQ(here.run("train --config RUN/config.toml --out RUN2").status, 0);
    EXPECT_EQ(here.read("RUN2/model.safetensors"), model);
    EXPECT_EQ(here.run("prepare --train wide.tsv --tsv-columns 4,2 --vocab-type word --out TEXT").status, 0);
    EXPECT_EQ(here.read("TEXT/vocab.tsv"), here.read("RUN/vocab.tsv"));
    expect_complaint(train("--train wide.tsv --tsv-columns 4,9"), 1, "wide.tsv:1: this line has 5 columns; wanted 9");
    expect_complaint(train("--train wide.tsv --tsv-columns 2,2"), 2, "source and target are one column");
    expect_complaint(train("--train wide.tsv --tsv-columns 0,2"), 2, "--tsv-columns is '0', wanted a whole number >= 1");
    expect_complaint(train("--train wide.tsv --tsv-columns 4"), 2, "tsv-columns");
    expect_complaint(train(columns + " --format xml"), 2, "--tsv is a format of its own");
    expect_complaint(train("--task copy --tsv-columns 1,2"), 2, "--tsv-columns");
}

TEST_F(ProgramText, CountsTheValidationPairsThatAreLeftOut) {
    here.write("v.de", "ein Hund\n\nein Hund ein Hund ein Hund\n");
    here.write("v.en", "a dog\na cat\na dog\n");
    const std::string learned = " --positions learned --position-table 5 --valid v --vocab-type word";
    const ProgramResult result = train(files + learned);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err,
                HasSubstr("\n--valid v: 2 of 3 pairs are not in the validation loss: 1 with an empty side, 1 longer than "
                          "5 tokens (--position-table)\n"));
    EXPECT_THAT(train(files + " --vocab-type word --valid t").err,
                HasSubstr("--valid t: 1 of 4 pairs are not in the validation loss"));
    here.write("v.de", "\n");
    here.write("v.en", "a dog\n");
    const ProgramResult none = train(files + learned);
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.err,
                HasSubstr("heddle: --valid v: none of the 1 pairs can be used: 1 with an empty side; give other text\n"));
    EXPECT_THAT(train(files + " --vocab-type word --batch-tokens 2").err,
                HasSubstr("heddle: --train t: none of the 3 pairs can be used: 3 that alone exceed 2 tokens (--batch-tokens)"));
}

TEST_F(ProgramText, RepeatsARunWithItsWayOfReading) {
    here.write("bad.tsv", here.read("t.tsv") + "gr\xFCn\tgreen\tignored\n");
    ASSERT_EQ(train("--train bad.tsv --tsv --replace-invalid --vocab-type word").status, 0);
    EXPECT_THAT(here.read("RUN/config.toml"), AllOf(HasSubstr("\ntsv = true\n"), HasSubstr("\nreplace-invalid = true\n")));
    const ProgramResult again = here.run("train --config RUN/config.toml --out RUN2");
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(count(again.err, "bad.tsv: replaced what is not UTF-8 by U+FFFD in 1 line\n"), 1u) << again.err;
    EXPECT_EQ(count(again.err, "bad.tsv: ignored what follows the second column in 1 line\n"), 1u) << again.err;
    EXPECT_EQ(here.read("RUN/model.safetensors"), here.read("RUN2/model.safetensors"));
    // evaluate reads files as the run did, unless told otherwise.
    EXPECT_EQ(here.run("evaluate --model RUN --beam 1 --test t.tsv").status, 0);
    EXPECT_EQ(here.run("evaluate --model RUN --beam 1 --test -", here.read("t.tsv")).status, 0);
    expect_complaint(here.run("evaluate --model RUN --test t --tsv false"), 2, "--source de --target en");
    EXPECT_EQ(here.run("evaluate --model RUN --beam 1 --test t --tsv false --source de --target en").status, 0);
}

TEST_F(ProgramText, NamesFileAndLineOfWhatIsNoText) {
    here.write("bad.de", "ein Hund\ngr\xFCn\n");
    here.write("bad.en", "a dog\ngreen\0\n"s);
    expect_complaint(train("--train bad --source de --target en"), 1, "bad.de:2: this line is not UTF-8");
    here.write("bad.de", "ein Hund\ngrün\n");
    expect_complaint(train("--train bad --source de --target en"), 1, "bad.en:2: there is a NUL byte");
    EXPECT_THAT(train(files + " --valid bad").err, HasSubstr("heddle: bad.en:2: there is a NUL byte"));
    expect_complaint(here.run("evaluate --hypotheses bad.de --reference bad.en"), 1, "bad.en:2: ");
    expect_complaint(here.run("evaluate --hypotheses - --reference bad.de", "ok\n\xFF\n"), 1, "standard input:2: ");
    expect_complaint(train("--train t.de --tsv"), 1, "t.de:1: there is no tab in this line");
    const ProgramResult replaced = here.run("evaluate --hypotheses bad.de --reference bad.en --replace-invalid");
    EXPECT_EQ(replaced.status, 0);
    EXPECT_EQ(replaced.err,
              "bad.en: replaced what is not UTF-8 by U+FFFD in 1 line\n"
              "scored with --tokenize 13a, chrF2 first: 0 of 2 references have the four tokens in a row that BLEU "
              "looks at\n");
    EXPECT_THAT(replaced.out, HasSubstr("of 2 lines"));
}

TEST_F(ProgramText, NamesFilesThatAreNoneFoldersOrDamaged) {
    std::filesystem::create_directory(here.path("folder.de"));
    expect_complaint(train("--train none --source de --target en"), 1, "none.de: cannot be read: No such file");
    expect_complaint(train("--train folder --source de --target en"), 1, "folder.de: this is a folder; wanted a text file");
    expect_complaint(train("--train folder.de --tsv"), 1, "folder.de: this is a folder");
    expect_complaint(here.run("evaluate --hypotheses t.de --reference folder.de"), 1, "folder.de: this is a folder");
    write_gzip(here.path("z.gz"), here.read("t.tsv"));
    const std::string packed = here.read("z.gz");
    here.write("z.gz", packed.substr(0, packed.size() - 5));
    expect_complaint(train("--train z.gz --tsv"), 1, "z.gz: the gzip data end too early");
    expect_complaint(train("--train - --tsv", packed + "more"), 1, "standard input: the gzip data are damaged");
    here.write("short.de", "eins\n");
    here.write("short.en", "one\ntwo\n\n");
    expect_complaint(train("--train short --source de --target en"), 1, "short.de has 1 line, but short.en has 3 lines");
    expect_complaint(here.run("evaluate --hypotheses short.de --reference short.en"), 1,
                     "short.de has 1 line, but short.en has 3 lines");
    EXPECT_FALSE(here.exists("RUN"));
}

TEST_F(ProgramText, ReadsStandardInputOnce) {
    expect_complaint(train("--train - --source de --target en"), 2, "--tsv");
    expect_complaint(train("--train - --valid - --tsv"), 2, "cannot both be standard input");
    expect_complaint(here.run("evaluate --hypotheses - --reference -"), 2, "only one of the files can be standard input");
    const ProgramResult scored = here.run("evaluate --hypotheses - --reference t.en", here.read("t.en"));
    EXPECT_THAT(scored.out, HasSubstr("exact: 4 of 4 lines"));
}

TEST_F(ProgramText, CountsExactLinesInTheirOwnCaseWhateverTheMetricsDo) {
    here.write("lower.en", "a small dog runs home\nhere it is\n");
    const ProgramResult scored =
        here.run("evaluate --hypotheses - --reference lower.en --lowercase", "A small dog runs home\nhere it is\n");
    EXPECT_EQ(scored.status, 0) << scored.err;
    EXPECT_THAT(scored.out, AllOf(HasSubstr("BLEU = 100.00 "), HasSubstr("case:lc"), HasSubstr("exact: 1 of 2 lines")));
}

TEST_F(ProgramText, WarnsWhenBothSidesAreTheSame) {
    here.write("t.de", here.read("t.en"));
    for (const char* languages : {"--source de --target en", "--source en --target en"}) {
        const ProgramResult result = train("--train t --vocab-type word "s + languages);
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(count(result.err, "warning: "), 1u) << result.err;
        EXPECT_THAT(result.err, HasSubstr("t.en hold the same text"));
    }
}

TEST_F(ProgramText, TrainsOnOneLineWithEveryVocabulary) {
    here.write("t.de", "ein Hund läuft");
    here.write("t.en", "a dog runs");
    for (const char* type : {"bpe", "unigram", "word", "char"})
        for (const char* shared : {"true", "false"}) {
            const ProgramResult result = train(files + " --vocab-type " + type + " --shared-vocab " + shared);
            EXPECT_EQ(result.status, 0) << type << result.err;
            EXPECT_EQ(here.run("translate --model RUN --beam 1", "ein Hund\n").status, 0);
        }
    here.write("t.de", "a");
    here.write("t.en", "b");
    EXPECT_EQ(train(files).status, 0) << "as little as can be";
}

TEST_F(ProgramText, NamesAVocabularySizeThatWorks) {
    std::string de, en;
    for (int i = 0; i < 60; ++i) {
        de += std::to_string(i * i) + " Hunde schlafen\n";
        en += std::to_string(i * i) + " dogs are asleep\n";
    }
    here.write("t.de", de);
    here.write("t.en", en);
    for (const char* type : {"bpe", "unigram"})
        for (const char* option : {"--vocab-size", "--shared-vocab false --target-vocab-size 30 --source-vocab-size",
                                   "--shared-vocab false --source-vocab-size 30 --target-vocab-size"})
            for (const char* size : {"3000", "5"}) {
                const std::string wanted = files + " --vocab-type " + type + " " + option + " ";
                const ProgramResult refused = train(wanted + size);
                EXPECT_EQ(refused.status, 1);
                EXPECT_THAT(refused.err, HasSubstr(size == "5"s ? "the smallest that works is " : "the largest that works is "));
                const std::string last = std::string(option).substr(std::string(option).rfind("--"));
                const std::size_t use = refused.err.find("; use " + last + " ");
                ASSERT_NE(use, std::string::npos) << refused.err;
                const std::string works = refused.err.substr(use + 7 + last.size());
                EXPECT_EQ(train(wanted + works.substr(0, works.find('\n'))).status, 0) << refused.err;
            }
}

TEST_F(ProgramText, TranslatesEveryLineWhateverItHolds) {
    ASSERT_EQ(train_words("--position-table 8").status, 0);
    const std::string translate = "translate --model RUN --beam 1";
    const std::string awkward =
        "\xEF\xBB\xBFHund\r\n\n\t\n\u00a0\nein\tHund\n\x01\x1b[0m\n\U0001F600\nHund\rKatze\u2028x\n \nKatze";
    const ProgramResult result = here.run(translate, awkward);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(
        result.err,
        "warning: standard input, line 6: 'U+0001' is not in the vocabulary; the model reads it as unknown\n"
        "standard input: 6 words in 3 of 10 lines were not in the vocabulary\n"
        "6 of 10 translations did not end and were cut at 3 times their source's tokens + 13; --max-output-length N sets another "
        "limit\n");
    const std::vector<std::string> line = lines_of(result.out);
    ASSERT_EQ(line.size(), 10u);
    EXPECT_EQ((std::vector{line[1], line[2], line[3], line[8]}), (std::vector<std::string>{"", "\t", "\u00a0", " "}))
        << "what shows nothing stays as it is";
    EXPECT_EQ(here.run(translate, "Hund\n").out, line[0] + "\n") << "the byte order mark is not part of the text";

    const ProgramResult long_line = here.run(translate, "Hund Hund Hund Hund Hund Hund Hund Hund\nHund\n");
    EXPECT_EQ(
        long_line.err,
        "1 of 2 lines were cut to 8 tokens, the length of the model's position table\n"
        "2 of 2 translations did not end and were cut at 3 times their source's tokens + 13; --max-output-length N sets another "
        "limit\n");
    EXPECT_EQ(count(long_line.out, "\n"), 2u);

    for (const std::string only : {"", "\xEF\xBB\xBF"}) EXPECT_EQ(here.run(translate, only).out, "");
    write_gzip(here.path("in.gz"), awkward);
    EXPECT_EQ(here.run(translate, here.read("in.gz")).out, result.out);
}

TEST_F(ProgramText, NamesTheLineOfStandardInputThatIsNoText) {
    ASSERT_EQ(train_words().status, 0);
    const ProgramResult refused = here.run("translate --model RUN", "Hund\n\ngr\xFCn\nKatze\n");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, testing::StartsWith("heddle: standard input:3: this line is not UTF-8"));
    EXPECT_EQ(refused.out, here.run("translate --model RUN", "Hund\n\n").out) << "the lines before it";
    expect_complaint(here.run("translate --model RUN", "a\0b\n"s), 1, "standard input:1: there is a NUL byte");
    const ProgramResult replaced = here.run("translate --model RUN --replace-invalid", "Hund\n\ngr\xFCn\na\0b\n"s);
    EXPECT_EQ(replaced.status, 0);
    EXPECT_EQ(replaced.err,
              "warning: standard input, line 3: 'gr' is not in the vocabulary; the model reads it as unknown\n"
              "standard input: replaced what is not UTF-8 by U+FFFD in 2 lines\n"
              "standard input: 5 words in 2 of 4 lines were not in the vocabulary\n");
    EXPECT_EQ(count(replaced.out, "\n"), 4u);
}

TEST_F(ProgramText, ScoresTextReadLikeAnyOther) {
    ASSERT_EQ(train_words().status, 0);
    const std::string score = "score --model RUN --source-file ";
    const ProgramResult scored = here.run(score + "t.de --target-file t.en");
    EXPECT_EQ(lines_of(scored.out).size(), 4u) << scored.err;
    EXPECT_EQ(here.run(score + "- --target-file t.en", here.read("t.de")).out, scored.out);
    EXPECT_EQ(here.run(score + "t.de --target-file -", here.read("t.en")).out, scored.out);
    expect_complaint(here.run(score + "- --target-file -", here.read("t.de")), 2, "standard input cannot be both files");
    expect_complaint(here.run(score + "t.de --target-file -", "one\n"), 1, "t.de has 4 lines, but standard input has 1 line;");
    here.write("none", "");
    EXPECT_EQ(here.run(score + "none --target-file none").status, 0) << "nothing to score, nothing said";

    here.write("bad.de", "gr\xFCn\nHund\n");
    here.write("bad.en", "green\n" + std::string(70'000, 'x') + "\n");
    expect_complaint(here.run(score + "bad.de --target-file bad.en"), 1, "bad.de:1: this line is not UTF-8");
    const ProgramResult replaced = here.run(score + "bad.de --target-file bad.en --replace-invalid");
    EXPECT_EQ(lines_of(replaced.out).size(), 2u);
    EXPECT_EQ(replaced.err,
              "bad.de: replaced what is not UTF-8 by U+FFFD in 1 line\n"
              "bad.en: cut 1 line to 65,536 bytes, the longest a line may be\n"
              "warning: bad.de, line 1: 'gr' is not in the vocabulary; the model reads it as unknown\n"
              "warning: bad.en, line 1: 'green' is not in the vocabulary; the model reads it as unknown\n"
              "bad.de: 3 words in 1 of 2 lines were not in the vocabulary\n"
              "bad.en: 2 words in 2 of 2 lines were not in the vocabulary\n");
}

// Text about web pages, whose first line looks like a talk's title.
TEST_F(ProgramText, ScoresEveryLineOfTextWithTags) {
    here.write("html.de", "<title>Über uns</title>\n<b>Wichtig:</b> Bitte lesen.\nGuten Tag\n<i>kursiv</i> Wort\n");
    here.write("html.en", "<title>About us</title>\n<b>Important:</b> please read.\nGood day\n<i>italic</i> word\n");
    here.write("html.hyp", "<title>About us</title>\n<b>Important:</b> please read it.\nGood day\n<i>italic</i> word\n");
    for (const char* format : {"", " --format auto", " --format text"}) {
        const ProgramResult scored = here.run("evaluate html.hyp --reference html.en"s + format);
        EXPECT_THAT(scored.out, AllOf(HasSubstr("BLEU = 93.2"), HasSubstr("exact: 3 of 4 lines"))) << scored.out;
        EXPECT_EQ(scored.err, "");
    }
    ASSERT_EQ(train("--train html --source de --target en --vocab-type word").status, 0);
    const std::string score = "score RUN --source-file html.de --target-file html.en";
    EXPECT_EQ(lines_of(here.run(score).out).size(), 4u);
    EXPECT_EQ(lines_of(here.run(score + " --format auto").out).size(), 4u);
    EXPECT_EQ(lines_of(here.run(score + " --format tags").out).size(), 1u);
    here.write("talk.en", "<url>u</url>\nGood day\n");
    const ProgramResult noted = here.run("evaluate talk.en --reference talk.en");
    EXPECT_THAT(noted.out, HasSubstr("of 2 lines"));
    EXPECT_EQ(count(noted.err, "talk.en: looks like IWSLT's training text"), 2u) << noted.err;
    EXPECT_THAT(here.run("evaluate talk.en --reference talk.en --format auto").out, HasSubstr("of 1 line"));
}

TEST_F(ProgramText, ChoosesAmongTheTextsOfAFile) {
    const std::string source = "<src lang=\"de\"><seg id=\"1\">ein Hund läuft</seg></src>",
                      reference = "<ref lang=\"en\"><seg id=\"1\">a dog is running</seg></ref>",
                      hypothesis = "<hyp system=\"X\" language=\"en\"><seg id=\"1\">a dog is here</seg></hyp>";
    here.write("all.xml",
               "<?xml version='1.0'?>\n<dataset><doc id=\"d\">" + source + reference + hypothesis + "</doc></dataset>\n");
    ASSERT_EQ(train("--train all.xml --source de --target en --vocab-type word").status, 0);
    EXPECT_EQ(here.read("RUN/vocab.tsv").find("here"), std::string::npos);
    const ProgramResult scored = here.run("evaluate all.xml --reference all.xml --format xml --json");
    EXPECT_THAT(scored.out, HasSubstr("\"exact\":0,")) << scored.err;
    const std::string in_words = here.run("translate RUN --beam 1", "ein Hund läuft\n").out;
    EXPECT_EQ(here.run("translate RUN --beam 1 --format xml", here.read("all.xml")).out, in_words);
    here.write("s", "ein Hund läuft\n");
    here.write("r", "a dog is running\n");
    EXPECT_EQ(here.run("score RUN --source-file all.xml --target-file all.xml --format auto").out,
              here.run("score RUN --source-file s --target-file r").out);
    EXPECT_EQ(here.run("evaluate RUN --beam 1 --test all.xml").status, 0);
    here.write("t.tmx",
               "<?xml version=\"1.0\"?><tmx><tu><tuv xml:lang=\"de\"><seg>a</seg></tuv><tuv "
               "xml:lang=\"en\"><seg>b</seg></tuv></tu></tmx>");
    expect_complaint(here.run("evaluate t.tmx --reference r --format auto"), 1, "t.tmx: it has the segments of several texts");
    expect_complaint(train("--train t.tmx --source de --target fr"), 1, "none is in 'fr'");
    EXPECT_EQ(train("--train t.tmx --source en --target de --vocab-type word").status, 0);
}

TEST_F(ProgramText, KeepsLinesThatShowNothing) {
    const std::string blank = "\u00a0\n\u200b\n\u3000\n\t\n\u2028\n\v\n\x01\n\u00ad\n\ufe0f\n\u200e\n\u2060\n\n \u200d\ufeff\n";
    for (const char* type : {"bpe", "word", "char"}) {
        ASSERT_EQ(train(files + " --vocab-type " + type).status, 0);
        const ProgramResult result = here.run("translate RUN --beam 2", blank);
        EXPECT_EQ(result.out, blank) << type;
        EXPECT_EQ(result.err, "") << type;
    }
    EXPECT_THAT(here.run("translate RUN --beam 1", "Hund\u00ad\n").err, HasSubstr("'U+00AD' is not in the vocabulary"));
    here.write("t.de", here.read("t.de") + "\u200b\u00ad\n");
    here.write("t.en", here.read("t.en") + "nothing seen\n");
    EXPECT_THAT(train_words().err, HasSubstr("2 training pairs with an empty side"));
}

TEST_F(ProgramText, TakesLinesOfManyMegabytesInItsStride) {
    ASSERT_EQ(train_words().status, 0);
    std::string words;
    while (words.size() < 20'000'000) words += "Hund ";
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result =
        here.run("translate --model RUN --beam 1", "Hund\n" + words + "\nHund\n" + std::string(5'000'000, 'x'));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(count(result.out, "\n"), 4u);
    EXPECT_EQ(count(result.err, "standard input: cut 2 lines to 65,536 bytes"), 1u) << result.err;
    EXPECT_LT(seconds, 60);

    here.write("t.de", "ein Hund läuft\n" + words + "\n");
    here.write("t.en", "a dog runs\nlong\n");
    const ProgramResult trained = train_words("--valid t");
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_THAT(trained.err, HasSubstr("t.de: cut 1 line to 65,536 bytes, the longest a line may be\n"));
}

}  // namespace
}  // namespace heddle
