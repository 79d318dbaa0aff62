// The lab's list, command and pages. The experiments' findings are tested in lab_findings_slow_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "apps/command/commands.h"
#include "apps/lab/kit.h"
#include "apps/picture/ramp.h"
#include "apps/presets/presets.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"
#include "core/error.h"
#include "core/file.h"
#include "nn/linear.h"
#include "tests/lab/lab_support.h"
#include "tests/markup.h"
#include "tests/support.h"

namespace heddle {
namespace {

using testing::HasSubstr;

struct Output {
    std::string out;
    std::string err;
};

Output run_lab(const std::vector<std::string>& words) {
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    std::string error;
    try {
        app::lab_command(arguments);
    } catch (const std::exception& caught) {
        error = caught.what();
    }
    Output output{testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
    if (!error.empty()) throw UsageError(error);
    return output;
}

// "Suite.Name" of every test in the tree.
std::set<std::string> tests_in_the_tree() {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(HEDDLE_SOURCE_DIR "/tests")) {
        if (entry.path().extension() != ".cpp") continue;
        const std::string text = read_file(entry.path());
        for (std::size_t at = text.find("\nTEST"); at < text.size(); at = text.find("\nTEST", at + 1)) {
            const std::size_t open = text.find('(', at), comma = text.find(',', open), close = text.find(')', comma);
            const std::size_t name = text.find_first_not_of(" \n", comma + 1);
            names.insert(text.substr(open + 1, comma - open - 1) + "." + text.substr(name, close - name));
        }
    }
    return names;
}

TEST(Lab, ListNamesEveryExperimentOnceWithItsTitle) {
    const std::string list = run_lab({"list"}).out;
    std::set<std::string_view> names;
    for (const lab::Experiment& one : lab::experiments()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        EXPECT_EQ(one.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string_view::npos) << one.name;
        EXPECT_THAT(list, HasSubstr(std::string(one.name) + " "));
        EXPECT_THAT(list, HasSubstr(std::string(one.title) + "\n"));
    }
    for (const lab::WriteUp& one : lab::write_ups()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        EXPECT_THAT(list, HasSubstr(std::string(one.title) + "\n"));
    }
    EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), static_cast<std::ptrdiff_t>(names.size()) + 1)
        << "a blank line between";
}

TEST(Lab, TheTestThatCatchesAMistakeStandsInTheTree) {
    const std::set<std::string> tests = tests_in_the_tree();
    ASSERT_TRUE(tests.contains("Lab.TheTestThatCatchesAMistakeStandsInTheTree"));
    for (const lab::Experiment& one : lab::experiments())
        EXPECT_TRUE(tests.contains(std::string(one.caught_by))) << one.name << " names " << one.caught_by;
}

TEST(Lab, EveryExperimentShowsTheCodeWithItsMistakeAndWithoutIt) {
    for (const lab::Experiment& one : lab::experiments()) {
        EXPECT_NE(one.wrong, one.right) << one.name;
        for (const std::string_view code : {one.wrong, one.right}) {
            EXPECT_TRUE(code.size() > 2 && code.starts_with('\n') && code.ends_with('\n')) << one.name;
            std::istringstream lines{std::string(code.substr(1))};
            int count = 0;
            for (std::string line; std::getline(lines, line); ++count)
                EXPECT_TRUE(!line.empty() && line.size() <= 68) << one.name << " does not fit on half of a page: " << line;
            EXPECT_LE(count, 8) << one.name;
        }
    }
}

// The experiments of a write-up exist, and the write-up is a preset.
TEST(Lab, WriteUpsArePresetsWithExperiments) {
    for (const lab::WriteUp& one : lab::write_ups()) {
        EXPECT_TRUE(std::ranges::any_of(app::presets(), [&](const app::Preset& preset) { return preset.name == one.name; }));
        for (const std::string_view name : one.experiments)
            EXPECT_EQ(std::ranges::count(lab::experiments(), name, &lab::Experiment::name), 1) << name;
    }
}

TEST(Lab, RunsOneExperimentAndWritesItsPage) {
    const TemporaryFolder folder;
    const std::string out = (folder / "pages").string();
    const Output output = run_lab({"tiny-mask", "--out", out, "--seed", "7"});
    EXPECT_THAT(output.out, HasSubstr("tiny-mask: logits multiplied"));
    EXPECT_THAT(output.out,
                HasSubstr("What people write:\n    // factor [T, T]: 1 for the past, -1e-9 for the future\n    const"));
    EXPECT_THAT(output.out, HasSubstr("masked);\n\nWhat is right:\n    // the future is left out of the sum\n"));
    EXPECT_THAT(output.out, HasSubstr("weight on the future, row 0"));
    EXPECT_THAT(output.out, HasSubstr("Caught by Softmax."));
    EXPECT_THAT(output.err, HasSubstr("wrote " + out + "/tiny-mask.html"));
    const std::string page = read_file(out + "/tiny-mask.html");
    EXPECT_THAT(page, HasSubstr("<svg"));
    EXPECT_THAT(page, HasSubstr("<h2>What people write</h2>\n<pre>// factor [T, T]"));
    EXPECT_THAT(page, HasSubstr("<h2>What is right</h2>\n<pre>// the future"));
    EXPECT_THAT(page, HasSubstr("heddle lab tiny-mask --seed 7"));
    EXPECT_THAT(page, HasSubstr("Softmax.LengthsAndTheCausalRuleAreTheMaskTheyStandFor"));
    expect_loads_nothing(page);
    EXPECT_LT(page.find(">multiplied</th>"), page.find(">masked</th>")) << "as in the code and the numbers";
    EXPECT_FALSE(std::filesystem::exists(out + "/index.html")) << "the index is for all";
}

TEST(Lab, JsonHoldsEveryNumber) {
    const TemporaryFolder folder;
    const std::string out = run_lab({"tiny-mask", "--json", "--out", folder.path().string()}).out;
    const auto object = nlohmann::json::parse(out);
    const lab::Result result = run_experiment("tiny-mask");
    EXPECT_EQ(object["name"], "tiny-mask");
    EXPECT_EQ(object["seed"], 1);
    EXPECT_THAT(object["wrong"].get<std::string>(), HasSubstr("ops::mul(scores, factor);\nconst"));
    EXPECT_THAT(object["right"].get<std::string>(), HasSubstr("{.causal = true}"));
    EXPECT_EQ(object["variants"].size(), result.variants.size());
    ASSERT_EQ(object["findings"].size(), result.findings.size());
    for (const lab::Finding& finding : result.findings)
        for (std::size_t i = 0; i < finding.values.size(); ++i)
            EXPECT_EQ(object["findings"][finding.what][result.variants[i]].get<double>(), finding.values[i]) << finding.what;
}

// The code shows the mistake first, so the numbers, in every form, and the pictures do, too.
TEST(Lab, ShowsTheMistakesFirstAndWhatIsRightLast) {
    const lab::Experiment experiment{"none",          "",     "nothing", "Lab.JsonHoldsEveryNumber", "", "\nbad code\n",
                                     "\ngood code\n", nullptr};
    const lab::Result result{.variants = {"right", "wrong", "worse"}, .findings = {{"loss", {1, 2, 3}}}};
    const auto in_order = [](const std::string& text, const std::vector<std::string>& parts) {
        std::size_t at = 0;
        for (const std::string& part : parts) {
            const std::size_t found = text.find(part, at);
            if (found == std::string::npos) return testing::AssertionFailure() << part << " does not come next in " << text;
            at = found + part.size();
        }
        return testing::AssertionSuccess();
    };
    const std::string text = lab::text(experiment, result);
    EXPECT_TRUE(in_order(text, {"bad code", "good code", "       wrong         worse         right\n",
                                "loss             2             3             1\n"}));
    EXPECT_TRUE(in_order(lab::page(experiment, result, "").html(),
                         {"bad code", "good code", ">wrong<", ">worse<", ">right<", ">2<", ">3<", ">1<"}));
    const auto object = nlohmann::ordered_json::parse(lab::json(experiment, result, {}));
    EXPECT_EQ(object["variants"].dump(), R"(["wrong","worse","right"])");
    EXPECT_EQ(object["findings"]["loss"].dump(), R"({"wrong":2.0,"worse":3.0,"right":1.0})");
    EXPECT_EQ(lab::headline(result), "loss: wrong 2, worse 3, right 1");

    const lab::Result masks = run_experiment("tiny-mask");
    EXPECT_THAT(masks.figures.at(0).svg, HasSubstr("multiplied by -1e-9"));
    EXPECT_THAT(masks.figures.at(1).svg, HasSubstr(">masked<"));
}

// On a scale up to 1, a sixteenth would have the colour of zero.
TEST(Lab, TheTinyMasksMapShowsASixteenth) {
    const std::string map = run_experiment("tiny-mask").figures.at(0).svg;
    std::set<std::string> dark;
    for (int level = 0; level < picture::ramp_levels / 8; ++level) dark.insert(picture::ramp_color(level));
    int in_row_0 = 0;
    for (const Element& one : markup_of(map).all("path"))
        for (std::size_t at = 0; at < one.attributes.at("d").size(); at = one.attributes.at("d").find('M', at + 1)) {
            const std::string cell = one.attributes.at("d").substr(at, one.attributes.at("d").find('M', at + 1) - at);
            if (cell.find(" 0h") == std::string::npos) continue;
            ++in_row_0;
            EXPECT_FALSE(dark.contains(one.attributes.at("stroke"))) << cell << " of row 0 looks like nothing";
        }
    EXPECT_GT(in_row_0, 0);
}

TEST(Lab, ExperimentsOfAGroupStandTogether) {
    std::set<std::string_view> groups;
    std::string_view last;
    for (const lab::Experiment& one : lab::experiments()) {
        EXPECT_FALSE(one.group.empty()) << one.name;
        EXPECT_TRUE(one.group == last || groups.insert(one.group).second) << one.group << " begins again at " << one.name;
        last = one.group;
    }
    EXPECT_GT(groups.size(), 3u);
}

TEST(Lab, JsonWritesWhatIsNotFiniteAsText) {
    const lab::Experiment experiment{"none", "", "nothing", "Lab.JsonHoldsEveryNumber", "", "\nwrong\n", "\nright\n", nullptr};
    const double infinity = std::numeric_limits<double>::infinity();
    const lab::Result result{.variants = {"right", "wrong", "worse"},
                             .findings = {{"loss", {-infinity, infinity, std::numeric_limits<double>::quiet_NaN()}}}};
    const auto object = nlohmann::json::parse(lab::json(experiment, result, {}));
    EXPECT_EQ(object["findings"]["loss"]["right"], "-inf");
    EXPECT_EQ(object["findings"]["loss"]["wrong"], "inf");
    EXPECT_EQ(object["findings"]["loss"]["worse"], "nan");
    EXPECT_THAT(lab::text(experiment, result), HasSubstr("nan"));
}

TEST(Lab, AddsAVariantsNumbersToTheFindingsInTheirOrder) {
    lab::Result result{.variants = {"right", "wrong"}, .findings = {{"loss", {}}, {"change", {}}}};
    for (const double number : {1.0, 3.0}) result.add(std::array{number, number + 1});
    EXPECT_EQ(result.findings[0].values, (std::vector<double>{1, 3}));
    EXPECT_EQ(result.findings[1].values, (std::vector<double>{2, 4}));
    expect_error([&] { result.add(std::array{1.0}); }, "a variant has 1 numbers for 2 findings");
    expect_error([&] { result.add(std::array{1.0, 2.0, 3.0}); }, "a variant has 3 numbers for 2 findings");
    EXPECT_EQ(result.findings[0].values.size(), 2u) << "a row of another length is not added in part";
}

// "href text|" of each link.
std::string links_of(const std::filesystem::path& file) {
    std::string links;
    for (const Element& one : markup_of(read_file(file)).all("a")) links += one.attributes.at("href") + " " + one.text + "|";
    return links;
}

// A write-up's experiments: their pages lead to each other, and a page lists them by group.
TEST(Lab, AChapterHasAPageWithACardForEachExperiment) {
    const TemporaryFolder folder;
    const std::string out = folder.path().string();
    const Output output = run_lab({"explained", "--out", out});
    EXPECT_THAT(output.out, HasSubstr("dropout-modes: dropout that"));
    const std::string links = links_of(folder / "unbiased-norm.html");
    EXPECT_THAT(links, HasSubstr("head-slices.html ← head-slices|"));
    EXPECT_THAT(links, HasSubstr("dropout-modes.html dropout-modes →|"));
    EXPECT_THAT(links_of(folder / "dropout-modes.html"), testing::Not(HasSubstr("→")));
    const std::string page = read_file(folder / "explained.html");
    expect_loads_nothing(page);
    const Markup index = markup_of(page);
    std::string groups;
    for (const Element& one : index.all("h2")) groups += one.text + "|";
    EXPECT_EQ(groups, "Attention|Norm, dropout and training|");
    for (const char* name : {"head-slices", "unbiased-norm", "dropout-modes"})
        EXPECT_THAT(links_of(folder / "explained.html"), HasSubstr(fmt::format("{0}.html {0}: ", name)));
    run_lab({"tiny-mask", "--out", out});
    EXPECT_EQ(links_of(folder / "tiny-mask.html"), "") << "there is no index.html";
}

TEST(Lab, ReplacesItsOwnPagesAndNoOthers) {
    const TemporaryFolder folder;
    const std::string out = folder.path().string();
    run_lab({"tiny-mask", "--out", out});
    EXPECT_NO_THROW(run_lab({"tiny-mask", "--out", out}));
    for (const char* name : {"tiny-mask.html", "index.html", "paper.html"}) {
        std::ofstream(folder / name) << "mine";
        expect_error(
            [&] {
                if (std::string(name) == "paper.html") run_lab({"paper", "--out", out});
                run_lab({std::string(name) == "index.html" ? "all" : "tiny-mask", "--out", out});
            },
            std::string(name) + ": this file is no page that heddle wrote");
        EXPECT_EQ(read_file(folder / name), "mine");
    }
}

TEST(Lab, OneSeedGivesTheSameNumbersAndAnotherSeedOthers) {
    const TemporaryFolder folder;
    const auto numbers = [&](const char* seed) {
        const std::string out = run_lab({"tiny-mask", "--json", "--seed", seed, "--out", folder.path().string()}).out;
        return nlohmann::json::parse(out)["findings"].dump();
    };
    EXPECT_EQ(numbers("1"), numbers("1"));
    EXPECT_NE(numbers("1"), numbers("2"));
}

TEST(LabKit, JoinedHeadsStandSideBySideInEachRow) {
    constexpr std::int64_t sentences = 2, time = 3, heads = 4, width = 5;
    const Variable x(lab::normal({sentences, heads, time, width}, 1, 7));
    const Variable joined = lab::join_heads(x);
    ASSERT_EQ(joined.shape(), Shape({sentences * time, heads * width}));
    const std::vector<double> rows = joined.value().to_vector(), parts = x.value().to_vector();
    for (std::int64_t s = 0; s < sentences; ++s)
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t t = 0; t < time; ++t)
                for (std::int64_t c = 0; c < width; ++c)
                    EXPECT_EQ(rows[static_cast<std::size_t>((s * time + t) * heads * width + h * width + c)],
                              parts[static_cast<std::size_t>(((s * heads + h) * time + t) * width + c)]);
}

TEST(LabKit, NumbersOfCurves) {
    const std::vector<double> values = {4, 1, 2, 9};
    EXPECT_EQ(lab::median(values), 3);
    EXPECT_EQ(lab::mean_of_last(values, 2), 5.5);
    EXPECT_EQ(lab::relative_change(values, values), 0);
    EXPECT_EQ(lab::relative_change(std::vector<double>{3, 4}, std::vector<double>{3, 9}), 1);
    const std::vector<double> others = {4, 7, 2, 5}, broken = {4, std::numeric_limits<double>::quiet_NaN(), 2, 5};
    EXPECT_EQ(lab::largest_difference(values, values), 0);
    EXPECT_EQ(lab::largest_difference(values, others), 6);
    EXPECT_TRUE(std::isnan(lab::largest_difference(values, broken)));
    const Tensor row = Tensor::from(values, {1, 4}), column = Tensor::from(values, {4, 1});
    EXPECT_EQ(lab::largest_difference(row, Tensor::from(others, {1, 4})), 6);
    expect_error([&] { lab::largest_difference(row, column); }, "tensors [1, 4] and [4, 1]");
    expect_error([] { lab::median({}); }, "the median of no values");
    expect_error([&] { lab::mean_of_last(values, 5); }, "the mean of more values was asked for than there are");
    expect_error([&] { lab::relative_change(values, {}); }, "arrays of different lengths");
    expect_error([&] { lab::largest_difference(values, std::vector<double>()); }, "arrays of different lengths");
}

TEST(LabKit, AGradientsNormIsThatOfAllParametersTogether) {
    nn::Module root(1);
    const nn::Linear layer(root, "layer", 2, 2), unused(root, "unused", 2, 2);
    EXPECT_EQ(lab::gradient_norm(root), 0) << "no parameter has a gradient";
    const Variable x(Tensor::from(std::vector<float>{2, 2}, {1, 2}));
    backward(layer.forward(x), Tensor::from(std::vector<float>{1, 0}, {1, 2}));  // d weight: 2, 2; d bias: 1
    EXPECT_EQ(lab::gradient_norm(root), 3);
    EXPECT_EQ(lab::gradient_norm(unused), 0);
}

TEST(Lab, SaysWhatIsWrongWithTheCommand) {
    expect_error([] { run_lab({"tiny-musk"}); },
                 "there is no experiment 'tiny-musk'; did you mean tiny-mask? see heddle lab list");
    expect_error([] { run_lab({""}); }, "there is no experiment ''; see heddle lab list");
    expect_error([] { run_lab({"papr"}); }, "lab: there is no experiment 'papr'; did you mean paper? see heddle lab list");
    expect_error([] { run_lab({"tiny-mask", "scaling"}); }, "unexpected argument 'scaling'; see heddle lab --help");
    expect_error([] { run_lab({"list", "--seed", "3"}); }, "list runs nothing: --seed has no effect");
    expect_error([] { run_lab({"list", "--json"}); }, "list runs nothing: --json has no effect");
    expect_error([] { run_lab({"tiny-mask", "--out", "/dev/null/pages"}); }, "--out /dev/null/pages: the folder cannot be made");
}

TEST(JsonNumber, IsATextWhereJsonHasNoNumber) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(app::json_number(0.1).dump(), "0.1");
    EXPECT_EQ(app::json_number(-infinity).dump(), "\"-inf\"");
    EXPECT_EQ(app::json_number(infinity).dump(), "\"inf\"");
    for (const double sign : {1.0, -1.0}) EXPECT_EQ(app::json_number(std::copysign(nan, sign)).dump(), "\"nan\"");
}

TEST(Wrapped, BreaksAtSpacesAndKeepsEveryWord) {
    EXPECT_EQ(app::wrapped(""), "");
    EXPECT_EQ(app::wrapped("a short text"), "a short text");
    const std::string word(60, 'w'), longest(150, 'x');
    EXPECT_EQ(app::wrapped(word + " " + word), word + "\n" + word);
    EXPECT_EQ(app::wrapped(longest + " a b"), longest + "\na b");
    EXPECT_EQ(app::wrapped("a " + longest), "a\n" + longest);
    EXPECT_EQ(app::wrapped(std::string(100, 'y') + " z"), std::string(100, 'y') + "\nz");
}

TEST(Indented, MovesEveryLineToTheRightAndEndsTheLast) {
    EXPECT_EQ(app::indented(""), "");
    EXPECT_EQ(app::indented("a\n  b\n\nc"), "    a\n      b\n    \n    c\n");
    EXPECT_EQ(app::indented("a\n"), "    a\n");
}

}  // namespace
}  // namespace heddle
