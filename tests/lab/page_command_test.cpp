// A command that runs named programs: its list, its runs, its pages and its errors.
#include "apps/lab/page_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"
#include "core/file.h"
#include "tests/markup.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PageCommand two_programs() {
    const auto program = [](const std::string& name) {
        return PageProgram{name, "the " + name,
                           [name](std::uint64_t seed, const std::string& command) {
                               picture::Page page(name);
                               page.code(command);
                               const std::string number = std::to_string(seed);
                               return PageResult{name + " " + number + "\n", "{\"seed\":" + number + "}\n", page,
                                                 "found <" + name + ">", "<svg width=\"1\"></svg>"};
                           },
                           name == "five" ? "Odd" : "Even & more"};
    };
    return {.name = "show",
            .summary = "shows things",
            .what = "thing",
            .index_title = "Things",
            .programs = {program("one"), program("three"), program("five")}};
}

std::string run(std::vector<const char*> arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    std::string error;
    try {
        EXPECT_EQ(run_page_command(two_programs(), arguments), 0);
    } catch (const Error& caught) {
        error = caught.what();
    }
    testing::internal::GetCapturedStderr();
    const std::string out = testing::internal::GetCapturedStdout();
    if (!error.empty()) fail(error);
    return out;
}

TEST(PageCommand, ListsRunsAndWritesPages) {
    const TemporaryFolder folder;
    const std::string to = (folder / "a").string() + "/b";
    EXPECT_EQ(run({"list"}), "one    the one\nthree  the three\nfive   the five\n");
    EXPECT_EQ(run({}), run({"list"}));
    EXPECT_EQ(run({"three", "--out", to.c_str(), "--seed", "7"}), "three 7\n");
    EXPECT_THAT(read_file(to + "/three.html"), HasSubstr("heddle show three --seed 7"));
    EXPECT_FALSE(std::filesystem::exists(to + "/one.html"));
    EXPECT_EQ(run({"--out", to.c_str(), "--json", "one"}), "{\"seed\":1}\n");
    EXPECT_EQ(run({"--thing", "one", "--out", to.c_str()}), "one 1\n");
    EXPECT_EQ(run({"all", "--out", to.c_str()}), "one 1\n\nthree 1\n\nfive 1\n\n");
    EXPECT_EQ(run({"all", "--out", to.c_str(), "--json"}), "{\"seed\":1}\n{\"seed\":1}\n{\"seed\":1}\n");
}

TEST(PageCommand, ThePageOfAllHasGroupsWithACardForEach) {
    const TemporaryFolder folder;
    const std::string to = folder.path().string();
    run({"all", "--out", to.c_str()});
    const std::string page = read_file(to + "/index.html");
    expect_loads_nothing(page);
    const Markup index = markup_of(page);
    std::vector<std::string> groups, links;
    for (const Element& one : index.all("h2")) groups.push_back(one.text);
    for (const Element& one : index.all("a")) links.push_back(one.attributes.at("href") + " " + one.text);
    EXPECT_THAT(groups, ElementsAre("Even &amp; more", "Odd"));
    EXPECT_THAT(links, ElementsAre("one.html one: the one", "three.html three: the three", "five.html five: the five"));
    EXPECT_EQ(index.all("ul").size(), 2u);
    EXPECT_EQ(index.all("svg").size(), 3u);
    EXPECT_THAT(page, HasSubstr("<p>found &lt;three&gt;</p>"));
}

std::vector<std::string> links_of(const std::string& file) {
    std::vector<std::string> links;
    for (const Element& one : markup_of(read_file(file)).all("a")) links.push_back(one.attributes.at("href") + " " + one.text);
    links.resize(links.size() / 2);  // the same links are repeated at the end
    return links;
}

TEST(PageCommand, APageLeadsToItsNeighboursThatAreThere) {
    const TemporaryFolder folder;
    const std::string to = folder.path().string();
    run({"three", "--out", to.c_str()});
    EXPECT_THAT(links_of(to + "/three.html"), ElementsAre()) << "nothing else is there";
    run({"one", "--out", to.c_str()});
    EXPECT_THAT(links_of(to + "/one.html"), ElementsAre("three.html three →"));
    run({"all", "--out", to.c_str()});
    EXPECT_THAT(links_of(to + "/one.html"), ElementsAre("index.html all things", "three.html three →"));
    EXPECT_THAT(links_of(to + "/three.html"), ElementsAre("one.html ← one", "index.html all things", "five.html five →"));
    EXPECT_THAT(links_of(to + "/five.html"), ElementsAre("three.html ← three", "index.html all things"));
}

TEST(PageCommand, ReplacesItsOwnPagesAndNoOthers) {
    for (const char* name : {"one.html", "index.html"}) {
        const TemporaryFolder folder;
        const std::string to = folder.path().string();
        run({"all", "--out", to.c_str()});
        EXPECT_NO_THROW(run({"all", "--out", to.c_str()}));
        std::ofstream(folder / name) << "mine";
        expect_error([&] { run({"all", "--out", to.c_str()}); }, std::string(name) + ": this file is no page that heddle wrote");
        EXPECT_EQ(read_file(folder / name), "mine");
    }
}

TEST(PageCommand, SaysWhatItWanted) {
    expect_error([] { run({"two"}); }, "show: there is no thing 'two'; see heddle show list");
    expect_error([] { run({"thre"}); }, "show: there is no thing 'thre'; did you mean three? see heddle show list");
    expect_error([] { run({""}); }, "show: there is no thing ''; see heddle show list");
    expect_error([] { run({"one", "three"}); }, "unexpected argument 'three'; see heddle show --help");
    for (const std::vector<const char*>& words : {std::vector<const char*>{"list", "--json"}, {"--json"}})
        expect_error([&] { run(words); }, "show: list runs nothing: --json has no effect");
    expect_error([] { run({"one", "--out", "/dev/null/pages"}); }, "--out /dev/null/pages: the folder cannot be made");
}

TEST(JsonNumber, IsATextWhereJsonHasNoNumber) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(json_number(0.1).dump(), "0.1");
    EXPECT_EQ(json_number(-infinity).dump(), "\"-inf\"");
    EXPECT_EQ(json_number(infinity).dump(), "\"inf\"");
    for (const double sign : {1.0, -1.0}) EXPECT_EQ(json_number(std::copysign(nan, sign)).dump(), "\"nan\"");
}

TEST(Wrapped, BreaksAtSpacesAndKeepsEveryWord) {
    EXPECT_EQ(wrapped(""), "");
    EXPECT_EQ(wrapped("a short text"), "a short text");
    const std::string word(60, 'w'), longest(150, 'x');
    EXPECT_EQ(wrapped(word + " " + word), word + "\n" + word);
    EXPECT_EQ(wrapped(longest + " a b"), longest + "\na b");
    EXPECT_EQ(wrapped("a " + longest), "a\n" + longest);
    EXPECT_EQ(wrapped(std::string(100, 'y') + " z"), std::string(100, 'y') + "\nz");
}

TEST(Indented, MovesEveryLineToTheRightAndEndsTheLast) {
    EXPECT_EQ(indented(""), "");
    EXPECT_EQ(indented("a\n  b\n\nc"), "    a\n      b\n    \n    c\n");
    EXPECT_EQ(indented("a\n"), "    a\n");
}

}  // namespace
}  // namespace heddle::app
