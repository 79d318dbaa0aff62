// Runs the programs of docs/examples and looks at what they print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "core/device.h"
#include "tests/documents.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string output_of(const std::string& name) {
    const ShellOutput output = shell(quoted(std::string(HEDDLE_EXAMPLES) + "/" + name) + " 2>&1");
    EXPECT_EQ(output.status, 0) << output.text;
    return output.text;
}

TEST(Examples, TheClassifierIsRightOnPointsItHasNotSeen) {
    const std::string text = output_of("classifier");
    const std::size_t last = text.rfind("epoch 30: ");
    ASSERT_NE(last, std::string::npos) << text;
    double loss = -1, accuracy = -1;
    ASSERT_EQ(std::sscanf(text.c_str() + last, "epoch 30: loss %lf, accuracy %lf", &loss, &accuracy), 2) << text;
    EXPECT_GT(accuracy, 0.95) << text;
    EXPECT_LT(loss, 0.5) << text;
}

TEST(Examples, TheCustomOpIsProvenOnEachDevice) {
    const std::string text = output_of("custom_op");
    EXPECT_THAT(text, AllOf(HasSubstr("[-100.   -1.    0.    1.  100.]"), HasSubstr("proven on the CPU\n")));
    if (device::available()) {
        EXPECT_THAT(text, HasSubstr("proven on " + device::description()));
    }
}

TEST(Examples, TheGPTKnowsItsTongueTwister) {
    EXPECT_THAT(
        output_of("gpt"),
        testing::StartsWith("Peter Piper picked a peck of pickled peppers.\nA peck of pickled peppers Peter Piper picked.\n"
                            "If Peter Piper picked a peck of pickled peppers,\n"
                            "where's the peck of pickled peppers Peter Piper picked?\n"));
}

TEST(Examples, MicrogptNamesAFileThatItCannotRead) {
    const ShellOutput output = shell(quoted(std::string(HEDDLE_EXAMPLES) + "/microgpt") + " /no/names.txt 2>&1");
    EXPECT_EQ(output.status, 1);
    EXPECT_EQ(output.text, "microgpt: /no/names.txt cannot be read, or has no lines\n");
}

// Each step has the loss and the gradients of the one before, to the rounding of its numbers.
TEST(Examples, TheStepsOfMicrogptHaveTheSameGradients) {
    const std::string text = output_of("microgpt");
    const std::vector<std::pair<const char*, double>> steps = {{"\na tape of numbers ", 1e-300},
                                                               {"\ntensors, op by op ", 1e-12},
                                                               {"\nfused ops, f64 ", 1e-12},
                                                               {"\nfused ops, f32 ", 1e-6}};
    const auto check = [&](const std::string& step, double allowed) {
        const std::size_t at = text.find(step);
        ASSERT_NE(at, std::string::npos) << text;
        double loss = 0, difference = 1, microseconds = 0;
        ASSERT_EQ(std::sscanf(text.c_str() + text.find("  ", at), "%lf %lf %lf", &loss, &difference, &microseconds), 3) << text;
        EXPECT_NEAR(loss, 3.3, 0.1) << step;  // ln 27
        EXPECT_LE(difference, allowed) << step << text;
        EXPECT_GT(microseconds, 0) << step;
    };
    for (const auto& [step, allowed] : steps) check(step, allowed);
    if (device::available()) check("\nCUDA kernels, f64", 1e-12);
}

TEST(Examples, TheAutoencoderPacksAndUnpacksABar) {
    const std::string text = output_of("vae");
    const std::size_t last = text.rfind("updates up to 1500: ");
    ASSERT_NE(last, std::string::npos) << text;
    double nats = 0;
    ASSERT_EQ(std::sscanf(text.c_str() + last, "updates up to 1500: %lf nats", &nats), 1) << text;
    EXPECT_GT(nats, 2.485) << text;  // no code is shorter
    EXPECT_LT(nats, 5) << text;
    EXPECT_THAT(text, HasSubstr("unpacked\n######\n......\n......\n......\n......\n......\n"));
}

TEST(Examples, TheTranslatorReadsNumbersItHasNotSeen) {
    const std::string text = output_of("translation");
    EXPECT_THAT(text, AllOf(HasSubstr("28: acht und zwanzig\n"), HasSubstr("63: drei und sechzig\n"),
                            HasSubstr("91: ein und neunzig\n")));
}

TEST(Examples, TheForeignGradientIsProvenAndTheWrongOneRefuted) {
    EXPECT_THAT(output_of("gradient_check"),
                AllOf(HasSubstr("\nwrong_slope: function: the gradient of input 0 [6] is wrong at [0]"),
                      Not(HasSubstr("wrong_slope: proven")), testing::StartsWith("huber_slope: proven, ")));
}

// A program that no test above runs would go unnoticed.
TEST(Examples, AreAllRunHere) {
    std::set<std::string> sources;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(HEDDLE_SOURCE_DIR) + "/docs/examples"))
        if (entry.path().extension() == ".cpp") sources.insert(entry.path().stem().string());
    const std::string test = project_file("tests/heddle/examples_test.cpp");
    for (const std::string& name : sources) EXPECT_THAT(test, HasSubstr("output_of(\"" + name + "\")"));
    EXPECT_EQ(sources.size(), 7u);
}

}  // namespace
}  // namespace heddle
