// Every command of README.md and docs/first-hour.md runs, in the order of the page, on what the lines before it made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <regex>

#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

// A stub for the built program: downloads nothing, and trains a tiny model for three updates. Commands that take long, and are
// tested elsewhere, only print --help. Checking an exercise that is not solved yet fails, as it should.
const std::string program = R"sh(#!/usr/bin/env bash
case "$1" in
    data) [ "$*" = "data multi30k" ] && mkdir corpus && cp made-up/* corpus ;;
    train) exec heddle "$@" --updates 3 --layers 1 --d-model 16 --heads 2 --d-ff 16 ;;
    bench | lab | explain) exec heddle "$1" --help ;;
    learn) [ "$2" = check ] || exec heddle "$@" ;;
    *) exec heddle "$@" ;;
esac
)sh";

// Runs the page's shell blocks in order, in a folder with a stub for the built program and a made-up corpus.
ShellOutput run_page(const Workplace& here, const std::string& page) {
    for (const char* folder : {"build/release", "build/emulated", "apps", "tests", "made-up"})
        std::filesystem::create_directories(here.path(folder));
    std::string stub = program;
    for (std::size_t at; (at = stub.find("exec heddle")) != std::string::npos;) stub.replace(at, 11, "exec '" HEDDLE_PROGRAM "'");
    for (const char* file : {"build/release/heddle", "build/emulated/heddle"}) {
        here.write(file, stub);
        std::filesystem::permissions(here.path(file), std::filesystem::perms::owner_all);
    }
    here.write("apps/demo.sh", "");
    here.write("tests/run.sh", "");
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
    std::string lines =
        "set -ev -o pipefail\n"
        R"(cmake() { case "$*" in "--preset emulated -DHEDDLE_TESTS=OFF" | "--build build/"*" --target heddle"*) ;;)"
        " *) return 1 ;; esac; }\n";
    for (const std::string& block : fenced_blocks(page, ""))
        if (!block.starts_with("$ ")) lines += block;
    // A model of another toolkit, which the page imports: one that Heddle wrote.
    if (const std::size_t at = lines.find("build/release/heddle import opus-mt-de-en"); at != std::string::npos)
        lines.insert(at, "build/release/heddle export runs/first --to ctranslate2 opus-mt-de-en\n");
    here.write("page.sh", lines);
    return shell("cd " + quoted(here.path("")) + " && bash page.sh 2>&1");
}

TEST(FirstHour, RunsLineByLine) {
    EXPECT_GE(fenced_blocks("docs/first-hour.md", "").size(), 9u);
    const Workplace here;
    const ShellOutput output = run_page(here, "docs/first-hour.md");
    EXPECT_EQ(output.status, 0) << output.text;
    EXPECT_THAT(output.text, testing::HasSubstr("\nbuild/release/heddle data multi30k\n"));
    EXPECT_TRUE(here.exists("runs/second/report.html"));
    EXPECT_TRUE(here.exists("looked/index.html"));
}

TEST(Readme, RunsLineByLine) {
    const Workplace here;
    const ShellOutput output = run_page(here, "README.md");
    EXPECT_EQ(output.status, 0) << output.text;
    EXPECT_THAT(output.text, testing::HasSubstr("\nbuild/release/heddle train --train corpus/train"));
    EXPECT_TRUE(here.exists("runs/first/report.html"));
    EXPECT_TRUE(here.exists("english.txt"));
}

// A block that begins with "$ COMMAND" shows the command's output; rounding errors differ between processors.
TEST(Readme, ShowsWhatGradcheckPrints) {
    const std::regex rounding("[0-9.]+e-[0-9]+");
    int shown = 0;
    for (const std::string& block : fenced_blocks("README.md", "")) {
        if (!block.starts_with("$ ")) continue;
        const std::string command = block.substr(2, block.find('\n') - 2), output = block.substr(block.find('\n') + 1);
        ASSERT_TRUE(command.starts_with("build/release/heddle ")) << command;
        const ShellOutput ran = shell("'" HEDDLE_PROGRAM "' " + command.substr(std::string("build/release/heddle ").size()));
        EXPECT_EQ(ran.status, 0);
        EXPECT_EQ(std::regex_replace(ran.text, rounding, "E"), std::regex_replace(output, rounding, "E"));
        ++shown;
    }
    EXPECT_GE(shown, 1);
}

}  // namespace
}  // namespace heddle
