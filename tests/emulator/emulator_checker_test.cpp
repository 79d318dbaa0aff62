// The matrix of bug classes: each mistake must be reported in each of 20 random orders of threads and blocks, with its kind and
// its line; its correct twin must not. Then correct kernels, which must pass.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "kernels/emulator/run/report.h"
#include "tests/emulator/emulator_bugs.h"

namespace heddle::bugs {
namespace {

constexpr std::uint64_t kOrders = 20;

/// The emulator's report, or "".
std::string report_of(const std::function<void()>& program, std::uint64_t seed) {
    emulator::set_seed(seed);
    try {
        program();
    } catch (const emulator::Violation& violation) {
        return violation.what();
    } catch (const std::invalid_argument& refusal) {
        return refusal.what();
    }
    return "";
}

/// "file:line" of all lines that end with "BUG name".
std::vector<std::string> marked_lines(const std::string& file, const std::string& name) {
    std::ifstream source(std::string(HEDDLE_SOURCE_DIR) + "/" + file);
    std::vector<std::string> lines;
    std::string line;
    for (int number = 1; std::getline(source, line); ++number)
        if (line.ends_with("// BUG " + name)) lines.push_back(file + ":" + std::to_string(number));
    return lines;
}

bool contains_any(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words)
        if (text.find(word) != std::string::npos) return true;
    return false;
}

// Requires the line number to end there: "x.cu:41" does not match "x.cu:412".
bool names_any(const std::string& text, const std::vector<std::string>& places) {
    for (const std::string& place : places)
        for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + 1))
            if (at + place.size() == text.size() || !std::isdigit(static_cast<unsigned char>(text[at + place.size()])))
                return true;
    return false;
}

void expect_found(const std::vector<Bug>& bugs) {
    for (const Bug& bug : bugs) {
        if (!emulator::checker::kEnabled && std::string(bug.found_by) == "checker") continue;
        const std::string mark = bug.mark ? bug.mark : bug.name;
        const std::vector<std::string> places = marked_lines(bug.file, mark);
        EXPECT_EQ(places.empty(), mark.empty()) << bug.name << ": no line is marked with BUG " << mark;
        int found = 0, false_reports = 0;
        std::string example;
        for (std::uint64_t seed = 1; seed <= kOrders; ++seed) {
            const std::string report = report_of(bug.broken, seed), twin = report_of(bug.correct, seed);
            const bool good = contains_any(report, bug.words) && (places.empty() || names_any(report, places));
            found += good ? 1 : 0;
            false_reports += twin.empty() ? 0 : 1;
            EXPECT_TRUE(good) << bug.name << ", order " << seed << ": " << (report.empty() ? "nothing was reported" : report);
            EXPECT_EQ(twin, "") << bug.name << ", order " << seed << ": the correct twin was reported";
            if (good && example.empty()) example = report;
            if (!good || !twin.empty()) break;
        }
        std::printf("%-44s %-10s %2d of 20, %d false   %s\n", bug.name, bug.found_by, found, false_reports, example.c_str());
    }
}

TEST(EmulatorBugs, InsideABlock) { expect_found(block_bugs()); }
TEST(EmulatorBugs, BetweenBlocks) { expect_found(grid_bugs()); }
TEST(EmulatorBugs, Memory) { expect_found(memory_bugs()); }
TEST(EmulatorBugs, AsynchronousCopies) { expect_found(copy_bugs()); }

TEST(EmulatorChecker, ReportsNothingInSoundKernels) {
    for (const Sound& sound : sound_kernels())
        for (std::uint64_t seed = 1; seed <= kOrders; ++seed)
            EXPECT_EQ(report_of(sound.run, seed), "") << sound.name << ", order " << seed;
}

}  // namespace
}  // namespace heddle::bugs
