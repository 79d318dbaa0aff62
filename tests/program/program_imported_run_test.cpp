// An imported model is a run like any other: it translates, scores, is evaluated, shows its attention, begins a training whose
// saves are averaged, and gives the same on the device. Three models of other toolkits in ../shared/oracles, and a model of
// Heddle's own that goes out and comes back in each of two formats.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/device.h"
#include "core/safetensors.h"
#include "tests/program.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* german =
    "Ich bin nicht sicher.\nTom ist in Boston.\nWo ist der Hund?\nDas ist ein sehr langer Satz, den ich nicht lesen will.\n";
constexpr const char* english =
    "I am not sure.\nTom is in Boston.\nWhere is the dog?\nThat is a very long sentence that I do not want to read.\n";

class ImportedRun : public testing::TestWithParam<std::string> {
  protected:
    ProgramResult done(const std::string& arguments, const std::string& input = "") const {
        ProgramResult result = here_.run(arguments, input);
        EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
        return result;
    }

    // Imports the model; false where it lies in a folder that is missing.
    bool import_model() const {
        std::string text[2];
        for (int i = 0; i < 30; ++i) text[0] += german, text[1] += english;
        here_.write("t.de", text[0]);
        here_.write("t.en", text[1]);
        here_.write("few.de", german);
        here_.write("few.en", english);
        const std::string format = GetParam();
        const std::string oracle = HEDDLE_SOURCE_DIR "/../shared/oracles/" + format;
        if (format == "huggingface" || format == "marian") {
            const std::string shape = format == "marian" ? "--zero-start --positions marian --norm post --norm-eps 1e-6"
                                                         : "--norm post --positions sines-first --activation silu";
            done(
                "train --train t --valid few --source de --target en --out OWN --layers 1 --d-model 16 --heads "
                "2 --d-ff 32 --batch-tokens 200 --updates 20 " +
                shape);
            done("export OWN --to " + format + " OUT");
            done("import OUT --source de --target en --out RUN");
            return true;
        }
        if (!fs::exists(oracle)) return false;
        done("import " + oracle + " --source de --target en --out RUN");
        return true;
    }

    Workplace here_;
};

INSTANTIATE_TEST_SUITE_P(From, ImportedRun, testing::Values("hf_opus", "hf_bin", "marian_post", "huggingface", "marian"),
                         [](const auto& info) { return info.param; });

std::vector<double> numbers_in(const std::string& text) {
    std::vector<double> numbers;
    for (const std::string& line : lines_of(text)) numbers.push_back(std::stod(line));
    return numbers;
}

TEST_P(ImportedRun, IsUsedLikeAnyOther) {
    if (!import_model()) GTEST_SKIP() << GetParam() << " is missing";
    const std::string translations = done("translate RUN --beam 2 --max-output-length 20", german).out;
    EXPECT_EQ(lines_of(translations).size(), 4u);
    EXPECT_EQ(
        here_.exists("RUN/search.toml") && here_.read("RUN/search.toml").find("\nforbid-unknown = true\n") != std::string::npos,
        GetParam() == "marian_post")
        << "Marian never writes its unknown token, but a run of Heddle's own may";
    EXPECT_EQ(lines_of(done("translate RUN --sample --n-best 3", german).out).size(), 12u);
    EXPECT_THAT(done("evaluate RUN --test few --beam 1").out, HasSubstr("BLEU"));
    EXPECT_THAT(done("translate RUN --beam 1 --alignment", german).out, testing::ContainsRegex(" \\|\\|\\| [0-9]+-0"));
    done("translate RUN --beam 1 --attention MAPS", german);
    EXPECT_THAT(here_.read("MAPS/index.html"), HasSubstr("Hund"));
    EXPECT_THAT(done("summary RUN").out, HasSubstr("embedding"));

    const std::vector<double> scores = numbers_in(done("score RUN --source-file few.de --target-file few.en").out);
    ASSERT_EQ(scores.size(), 4u);
    for (const double score : scores) EXPECT_TRUE(std::isfinite(score) && score < 0) << score;
    // Pieces with other numbers would be translated without a complaint.
    const std::string map_file = here_.exists("RUN/vocab.map.json") ? "RUN/vocab.map.json" : "RUN/vocab.target.map.json";
    const std::string map = here_.read(map_file);
    std::string other = map;
    char& end = other[map.find("\"end\":") + 6];
    end = end == '9' ? '8' : static_cast<char>(end + 1);
    here_.write(map_file, other);
    expect_complaint(here_.run("translate RUN", german), 1, "vocabular");
    here_.write(map_file, map);

    if (!device::available()) return;
    const std::vector<double> on_device =
        numbers_in(done("score RUN --source-file few.de --target-file few.en --device cuda").out);
    ASSERT_EQ(on_device.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(on_device[i], scores[i], 1e-4) << i;
    for (const std::string beam : {"1", "3"}) {
        const std::string arguments = "translate RUN --max-output-length 12 --beam " + beam;
        EXPECT_EQ(done(arguments + " --device cuda", german).out, done(arguments, german).out) << "beam " << beam;
    }
}

TEST_P(ImportedRun, BeginsATraining) {
    if (!import_model()) GTEST_SKIP() << GetParam() << " is missing";
    const std::string text = " --train t --valid few --source de --target en --batch-tokens 300 --lr 1e-4 --log-every 1 --keep 0";
    done("train --init RUN --out TUNED --updates 4 --save-every 2" + text);
    for (const fs::directory_entry& file : fs::directory_iterator(here_.path("RUN"))) {
        const std::string name = file.path().filename().string();
        if (!name.starts_with("vocab.")) continue;
        EXPECT_EQ(here_.read("TUNED/" + name), here_.read("RUN/" + name)) << name;
    }
    EXPECT_THAT(here_.read("TUNED/config.toml"), Not(HasSubstr("vocab-model = \"RUN")));
    EXPECT_EQ(here_.exists("TUNED/search.toml"), GetParam() == "marian_post") << "what Marian forbids; a penalty is chosen anew";
    // A token that is never written takes no part in label smoothing: its output bias would make the loss enormous.
    int losses = 0;
    for (const std::string& line : lines_of(here_.read("TUNED/log.jsonl"))) {
        const nlohmann::json entry = nlohmann::json::parse(line);
        if (!entry.contains("loss")) continue;
        const double loss = entry.at("loss");
        EXPECT_TRUE(loss > 0 && loss < 12) << line;
        ++losses;
    }
    EXPECT_GE(losses, 4);
    // The rows of tokens that Heddle added are no part of what is learned.
    const SafetensorsFile before(here_.path("RUN/model.safetensors")), after(here_.path("TUNED/model.safetensors"));
    ASSERT_EQ(before.names(), after.names());
    const std::vector<double> was = before.load("output.bias").to_vector(), is = after.load("output.bias").to_vector();
    int forbidden = 0;
    for (std::size_t id = 0; id < was.size(); ++id) {
        if (was[id] > -1e8) continue;
        EXPECT_EQ(is[id], was[id]) << id;
        ++forbidden;
    }
    const std::map<std::string, int> added{{"hf_opus", 1}, {"hf_bin", 1}, {"marian_post", 2}, {"huggingface", 0}, {"marian", 4}};
    EXPECT_EQ(forbidden, added.at(GetParam())) << "of Heddle's own vocabulary Marian has pad and bos, too, but never reads them";
    done("train --resume TUNED --updates 6");
    done("average TUNED --last 2");
    EXPECT_EQ(lines_of(done("translate RUN TUNED --beam 1 --max-output-length 20", german).out).size(), 4u);
    EXPECT_EQ(lines_of(done("translate TUNED --beam 1 --max-output-length 20", german).out).size(), 4u);
    done("prepare --init RUN --train t --source de --target en --out TEXT");
    done("train --init RUN --train TEXT --out AGAIN --updates 2 --batch-tokens 300");
}

}  // namespace
}  // namespace heddle
