// tests/op_files.sh, which says what an op costs in files: gather keeps to the bar, and what breaks it is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ShellOutput op_files(const std::string& arguments) {
    return shell("bash '" HEDDLE_SOURCE_DIR "/tests/op_files.sh' " + arguments + " 2>&1");
}

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

// A tree with three ops.
void write_ops(const fs::path& root) {
    for (const std::string op : {"warp", "weft", "shed"}) {
        write(root / "kernels" / op / (op + ".h"), "");
        write(root / "autograd/ops" / (op + ".cpp"), "");
        write(root / "autograd/ops" / (op + "_cases.cpp"), "");
    }
}

TEST(OpFiles, GatherIsInFewFilesAndInNoList) {
    if (!has_program("python3")) GTEST_SKIP() << "python3 is missing";
    const ShellOutput found = op_files("gather");
    EXPECT_EQ(found.status, 0) << found.text;
    EXPECT_THAT(found.text, AllOf(HasSubstr("  autograd/ops/gather_cases.cpp\n"), HasSubstr("  kernels/gather/gather.cu\n")));
}

TEST(OpFiles, AListIsToldFromAUse) {
    if (!has_program("python3")) GTEST_SKIP() << "python3 is missing";
    const TemporaryFolder here;
    write_ops(here.path());
    const std::string root = " --root " + quoted(here.path().string());
    write(here / "nn/use.cpp", "#include \"kernels/warp/warp.h\"\n// warp, weft, shed\ny = ops::warp(ranks.warp(x), weft, 1);\n");
    const ShellOutput used = op_files("warp" + root);
    EXPECT_EQ(used.status, 0) << used.text;
    EXPECT_THAT(used.text, HasSubstr("warp: 3 files in 2 folders, in 0 lists"));
    write(here / "apps/list.cpp", "\nconst char* ops[] = {\"warp\",\n  \"weft\", \"shed\"};\n");
    write(here / "tests/list.sh", "ops=(weft shed warp)\n");
    const ShellOutput listed = op_files("warp" + root);
    EXPECT_EQ(listed.status, 1);
    EXPECT_THAT(listed.text, AllOf(HasSubstr("named in apps/list.cpp:2\n"), HasSubstr("named in tests/list.sh:1\n"),
                                   Not(HasSubstr("use.cpp"))));
}

TEST(OpFiles, TooManyFilesAreTooMany) {
    if (!has_program("python3")) GTEST_SKIP() << "python3 is missing";
    const TemporaryFolder here;
    write_ops(here.path());
    for (const char* more : {"a", "b", "c", "d", "e", "f"}) write(here / "kernels/warp" / (std::string(more) + ".cu"), "");
    const std::string root = " --root " + quoted(here.path().string());
    EXPECT_EQ(op_files("warp" + root).status, 0);
    write(here / "tests/kernels/warp_test.cpp", "");
    EXPECT_EQ(op_files("warp" + root).status, 1);
    EXPECT_EQ(op_files("swish" + root).status, 1);
}

}  // namespace
}  // namespace heddle
