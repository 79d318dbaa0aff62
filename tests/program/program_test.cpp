// Help, version and advice of the program, where the scenarios cannot know the whole answer.
#include "tests/program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/cpu.h"
#include "core/safetensors.h"
#include "tests/documents.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Program, ShowsHelpOfEveryCommandOnStdout) {
    const Workplace here;
    for (const std::string& command : every_command()) {
        const ProgramResult result = here.run(command + " --help");
        EXPECT_EQ(here.run("help " + command).out, result.out);
        EXPECT_EQ(result.status, 0) << command;
        EXPECT_EQ(result.err, "") << command;
        EXPECT_THAT(result.out, StartsWith("heddle " + command + " - "));
        EXPECT_THAT(result.out, AllOf(HasSubstr("usage: heddle " + command), HasSubstr("--config FILE"))) << command;
    }
}

// Each end of the range that a vocabulary's size has, for each kind and side, is named in the error, and works.
TEST(Program, NamesAVocabularySizeThatWorks) {
    const Workplace here;
    std::string de, en;
    for (int i = 0; i < 60; ++i) {
        de += std::to_string(i * i) + " Hunde schlafen\n";
        en += std::to_string(i * i) + " dogs are asleep\n";
    }
    here.write("t.de", de);
    here.write("t.en", en);
    const std::string train =
        "train --train t --source de --target en --out RUN --overwrite --updates 1 --valid-sentences 0 --layers 1 --d-model 16 "
        "--heads 2 --d-ff 32 --vocab-type ";
    for (const std::string wrong : {"bpe --vocab-size 3000", "unigram --vocab-size 5",
                                    "unigram --shared-vocab false --target-vocab-size 30 --source-vocab-size 3000",
                                    "bpe --shared-vocab false --source-vocab-size 30 --target-vocab-size 5"}) {
        const ProgramResult refused = here.run(train + wrong);
        EXPECT_EQ(refused.status, 1);
        EXPECT_THAT(refused.err, HasSubstr(wrong.ends_with(" 5") ? "the smallest that works is " : "the largest that works is "));
        const std::string option = wrong.substr(0, wrong.rfind(' ') + 1), name = option.substr(option.rfind("--"));
        const std::size_t use = refused.err.find("; use " + name);
        ASSERT_NE(use, std::string::npos) << refused.err;
        const std::string works = refused.err.substr(use + 6 + name.size());
        EXPECT_EQ(here.run(train + option + works.substr(0, works.find('\n'))).status, 0) << refused.err;
    }
}

// Weights from another program have no options recorded, so every tensor is checked.
TEST(Program, SaysInOneLineThatWeightsDoNotFit) {
    const Workplace here;
    ASSERT_EQ(here.run("train --task copy --out RUN --updates 1 --valid-sentences 0 --layers 1 --d-model 32 --d-ff 64").status,
              0);
    const SafetensorsFile file(here.path("RUN/model.safetensors"));
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name));
    save_safetensors(here.path("RUN/model.safetensors"), tensors);
    std::string config = here.read("RUN/config.toml");
    here.write("RUN/config.toml", config.replace(config.find("d-ff = 64"), 9, "d-ff = 65"));
    const ProgramResult misshapen = here.run("translate --model RUN", "a b");
    expect_complaint(misshapen, 1, "wanted [65");
    EXPECT_THAT(misshapen.err, HasSubstr(" more"));
}

TEST(Program, AveragesTheWeightsOfSaves) {
    const Workplace here;
    ASSERT_EQ(
        here.run("train --task copy --out RUN --updates 6 --save-every 2 --keep 0 --valid-sentences 0 --layers 1 --d-model 16 "
                 "--d-ff 32 --tune-search false")
            .status,
        0);
    ASSERT_EQ(here.run("average RUN --last 3 --out mean.safetensors").status, 0);
    const SafetensorsFile mean(here.path("mean.safetensors"));
    const auto weights = [&](int update, const std::string& name) {
        return SafetensorsFile(here.path(fmt::format("RUN/saves/{}/model.safetensors", update))).load(name).to_vector();
    };
    for (const std::string& name : mean.names()) {
        const std::vector<double> found = mean.load(name).to_vector(), a = weights(2, name), b = weights(4, name),
                                  c = weights(6, name);
        for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_NEAR(found[i], (a[i] + b[i] + c[i]) / 3, 1e-6 * std::max(1.0, std::abs(found[i]))) << name;
    }
    EXPECT_NE(mean.load(mean.names().front()).to_vector(), weights(6, mean.names().front()));
}

// The version is stated in CMakeLists.txt only.
std::string project_version() {
    const std::string text = project_file("CMakeLists.txt"), before = "project(heddle VERSION ";
    const std::size_t begin = text.find(before) + before.size();
    return text.substr(begin, text.find_first_of(" \n)", begin) - begin);
}

TEST(Program, SaysWhatItComputesWith) {
    const Workplace here;
    const ProgramResult result = here.run("--version");
    EXPECT_EQ(result.status, 0);
    EXPECT_THAT(result.out, AllOf(StartsWith("heddle " + project_version() + "\n"), HasSubstr("\nproducts  own tile kernels, v"),
                                  HasSubstr("\nthreads   "), HasSubstr("\ndevices   cpu")));
    const bool checkout = std::filesystem::exists(HEDDLE_SOURCE_DIR "/.git") &&
                          std::system("git -C '" HEDDLE_SOURCE_DIR "' describe --always >/dev/null 2>&1") == 0;
    if (checkout)
        EXPECT_THAT(result.out, ContainsRegex("\ncommit    [0-9a-f]+(-dirty)?\n"));
    else
        EXPECT_THAT(result.out, testing::Not(HasSubstr("commit")));
}

TEST(Program, WarnsWhenTheProcessorCouldDoBetter) {
    const Workplace here;
    setenv("HEDDLE_CPU_LEVEL", "v2", 1);
    const ProgramResult low = here.run("--version");
    setenv("HEDDLE_CPU_LEVEL", "v9", 1);
    const ProgramResult unknown = here.run("--version");
    unsetenv("HEDDLE_CPU_LEVEL");
    EXPECT_THAT(low.out, HasSubstr(std::string(name(CpuLevel::v2))));
    if (here.run("--version").out.find("v2 (") == std::string::npos) {
        EXPECT_THAT(low.err, HasSubstr("warning"));
    }
    EXPECT_EQ(unknown.status, 1);
}

}  // namespace
}  // namespace heddle
