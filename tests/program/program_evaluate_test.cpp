// The numbers of `heddle evaluate` on files.
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
    }
    std::string scored(const std::string& arguments) const {
        const ProgramResult result = here.run("evaluate " + arguments);
        EXPECT_EQ(result.status, 0) << result.err;
        return result.out;
    }

    Workplace here;
};

TEST_F(ProgramEvaluate, EqualsSacrebleuOnAThousandLinesByEachTokenizer) {
    HEDDLE_NEEDS_PYTHON_WITH("sacrebleu");
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
    ASSERT_EQ(cases.at(0).at("scores").size(), 4u);
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

}  // namespace
}  // namespace heddle
