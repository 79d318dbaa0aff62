// apps/demo.sh, with stubs for all programs that it calls: which device it chooses, and its messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* gpu_list = "echo 'GPU 0: NVIDIA H200 (UUID: GPU-1234)'";

class Demo : public testing::Test {
  protected:
    Demo() {
        for (const char* folder : {"apps", "bin", "toolkit/bin"}) std::filesystem::create_directories(here.path(folder));
        here.write("apps/demo.sh", project_file("apps/demo.sh"));
        here.write("apps/setup.sh", "");
        for (const char* tool : {"bash", "dirname", "date", "sed", "sort", "head", "paste", "awk", "mkdir", "cp", "cat", "chmod"})
            std::filesystem::create_symlink(path_of(tool), here.path("bin/") + tool);
        stand_in("bin/nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9");
        here.write("heddle",
                   "#!/bin/bash\necho \"$0 $*\" >>commands\n"
                   "if [ $1 = train ]; then mkdir run; echo one >run/test.en; echo eins >run/test.de; else echo eins; fi\n");
        use_cmake("3.25.1");
    }
    void stand_in(const std::string& name, const std::string& lines) const {
        here.write(name, "#!/bin/bash\n" + lines + "\n");
        std::filesystem::permissions(here.path(name), std::filesystem::perms::owner_all);
    }
    // A stub of cmake, which fails for the preset `broken`.
    void use_cmake(const std::string& version, const std::string& broken = "none") const {
        stand_in("bin/cmake", "case $1 in\n--version) echo cmake version " + version +
                                  ";;\n--preset) echo \"cmake $*\" >>commands; mkdir -p build/$2; [ $2 != " + broken +
                                  " ];;\n--build) cp heddle $2; chmod +x $2/heddle;;\nesac");
    }
    ShellOutput run() const {
        return shell("cd " + quoted(here.path("")) + " && PATH=" + quoted(here.path("bin")) +
                     " CUDA_HOME=" + quoted(here.path("toolkit")) + " bash apps/demo.sh run 2>&1");
    }

    const Workplace here;

  private:
    static std::string path_of(const std::string& tool) {
        const std::string path = shell("command -v " + tool).text;
        return path.substr(0, path.find('\n'));
    }
};

TEST_F(Demo, TakesTheCpuWhereNoGpuIs) {
    stand_in("bin/nvcc", "");
    const ShellOutput said = run();
    EXPECT_EQ(said.status, 0) << said.text;
    EXPECT_THAT(said.text, AllOf(HasSubstr("Device: cpu (no GPU found)\n"), HasSubstr("Translated exactly: 1 of 1 unseen")));
    EXPECT_THAT(here.read("commands"), AllOf(HasSubstr("cmake --preset release "), Not(HasSubstr("cuda")),
                                             HasSubstr("build/release/heddle train --task numbers --device cpu --out run")));
}

TEST_F(Demo, TakesTheGpuWithTheCompilerOnThePathOrInTheToolkit) {
    stand_in("bin/nvidia-smi", gpu_list);
    for (const std::string nvcc : {"toolkit/bin/nvcc", "bin/nvcc"}) {
        std::filesystem::remove_all(here.path("run"));
        std::filesystem::remove(here.path("commands"));
        stand_in(nvcc, "");
        const ShellOutput said = run();
        EXPECT_EQ(said.status, 0) << said.text;
        EXPECT_THAT(said.text, HasSubstr("Device: cuda (NVIDIA H200)\n"));
        EXPECT_THAT(here.read("commands"),
                    AllOf(HasSubstr("cmake --preset cuda "), HasSubstr("-DCMAKE_CUDA_COMPILER=" + here.path(nvcc)),
                          HasSubstr("-DCMAKE_CUDA_ARCHITECTURES=native"),
                          HasSubstr("build/cuda/heddle train --task numbers --device cuda --out run")));
        const std::string commands = here.read("commands");
        const std::size_t translated = commands.find("build/cuda/heddle translate --model run --device cuda");
        EXPECT_LT(translated, commands.find("cmake --preset release")) << "what the docs use, after there is something to see\n"
                                                                       << commands;
        EXPECT_TRUE(here.exists("build/release/heddle"));
    }
    use_cmake("3.22.1");
    std::filesystem::remove_all(here.path("run"));
    std::filesystem::remove(here.path("commands"));
    EXPECT_EQ(run().status, 0);
    EXPECT_THAT(here.read("commands"), AllOf(HasSubstr("cmake --preset cuda "), Not(HasSubstr("native"))));
}

TEST_F(Demo, SaysWhyAGpuIsNotTaken) {
    stand_in("bin/nvidia-smi", gpu_list);
    EXPECT_THAT(run().text, HasSubstr("Device: cpu (NVIDIA H200 found, but no nvcc to build for it)\n"));
    stand_in("bin/nvcc", "");
    use_cmake("3.25.1", "cuda");
    std::filesystem::remove_all(here.path("run"));
    const ShellOutput said = run();
    EXPECT_EQ(said.status, 0) << said.text;
    EXPECT_THAT(said.text, HasSubstr("Device: cpu (NVIDIA H200 found, but the build for it failed)\n"));
}

}  // namespace
}  // namespace heddle
