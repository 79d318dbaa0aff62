// What the source of every kernel keeps to, so that one set of .cu files builds with nvcc and with the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace heddle {
namespace {

namespace fs = std::filesystem;

struct Source {
    std::string name;  // relative to the project
    std::string text;
};

// The project's C++ and CUDA sources below `room`.
std::vector<Source> sources(const std::string& room) {
    std::vector<Source> found;
    const fs::path root(HEDDLE_SOURCE_DIR);
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
        const std::string extension = entry.path().extension();
        if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        found.push_back({fs::relative(entry.path(), root).string(), text.str()});
    }
    return found;
}

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }
bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
bool in_device_layer(const Source& source) {
    return starts_with(source.name, "kernels/device/") || starts_with(source.name, "kernels/emulator/");
}

// Every line of `source` without its comment that `pattern` finds something in, as "file:line".
std::string lines_with(const Source& source, const std::string& pattern) {
    const std::regex wanted(pattern);
    std::istringstream lines(source.text);
    std::string line, found;
    for (int number = 1; std::getline(lines, line); ++number)
        if (std::regex_search(line.substr(0, line.find("//")), wanted)) found += source.name + ":" + std::to_string(number) + " ";
    return found;
}

TEST(KernelRules, KernelFilesAskNoCompilerWhichBuildItIs) {
    int kernel_files = 0;
    for (const Source& source : sources("kernels")) {
        if (in_device_layer(source) || !ends_with(source.name, ".cu")) continue;
        ++kernel_files;
        EXPECT_EQ(lines_with(source, R"(^\s*#\s*(if|ifdef|ifndef)\b)"), "");
    }
    EXPECT_GT(kernel_files, 0);
}

// A grid's y and z hold 65,535 blocks, and a batch may have more rows: blocks are counted along x.
TEST(KernelRules, GridsHaveOneAxis) {
    int launches = 0;
    for (const Source& source : sources("kernels")) {
        if (in_device_layer(source) || !ends_with(source.name, ".cu")) continue;
        launches += lines_with(source, R"(launch\()").empty() ? 0 : 1;
        EXPECT_EQ(lines_with(source, R"(blockIdx\s*\.\s*[yz])"), "");
    }
    EXPECT_GT(launches, 20);
}

// heddle-explain and heddle-grader are built for the emulator alone; fused_sum.h is arithmetic, and the front end rewrites text
// and runs programs, in any build.
TEST(KernelRules, BuildModesAreKnownInTheDeviceLayerAndToTheseTwoOnly) {
    for (const char* room : {"core", "kernels", "autograd", "nn", "optim", "heddle", "apps"})
        for (const Source& source : sources(room)) {
            if (in_device_layer(source) || starts_with(source.name, "apps/explain/") ||
                starts_with(source.name, "apps/learn/grader/"))
                continue;
            EXPECT_EQ(
                lines_with(
                    source,
                    R"(__CUDACC__|__CUDA_ARCH__|HEDDLE_WITHOUT_CUDA|HEDDLE_EMULAT|kernels/emulator/(?!run/fused_sum\.h|frontend/))"),
                "");
        }
}

// Kernels are started by device::launch, take shared memory from the arena, and use no PTX of their own.
TEST(KernelRules, KernelsUseTheDeviceLayer) {
    for (const Source& source : sources("kernels")) {
        if (in_device_layer(source)) continue;
        EXPECT_EQ(lines_with(source, R"(<<<|__shared__|\bextern\b|\basm\b|__constant__|cudaLaunchKernel|__pipeline_|__ldmatrix)"),
                  "");
    }
}

TEST(KernelRules, InlinePtxStaysInOneShortFile) {
    for (const Source& source : sources("kernels")) {
        if (starts_with(source.name, "kernels/emulator/")) continue;  // the context switch is assembly of the CPU
        if (source.name == "kernels/device/ptx.h") {
            EXPECT_LT(std::count(source.text.begin(), source.text.end(), '\n'), 300);
            EXPECT_NE(lines_with(source, R"(\basm\b)"), "");
        } else {
            // an empty one is no PTX: it keeps the compiler from leaving writes out
            EXPECT_EQ(lines_with(source, R"x(\basm\b(?! volatile\("" ?:))x"), "");
        }
    }
}

// A list of all kernels is made from the names.
TEST(KernelRules, KernelsAreNamedAsSuch) {
    const std::regex kernel(R"(__global__[^;{]*?\bvoid\s+(?:__launch_bounds__\([^)]*\)+\s*)?(\w+)\s*\()");
    int kernels = 0;
    for (const Source& source : sources("kernels")) {
        if (in_device_layer(source)) continue;
        for (std::sregex_iterator at(source.text.begin(), source.text.end(), kernel), end; at != end; ++at, ++kernels)
            EXPECT_TRUE(ends_with((*at)[1], "_kernel")) << source.name << ": " << (*at)[1];
    }
    EXPECT_GT(kernels, 0);
}

// Debian's fmt 9 does not compile under nvcc 13 in C++20.
TEST(KernelRules, NoFmtWhereNvccReads) {
    for (const Source& source : sources("kernels"))
        if (ends_with(source.name, ".cu") || (ends_with(source.name, ".h") && starts_with(source.name, "kernels/device/"))) {
            EXPECT_EQ(lines_with(source, R"(#include\s*[<"](fmt/|core/format\.h))"), "");
        }
}

}  // namespace
}  // namespace heddle
