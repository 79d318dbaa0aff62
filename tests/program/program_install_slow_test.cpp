// The results of cmake --install and cpack: a folder that other programs find, and packages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/device.h"
#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

std::vector<fs::path> files_below(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) files.push_back(entry.path());
    return files;
}

class Installed : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        folder_ = new Workplace;
        install_ = shell("cmake --install '" HEDDLE_BUILD_DIR "' --prefix " + quoted(path("")) + " 2>&1");
    }
    static void TearDownTestSuite() {
        delete folder_;
        folder_ = nullptr;
    }
    void SetUp() override { ASSERT_EQ(install_.status, 0) << install_.text; }
    static std::string path(const std::string& name) { return folder_->path("prefix/" + name); }
    static const Workplace& folder() { return *folder_; }

  private:
    static inline Workplace* folder_ = nullptr;
    static inline ShellOutput install_;
};

// The compiler flags name a folder first that has a header with the name of one of Heddle's, which must not be confused with it.
TEST_F(Installed, BuildsAndRunsAProgramThatFindsIt) {
    fs::create_directories(folder().path("foreign/core"));
    std::ofstream(folder().path("foreign/core/tensor.h")) << "#error this header is another project's\n";
    const std::string build = quoted(folder().path("build"));
    const ShellOutput made =
        shell("cmake -S '" HEDDLE_SOURCE_DIR "/tests/installed' -B " + build +
              " -DCMAKE_CXX_COMPILER='" HEDDLE_CXX "' -DCMAKE_CXX_FLAGS=" + quoted("-I" + folder().path("foreign")) +
              " -DCMAKE_PREFIX_PATH=" + quoted(path("")) + " 2>&1 && cmake --build " + build + " 2>&1");
    ASSERT_EQ(made.status, 0) << made.text;
    const ShellOutput ran = shell("cd " + build + " && ./spirals 2>&1");
    ASSERT_EQ(ran.status, 0) << ran.text;
    double loss = -1;
    EXPECT_EQ(std::sscanf(ran.text.c_str(), "%lf\n", &loss), 1) << ran.text;
    EXPECT_GT(loss, 0) << ran.text;
    EXPECT_LT(loss, std::log(3.0)) << "no better than a guess: " << ran.text;
    EXPECT_TRUE(fs::exists(folder().path("build/net.safetensors")));
}

// The project of docs/install.md with an op and a kernel of its own: the kernel runs on the device that the build has.
TEST_F(Installed, BuildsAndRunsAnOpWithItsKernel) {
    const std::string source = folder().path("op"), build = quoted(folder().path("op-build"));
    fs::create_directories(source);
    for (const char* file : {"custom_op.h", "custom_op.cpp", "custom_op.cu"})
        fs::copy_file(HEDDLE_SOURCE_DIR "/docs/examples/" + std::string(file), source + "/" + file);
    std::ofstream(source + "/CMakeLists.txt") << "cmake_minimum_required(VERSION 3.22)\nproject(uses_heddle LANGUAGES CXX)\n"
                                              << "find_package(heddle REQUIRED)\n"
                                              << fenced_blocks("docs/install.md", "cmake").at(1);
    const ShellOutput made =
        shell("cmake -S " + quoted(source) + " -B " + build + " -DCMAKE_CXX_COMPILER='" HEDDLE_CXX "'" +
              " -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=" + quoted(path("")) +
              " 2>&1 && cmake --build " + build + " 2>&1");
    ASSERT_EQ(made.status, 0) << made.text;
    const ShellOutput ran = shell(build + "/custom_op 2>&1");
    EXPECT_EQ(ran.status, 0) << ran.text;
    EXPECT_THAT(ran.text, HasSubstr("proven on the CPU\n"));
    if (!device::available()) return;
    EXPECT_THAT(ran.text, AllOf(HasSubstr("proven on " + device::description() + "\n"), HasSubstr("f32 kernel: largest error ")));
}

TEST_F(Installed, RunsTheProgram) {
    EXPECT_EQ(shell(quoted(path("bin/heddle")) + " --version").text, shell("'" HEDDLE_PROGRAM "' --version").text);
}

// The exercise whose kernel includes the most headers, and one in host C++.
TEST_F(Installed, GradesAnExercise) {
    if (!fs::exists(path("bin/heddle-grader"))) GTEST_SKIP() << "this build has no heddle-grader";
    const std::string here = "cd " + quoted(folder().path("")) + " && " + quoted(path("bin/heddle")) + " learn ";
    ASSERT_EQ(shell(here + "start vector-loads 2>&1").status, 0);
    const std::string solution =
        here + "solution 2>&1; " + quoted(path("bin/heddle")) + " learn solution > heddle-learn/";  // asked twice
    ASSERT_EQ(shell(solution + "vector-loads.cu").status, 0);
    const ShellOutput passed = shell(here + "check 2>&1");
    EXPECT_EQ(passed.status, 0) << passed.text;
    EXPECT_THAT(passed.text, HasSubstr("vector-loads: pass"));
    ASSERT_EQ(shell(here + "start product-rule 2>&1").status, 0);  // host C++: needs the tape's headers
    ASSERT_EQ(shell(solution + "product-rule.cpp").status, 0);
    EXPECT_THAT(shell(here + "check 2>&1").text, HasSubstr("product-rule: pass"));
    EXPECT_TRUE(fs::exists(path("share/heddle/learn/include/exercises/vector-loads/exercise.h")));
}

TEST_F(Installed, ChecksCudaWithItsOwnHeadersAndItsOwnLibrary) {
    if (shell("find " + quoted(path("")) + " -name libheddle_emulator_checked.a").text.empty())
        GTEST_SKIP() << "this build has no checked emulator";
    std::ofstream(folder().path("reverse.cu")) << fenced_blocks("README.md", "cpp").at(0);
    const ShellOutput checked =
        shell("cd " + quoted(folder().path("")) + " && " + quoted(path("bin/heddle")) + " check reverse.cu 2>&1");
    EXPECT_EQ(checked.status, 3) << checked.text;
    EXPECT_THAT(checked.text, HasSubstr("heddle check: 1 violation (race) in 3 orders"));
}

// An installed folder may be moved, or may have been built on another machine.
TEST_F(Installed, NamesNoFolderOfTheBuild) {
    int looked_at = 0;
    for (const fs::path& file : files_below(path(""))) {
        if (file.extension() == ".a" || file.filename() == "heddle" || file.filename() == "heddle-lab" ||
            file.filename() == "heddle-grader")
            continue;
        ++looked_at;
        EXPECT_THAT(text_of(file), AllOf(Not(HasSubstr(HEDDLE_SOURCE_DIR)), Not(HasSubstr(path(""))))) << file;
    }
    EXPECT_GT(looked_at, 50);
}

// Each source file includes its own header first, so a header that compiles here compiles there if its own includes are there.
// All stand below include/heddle and name each other from include/ on, so that a program's own core/tensor.h is another header.
// The emulator's name each other from include/heddle on, as where it is used alone; only builds with emulated kernels need them.
TEST_F(Installed, HasEveryHeaderThatItsHeadersIncludeBelowOneFolder) {
    const fs::path include = path("include");
    const std::string before = "#include \"";
    const auto emulator_headers = [](const std::string& path) { return path.find("/kernels/emulator/") != std::string::npos; };
    std::string wrong;
    int found = 0;
    for (const fs::path& header : files_below(include)) {
        if (!header.string().starts_with(path("include/heddle/"))) wrong += header.string() + " lies outside include/heddle\n";
        std::ifstream text(header);
        for (std::string line; std::getline(text, line);) {
            if (!line.starts_with(before)) continue;
            ++found;
            const std::string included = line.substr(before.size(), line.rfind('"') - before.size());
            if (emulator_headers(header.string())) {
                if (!fs::exists(include / "heddle" / included)) wrong += header.string() + ": " + included + "\n";
                continue;
            }
            if (emulator_headers(included) && !fs::exists(include / "heddle/kernels/emulator")) continue;
            if (!included.starts_with("heddle/") || !fs::exists(include / included))
                wrong += header.string() + ": " + included + "\n";
        }
    }
    EXPECT_EQ(wrong, "");
    EXPECT_GT(found, 50);
    EXPECT_FALSE(fs::exists(include / "heddle/autograd/cases")) << "the cases of ops are for tests and commands";
    EXPECT_FALSE(fs::exists(include / "heddle/kernels/simd.h")) << "code for one instruction set stays inside";
}

TEST(InstallPage, ShowsTheProgramThatIsBuiltHere) {
    EXPECT_THAT(fenced_blocks("docs/install.md", "cpp"), testing::ElementsAre(project_file("tests/installed/spirals.cpp")));
    EXPECT_EQ(fenced_blocks("docs/install.md", "cmake").at(0), project_file("tests/installed/CMakeLists.txt"));
}

TEST(Package, HoldsTheProgramAndNamesWhatItNeeds) {
    for (const char* tool : {"cpack", "dpkg-deb", "dpkg-shlibdeps"})
        if (!has_program(tool)) GTEST_SKIP() << tool << " is missing: nothing is packed";
    const Workplace here;
    const std::string to = quoted(here.path("packages"));
    const ShellOutput packed =
        shell("cpack -G DEB -D CPACK_DEBIAN_COMPRESSION_TYPE=none --config '" HEDDLE_BUILD_DIR "/CPackConfig.cmake' -B " + to +
              " 2>&1");
    ASSERT_EQ(packed.status, 0) << packed.text;
    const std::string program = shell("dpkg-deb -c " + to + "/heddle_*.deb").text;
    EXPECT_THAT(program, AllOf(HasSubstr("./usr/bin/heddle\n"), HasSubstr("./usr/share/doc/heddle/copyright\n"),
                               HasSubstr("./usr/share/man/man1/heddle.1\n"),
                               HasSubstr("./usr/share/bash-completion/completions/heddle\n"), Not(HasSubstr("./usr/include/"))));
    EXPECT_THAT(shell("dpkg-deb -f " + to + "/heddle_*.deb Depends").text,
                AllOf(HasSubstr("libc6"), HasSubstr("libsentencepiece")));
    const std::string development = shell("dpkg-deb -c " + to + "/heddle-dev_*.deb").text;
    EXPECT_THAT(development, AllOf(HasSubstr("./usr/include/heddle/nn/transformer.h\n"),
                                   HasSubstr("./usr/include/heddle/heddle.h\n"), HasSubstr("/libheddle_nn.a\n"),
                                   HasSubstr("/cmake/heddle/heddleConfig.cmake\n"), Not(HasSubstr("bin/heddle"))));
    EXPECT_THAT(shell("dpkg-deb -f " + to + "/heddle-dev_*.deb Depends").text, HasSubstr("libfmt-dev"));
}

}  // namespace
}  // namespace heddle
