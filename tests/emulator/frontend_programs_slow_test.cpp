// The programs of frontend_*.cu and check_verdicts.cu, each through the whole front end: rewritten, compiled, run in three orders
// and judged.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/check.h"

namespace heddle::emulator::frontend {
namespace {

namespace fs = std::filesystem;

struct File {
    std::string name, text;
};
// A case of frontend_programs.cu.
struct Program {
    std::string name, verdict;
    std::vector<File> files;           // the first is the program's source
    std::vector<std::string> options;  // of the compiler
    std::vector<std::string> launch;   // a kernel, its grid, its block and its arguments, for a file without main()
};

std::vector<Program> read_programs() {
    constexpr std::string_view new_case = "// CASE ", new_file = "// FILE ", with = "// WITH ", launch = "// LAUNCH ";
    std::vector<Program> programs;
    for (const char* const file :
         {"frontend_programs", "frontend_kernels", "frontend_libraries", "frontend_names", "check_verdicts"}) {
        std::ifstream stream(fs::path(HEDDLE_SOURCE_DIR) / "tests/emulator" / (std::string(file) + ".cu"));
        for (std::string line; std::getline(stream, line);) {
            if (line.starts_with(new_case)) {
                const std::size_t colon = line.find(": ");
                const std::string name = line.substr(new_case.size(), colon - new_case.size());
                programs.push_back({name, line.substr(colon + 2), {{name + ".cu", ""}}, {}, {}});
            } else if (programs.empty()) {
                continue;
            } else if (line.starts_with(new_file)) {
                programs.back().files.push_back({line.substr(new_file.size()), ""});
            } else if (line.starts_with(with)) {
                programs.back().options.push_back(line.substr(with.size()));
            } else if (line.starts_with(launch)) {
                std::istringstream words(line.substr(launch.size()));
                for (std::string word; words >> word;) programs.back().launch.push_back(word);
            } else {
                programs.back().files.back().text += line + "\n";
            }
        }
    }
    return programs;
}

void PrintTo(const Program& program, std::ostream* stream) { *stream << program.name; }

class FrontendPrograms : public testing::TestWithParam<Program> {};

TEST_P(FrontendPrograms, GetTheirVerdict) {
    const Program& program = GetParam();
    const fs::path folder = fs::path(testing::TempDir()) / ("frontend_programs_" + program.name);
    fs::create_directories(folder);
    Settings settings;
    settings.compile_options = program.options;
    for (const File& file : program.files) {
        std::ofstream(folder / file.name) << file.text;
        if (file.name.ends_with(".cu")) settings.sources.push_back((folder / file.name).string());
    }
    if (const std::vector<std::string>& launch = program.launch; !launch.empty()) {
        settings.kernel = launch[0], settings.grid = launch[1], settings.block = launch[2];
        settings.arguments.assign(launch.begin() + 3, launch.end());
    }
    settings.json = (folder / "results.json").string();
    // Only what never ends by itself needs a limit, so that no other verdict depends on the load of the machine.
    const bool endless = program.verdict.starts_with("no-progress") && !program.verdict.ends_with("no room");
    settings.seconds = endless ? 3 : 60;
    settings.total_seconds = 3 * settings.seconds;
    settings.toolkit = {HEDDLE_SOURCE_DIR, HEDDLE_CHECK_LIBRARY};

    std::istringstream verdict(program.verdict);
    std::string kind, file = program.files[0].name, line;
    verdict >> kind >> line;
    if (std::string last; (line.ends_with("h") || line.ends_with(".cu")) && verdict >> last) {
        file = line;
        line = last;
    }
    testing::internal::CaptureStderr();
    int status = 2;
    std::string refused;
    try {
        status = check(settings);
    } catch (const Refused& refusal) {
        refused = refusal.what();
    }
    const std::string said = testing::internal::GetCapturedStderr() + refused;
    std::stringstream results;
    results << std::ifstream(settings.json).rdbuf();
    fs::remove_all(folder);
    if (kind == "right") {
        EXPECT_EQ(status, 0) << said;
    } else if (kind == "refused") {
        std::string text;
        std::getline(verdict >> std::ws, text);
        EXPECT_EQ(status, 2) << said;
        EXPECT_NE(said.find(file + ":" + line + " error: " + text), std::string::npos) << said;
    } else {
        EXPECT_EQ(status, 3) << said;
        bool found = false;  // one violation has the kind and the line
        for (std::string one; std::getline(results, one);)
            found = found || (one.find("\"kind\": \"" + kind + "\"") != std::string::npos &&
                              one.find(file + "\", \"line\": " + line + ", ") != std::string::npos);
        EXPECT_TRUE(found) << said << results.str();
        std::string text;  // that the report contains
        std::getline(verdict >> std::ws, text);
        EXPECT_NE(results.str().find(text), std::string::npos) << text << "\n" << said;
    }
}

INSTANTIATE_TEST_SUITE_P(All, FrontendPrograms, testing::ValuesIn(read_programs()),
                         [](const auto& info) { return info.param.name; });

TEST(FrontendProgramsFile, HasACaseForEachFeature) { EXPECT_GE(read_programs().size(), 40u); }

}  // namespace
}  // namespace heddle::emulator::frontend
