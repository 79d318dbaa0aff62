// PyTorch computes random configurations of every op and random graphs again; without PyTorch the test is skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/shell.h"

namespace heddle {
namespace {

const std::string kScript = HEDDLE_SOURCE_DIR "/tests/cross_check/torch_cross_check.py";

TEST(TorchWitness, AgreesWithEveryOpAndWithWholeGraphs) {
    HEDDLE_NEEDS_PYTHON_WITH("torch");
    const ShellOutput output = shell(fmt::format("{} -B {} {} --count 4 --graphs 40 --torch-graphs 40 --seed 7 2>&1",
                                                 quoted(python()), quoted(kScript), quoted(HEDDLE_CROSS_CHECK)));
    EXPECT_EQ(output.status, 0) << output.text;
    EXPECT_NE(output.text.find("linear_cross_entropy"), std::string::npos) << output.text;
    EXPECT_NE(output.text.find("40 graphs, "), std::string::npos) << output.text;
}

TEST(TorchWitness, WithoutPyTorchItIsSkippedAndSaysSo) {
    if (!has_program("python3")) GTEST_SKIP() << "there is no python3";
    // -S leaves out site-packages, -I the environment.
    const ShellOutput output = shell("python3 -B -I -S " + quoted(kScript) + " " + quoted(HEDDLE_CROSS_CHECK) + " 2>&1");
    EXPECT_EQ(output.status, 77) << output.text;
    EXPECT_NE(output.text.find("skipped"), std::string::npos) << output.text;
}

}  // namespace
}  // namespace heddle
