// docs/first-hour.md: every line of it runs, in its order, on nothing but what the lines before it made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

// Stands where the built program would: fetches nothing, and trains a tiny model for three updates. What takes long alone, and
// is tested elsewhere, only answers --help.
const std::string program = R"sh(#!/usr/bin/env bash
case "$1" in
    data) [ "$*" = "data multi30k" ] && mkdir corpus && cp made-up/* corpus ;;
    train) exec heddle "$@" --updates 3 --layers 1 --d-model 16 --heads 2 --d-ff 16 ;;
    bench | lab) exec heddle "$1" --help ;;
    *) exec heddle "$@" ;;
esac
)sh";

TEST(FirstHour, RunsLineByLine) {
    const Workplace here;
    std::filesystem::create_directories(here.path("build/release"));
    std::filesystem::create_directories(here.path("apps"));
    std::filesystem::create_directories(here.path("made-up"));
    std::string stub = program;
    for (std::size_t at; (at = stub.find("exec heddle")) != std::string::npos;) stub.replace(at, 11, "exec '" HEDDLE_PROGRAM "'");
    here.write("build/release/heddle", stub);
    std::filesystem::permissions(here.path("build/release/heddle"), std::filesystem::perms::owner_all);
    here.write("apps/demo.sh", "");
    std::string german, english;
    for (const std::string one : {"ein", "zwei", "drei", "vier", "rote", "blaue", "alte"})
        for (const std::string two : {"Hund", "Katze", "Frau", "Stadt", "Schiff"}) {
            german += "Da ist " + one + " " + two + ".\n";
            english += "There is " + two + ", and it is " + one + ".\n";
        }
    for (const std::string part : {"train", "val", "test"}) {
        here.write("made-up/" + part + ".de", german);
        here.write("made-up/" + part + ".en", english);
    }

    std::string lines = "set -ev -o pipefail\ncmake() { [ \"$*\" = '--build build/release --target heddle-lab' ]; }\n";
    const std::vector<std::string> blocks = fenced_blocks("docs/first-hour.md", "");
    EXPECT_GE(blocks.size(), 9u);
    for (const std::string& block : blocks) lines += block;
    here.write("page.sh", lines);
    const ShellOutput output = shell("cd " + quoted(here.path("")) + " && bash page.sh 2>&1");
    EXPECT_EQ(output.status, 0) << output.text;
    EXPECT_THAT(output.text, testing::HasSubstr("\nbuild/release/heddle data multi30k\n"));
    EXPECT_TRUE(here.exists("runs/second/report.html"));
    EXPECT_TRUE(here.exists("looked/index.html"));
}

}  // namespace
}  // namespace heddle
