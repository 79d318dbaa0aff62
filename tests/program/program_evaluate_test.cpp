// `heddle evaluate` on files.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/program.h"
#include "tests/shell.h"
#include "tests/unicode_test_lines.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Lines = std::vector<std::string>;

// Three lines, one system's translations, and a better system's.
class ProgramEvaluate : public testing::Test {
  protected:
    ProgramEvaluate() {
        here.write("r", "the cat sat on the mat .\na dog runs in the snow\n\u00c4pfel, bitte!\n");
        here.write("h", "the cat sat on a mat .\nA dog runs\n\u00e4pfel, bitte!\n");
        here.write("better", "the cat sat on the mat .\na dog runs in snow\n\u00c4pfel, bitte!\n");
        here.write("two", "one\ntwo\n");
        here.write("none", "");
    }
    std::string scored(const std::string& arguments) const {
        const ProgramResult result = evaluate(arguments);
        EXPECT_EQ(result.status, 0) << result.err;
        return result.out;
    }
    ProgramResult evaluate(const std::string& arguments) const { return here.run("evaluate " + arguments); }

    Workplace here;
};

TEST_F(ProgramEvaluate, PrintsEachMetricWithItsSignature) {
    const Lines lines = lines_of(scored("--hypotheses h --reference r"));
    ASSERT_EQ(lines.size(), 7u);
    EXPECT_THAT(lines[0], StartsWith("BLEU = "));
    EXPECT_THAT(lines[1], StartsWith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heddle-"));
    EXPECT_THAT(lines[2], StartsWith("chrF2 = "));
    EXPECT_THAT(lines[3], StartsWith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:heddle-"));
    EXPECT_THAT(lines[4], StartsWith("chrF2++ = "));
    EXPECT_THAT(lines[5], StartsWith("nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:heddle-"));
    EXPECT_EQ(lines[6], "exact: 0 of 3 lines (0.00 %)");
}

TEST_F(ProgramEvaluate, LowersEveryMetric) {
    here.write("upper", "THE CAT SAT ON THE MAT .\nA DOG RUNS IN THE SNOW\n\u00c4PFEL, BITTE!\n");
    const Lines lines = lines_of(scored("--hypotheses upper --reference r --lowercase"));
    ASSERT_EQ(lines.size(), 7u);
    EXPECT_THAT(lines[0], StartsWith("BLEU = 100.00 "));
    EXPECT_EQ(lines[2], "chrF2 = 100.00");
    EXPECT_EQ(lines[4], "chrF2++ = 100.00");
    for (const int i : {1, 3, 5}) EXPECT_THAT(lines[i], HasSubstr("|case:lc|"));
    EXPECT_EQ(lines[6], "exact: 0 of 3 lines (0.00 %)");
}

// With zh each character is a token; with 13a a line would be one word, and the score 0.
TEST_F(ProgramEvaluate, ScoresChineseAsChinese) {
    here.write("zh.ref", "\u6211\u4eec\u4eca\u5929\u53bb\u4e0a\u5b66\u3002\n\u6211\u5f88\u9ad8\u5174\u89c1\u5230\u4f60\u3002\n");
    here.write("zh.hyp", "\u6211\u4eec\u4eca\u5929\u53bb\u5b66\u6821\u3002\n\u6211\u5f88\u9ad8\u5174\u89c1\u5230\u4f60\u3002\n");
    const ProgramResult result = evaluate("zh.hyp --reference zh.ref");
    const Lines lines = lines_of(result.out);
    EXPECT_THAT(lines.at(0), StartsWith("BLEU = 78.86 "));
    EXPECT_THAT(lines.at(1), HasSubstr("|tok:zh|"));
    EXPECT_EQ(result.err, "scored with --tokenize zh: 100 % of the references' characters are Chinese\n");
    EXPECT_EQ(scored("zh.hyp --reference zh.ref --tokenize zh"), result.out);
    const ProgramResult western = evaluate("zh.hyp --reference zh.ref --tokenize 13a");
    EXPECT_THAT(western.out, HasSubstr("\nBLEU = 0.00 "));
    EXPECT_EQ(western.err,
              "scored with --tokenize 13a, chrF2 first: 0 of 2 references have the four tokens in a row that BLEU "
              "looks at\n");
    expect_complaint(evaluate("zh.hyp --reference zh.ref --tokenize ja-mecab"), 2, "auto, 13a, intl, zh, char");
}

TEST_F(ProgramEvaluate, NamesChrfFirstWhereATokenIsACharacter) {
    here.write("th.ref", "\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e41\u0e21\u0e27\n");
    here.write("th.hyp", "\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e2b\u0e21\u0e32\n");
    const ProgramResult result = evaluate("th.hyp --reference th.ref");
    const Lines lines = lines_of(result.out);
    ASSERT_EQ(lines.size(), 7u);
    EXPECT_THAT(lines[0], StartsWith("chrF2 = "));
    EXPECT_THAT(lines[2], StartsWith("chrF2++ = "));
    EXPECT_THAT(lines[4], StartsWith("BLEU = "));
    EXPECT_THAT(lines[5], HasSubstr("|tok:char|"));
    EXPECT_EQ(result.err,
              "scored with --tokenize char, chrF2 first: 100 % of the references' characters are of a script without "
              "spaces between words\n");
    const Lines compared = lines_of(scored("--compare th.hyp th.ref --reference th.ref --resamples 20"));
    EXPECT_THAT(compared.at(1), StartsWith("chrF2 "));
    EXPECT_THAT(compared.at(5), StartsWith("BLEU "));
    EXPECT_THAT(compared.at(9), AllOf(StartsWith("BLEU "), HasSubstr("|tok:char|")));
    const nlohmann::json json = nlohmann::json::parse(scored("th.hyp --reference th.ref --json --sentences"));
    EXPECT_THAT(json.at("bleu").at("sentence_signature").get<std::string>(), HasSubstr("|tok:char|"));
    EXPECT_EQ(json.at("sentences").at(0).at("hypothesis_length"), 9);
}

TEST_F(ProgramEvaluate, EqualsSacrebleuOnAThousandLinesByEachTokenizer) {
    HEDDLE_NEEDS_PYTHON_WITH("sacrebleu regex");
    const std::uint64_t seed = std::random_device()();
    app::UnicodeTestLines lines = app::unicode_test_lines(seed, 1000);
    std::string hypotheses, references;
    const auto add = [](std::string& text, std::string line) {  // in files, lines end with a line feed
        for (char& c : line) c = c == '\n' ? ' ' : c;
        text += (line.starts_with("\ufeff") ? "x" : "") + line + "\n";
    };
    for (std::size_t i = 0; i < lines.references.size(); ++i) {
        add(hypotheses, lines.first[i]);
        add(references, lines.references[i]);
    }
    here.write("hyp", hypotheses);
    here.write("ref", references);
    const std::string script = HEDDLE_SOURCE_DIR "/tests/golden/make_bleu.py", made = here.path("made.json");
    const std::string command =
        "'" + python() + "' -B '" + script + "' --files '" + here.path("hyp") + "' '" + here.path("ref") + "'";
    ASSERT_EQ(std::system((command + " > '" + made + "'").c_str()), 0);
    const nlohmann::json cases = nlohmann::json::parse(here.read("made.json"));
    ASSERT_EQ(cases.at(0).at("scores").size(), 5u);
    for (const nlohmann::json& wanted : cases[0]["scores"]) {
        const auto tokenizer = wanted.at("tokenizer").get<std::string>();
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + tokenizer);
        const nlohmann::json found =
            nlohmann::json::parse(scored("hyp --reference ref --format text --json --tokenize " + tokenizer));
        EXPECT_EQ(found.at("lines"), 1000);
        EXPECT_NEAR(found.at("bleu").at("score").get<double>(), wanted.at("score").get<double>(), 1e-9);
        EXPECT_EQ(found.at("bleu").at("matches"), wanted.at("matches"));
        EXPECT_EQ(found.at("bleu").at("totals"), wanted.at("totals"));
        EXPECT_THAT(found.at("bleu").at("signature").get<std::string>(), HasSubstr("|tok:" + tokenizer + "|"));
    }
}

TEST_F(ProgramEvaluate, PrintsOneJsonObject) {
    const std::string text = scored("--hypotheses better --reference r --json");
    EXPECT_EQ(lines_of(text).size(), 1u);
    const nlohmann::json scores = nlohmann::json::parse(text);
    const Lines said = lines_of(scored("--hypotheses better --reference r"));
    const nlohmann::json& bleu = scores.at("bleu");
    const auto score = [&scores](const char* metric) {
        return fmt::format("{:.2f}", scores.at(metric).at("score").get<double>());
    };
    const auto precisions = bleu.at("precisions").get<std::vector<double>>();
    EXPECT_EQ(said[0], fmt::format("BLEU = {} {:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", score("bleu"),
                                   fmt::join(precisions, "/"), bleu.at("brevity_penalty").get<double>(), 16.0 / 17,
                                   bleu.at("hypothesis_length").get<int>(), bleu.at("reference_length").get<int>()));
    EXPECT_EQ(said[1], bleu.at("signature"));
    EXPECT_EQ(said[2], "chrF2 = " + score("chrf"));
    EXPECT_EQ(said[4], "chrF2++ = " + score("chrf++"));
    EXPECT_EQ(said[3], scores.at("chrf").at("signature"));
    EXPECT_EQ(said[5], scores.at("chrf++").at("signature"));
    EXPECT_EQ(scores.at("exact"), 2);
    EXPECT_EQ(scores.at("lines"), 3);
    EXPECT_FALSE(scores.contains("sentences"));
}

TEST_F(ProgramEvaluate, PrintsATableOfSentences) {
    const ProgramResult result = here.run("evaluate --hypotheses better --reference r --sentences");
    EXPECT_EQ(result.status, 0);
    const Lines lines = lines_of(result.out);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0], "line\tBLEU\tchrF2\tchrF2++\texact\thyp_len\tref_len");
    EXPECT_EQ(lines[1], "1\t100.00\t100.00\t100.00\t1\t7\t7");
    EXPECT_THAT(lines[2], AllOf(StartsWith("2\t"), testing::EndsWith("\t0\t5\t6")));
    EXPECT_EQ(lines[3], "3\t100.00\t100.00\t100.00\t1\t4\t4");
    EXPECT_EQ(result.err, scored("--hypotheses better --reference r")) << "the corpus is on stderr";
}

TEST_F(ProgramEvaluate, PutsSentencesIntoTheJson) {
    const nlohmann::json scores = nlohmann::json::parse(scored("--hypotheses better --reference r --sentences --json"));
    const nlohmann::json& rows = scores.at("sentences");
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].at("line"), 1);
    EXPECT_NEAR(rows[2].at("bleu").get<double>(), 100, 1e-9);
    EXPECT_LT(rows[1].at("chrf").get<double>(), 100);
    EXPECT_EQ(rows[0].at("exact"), true);
    EXPECT_EQ(rows[1].at("exact"), false);
    EXPECT_THAT(scores.at("bleu").at("sentence_signature").get<std::string>(), HasSubstr("|eff:yes|tok:13a|"));
}

TEST_F(ProgramEvaluate, ComparesTwoSystems) {
    const std::string options = "--compare h better --reference r --resamples 50 --seed 3";
    const nlohmann::json made = nlohmann::json::parse(scored(options + " --json"));
    EXPECT_EQ(made.at("systems"), (Lines{"h", "better"}));
    EXPECT_EQ(made.at("lines"), 3);
    EXPECT_EQ(made.at("resamples"), 50);
    EXPECT_EQ(made.at("seed"), 3);
    for (const auto& [key, system] : {std::pair("first", "h"), std::pair("second", "better")}) {
        const nlohmann::json alone =
            nlohmann::json::parse(scored(std::string("--hypotheses ") + system + " --reference r --json"));
        for (const char* metric : {"bleu", "chrf", "chrf++"})
            EXPECT_EQ(made.at(metric).at(key).at("score"), alone.at(metric).at("score")) << metric;
    }
    EXPECT_GT(made.at("chrf").at("difference").get<double>(), 10);
    const double parts = 51 * made.at("chrf").at("p").get<double>();
    EXPECT_NEAR(parts, std::round(parts), 1e-9) << "p counts 50 resamples";

    const std::string text = scored(options);
    const Lines lines = lines_of(text);
    ASSERT_EQ(lines.size(), 10u) << text;
    EXPECT_THAT(lines[0], StartsWith("metric "));
    EXPECT_THAT(lines[1], AllOf(StartsWith("BLEU "), testing::EndsWith(" h")));
    EXPECT_THAT(lines[6], AllOf(StartsWith("chrF2++ "), HasSubstr(" +"), testing::EndsWith(" better")));
    EXPECT_THAT(lines[7], StartsWith("BLEU nrefs:1|bs:50|seed:3|case:mixed|eff:no|tok:13a|smooth:exp|version:heddle-"));
    EXPECT_EQ(scored(options + " --threads 1"), scored(options + " --threads 3"));
    EXPECT_NE(scored(options), scored("--compare h better --reference r --resamples 50 --seed 4"));
    EXPECT_THAT(scored("--compare h better --reference r"), HasSubstr("|bs:1000|seed:1|"));
}

TEST_F(ProgramEvaluate, NamesBothCountsOfFilesThatDiffer) {
    expect_complaint(evaluate("--hypotheses two --reference r"), 1, "two has 2 lines, but r has 3");
    expect_complaint(evaluate("--compare h two --reference r"), 1, "two has 2 lines, but r has 3");
    expect_complaint(evaluate("--hypotheses - --reference r"), 1, "standard input has 0 lines, but r has 3 lines");
    expect_complaint(evaluate("--compare none none --reference none"), 1, "none has no lines");
    expect_complaint(evaluate("--compare h missing --reference r"), 1, "missing");
    expect_complaint(evaluate("--hypotheses none --reference none"), 1, "evaluate: none and none have no lines to score");
}

// Equal numbers of segments with different ids.
TEST_F(ProgramEvaluate, ComparesTheIdsOfSegments) {
    const auto xml = [](const std::string& set, std::initializer_list<int> ids) {
        std::string text = "<?xml version=\"1.0\"?>\n<mteval><" + set + "><doc docid=\"7\">\n";
        for (const int id : ids) text += fmt::format("<seg id=\"{}\"> sentence number {} </seg>\n", id, id);
        return text + "</doc></" + set + "></mteval>\n";
    };
    here.write("r.xml", xml("refset", {1, 2, 3, 4}));
    here.write("h.xml", xml("tstset", {1, 2, 3, 4}));
    here.write("other.xml", xml("tstset", {1, 3, 4, 5}));
    here.write("short.xml", xml("tstset", {1, 2, 3}));
    here.write("lines", "sentence number 1\n<unk> number 2\nsentence number 3\nsentence number 4\n");
    EXPECT_THAT(scored("--format auto --hypotheses h.xml --reference r.xml"), HasSubstr("exact: 4 of 4 lines"));
    EXPECT_THAT(scored("--format auto --hypotheses lines --reference r.xml"), HasSubstr("exact: 3 of 4 lines"));
    for (const std::string files : {"--hypotheses other.xml", "--compare h.xml other.xml"})
        expect_complaint(
            evaluate(files + " --reference r.xml --format xml"), 1,
            "they part where the one has document 7, segment 3 (line 4) and the other document 7, segment 2 (line 4)");
    expect_complaint(evaluate("--hypotheses short.xml --reference r.xml --format xml"), 1,
                     "short.xml has 3 segments, but r.xml has 4 segments; the first without a partner is document 7, segment 4 "
                     "(line 6) of r.xml");
}

TEST_F(ProgramEvaluate, LeavesOutTheMetadataOfEitherFile) {
    here.write("tags", "<talkid>1</talkid>\none\n<talkid>2</talkid>\ntwo\n");
    here.write("others", "<talkid>1</talkid>\none\n<talkid>3</talkid>\ntwo\n");
    here.write("lines", "one\n<unk>\n");
    EXPECT_THAT(scored("--format tags --hypotheses tags --reference tags"), HasSubstr("exact: 2 of 2 lines"));
    EXPECT_THAT(scored("--format auto --hypotheses lines --reference tags"), HasSubstr("exact: 1 of 2 lines"));
    EXPECT_THAT(scored("--format auto --hypotheses tags --reference lines"), HasSubstr("exact: 1 of 2 lines"));
    expect_complaint(evaluate("--hypotheses others --reference tags --format auto"), 1, "they part where others:3 has");
}

TEST_F(ProgramEvaluate, ReadsAFileThatStandsAloneAsTranslations) {
    const std::string score = scored("--hypotheses h --reference r");
    EXPECT_EQ(scored("h --reference r"), score);
    EXPECT_EQ(here.run("evaluate - --reference r", here.read("h")).out, score);
    expect_complaint(evaluate("h"), 2, "give --reference FILE");
    expect_complaint(evaluate("h --test t"), 2, "--reference FILE");
    expect_complaint(evaluate("h --reference r --hypotheses h"), 2,
                     "'h' and --hypotheses both choose the hypotheses; give only one");
    expect_complaint(evaluate("absent --reference r"), 2, "absent is neither a file of translations nor a run");
    std::filesystem::create_directory(here.path("folder"));
    expect_complaint(evaluate("folder --reference r"), 2,
                     "--reference needs a file of translations (--hypotheses FILE), not a run");
    expect_complaint(evaluate("folder --hypotheses h"), 2, "two ways to get translations");
    expect_complaint(evaluate("folder --test t"), 1, "folder");
}

TEST_F(ProgramEvaluate, RefusesOptionsThatDoNotGoTogether) {
    expect_complaint(evaluate("--compare h better"), 2, "--reference FILE");
    expect_complaint(evaluate("--hypotheses h"), 2, "--reference FILE");
    expect_complaint(evaluate("--reference r"), 2, "--hypotheses FILE");
    expect_complaint(evaluate("--compare h --reference r"), 2, "--compare");
    expect_complaint(evaluate("--compare h better --reference r --hypotheses h"), 2, "leave out");
    expect_complaint(evaluate("--compare h better --model RUN"), 2, "leave out");
    expect_complaint(evaluate("--compare h better --reference r --sentences"), 2, "--sentences");
    expect_complaint(evaluate("--hypotheses h --reference r --seed 1"), 2, "belong to --compare");
    expect_complaint(evaluate("--hypotheses h --reference r --resamples 10"), 2, "belong to --compare");
    expect_complaint(evaluate("--compare h better --reference r --resamples 0"), 2, "--resamples is '0'");
}

TEST_F(ProgramEvaluate, RefusesOptionsThatWouldDoNothing) {
    for (const std::string option :
         {"test PREFIX", "source de", "target en", "tsv false", "output FILE", "weights best", "beam 1", "length-penalty 2"})
        for (const std::string files : {"--hypotheses h --reference r --", "--compare h better --reference r --"})
            expect_complaint(evaluate(files + option), 2,
                             "--" + option.substr(0, option.find(' ')) + " is for translating with --model RUN");
    for (const std::string option : {"source de", "target en", "tsv", "replace-invalid"})
        expect_complaint(evaluate("--model RUN --" + option), 2,
                         "--" + option.substr(0, option.find(' ')) + " applies to --test PREFIX");
    expect_complaint(evaluate("--model RUN --test t --output -"), 2, "stdout is for the scores");
    EXPECT_THAT(scored("--hypotheses h --reference r --replace-invalid --threads 1"), StartsWith("BLEU = "));
}

}  // namespace
}  // namespace heddle
