// The op that docs/add-an-op.md adds, compiled from docs/examples/swish, proven and compared on every device. tests/add_an_op.sh
// adds it to a copy of the project and runs the tests of every op.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "autograd/cases/op_cases.h"
#include "autograd/exact_check.h"
#include "heddle/heddle.h"
#include "kernels/swish/swish.h"
#include "tests/devices.h"
#include "tests/documents.h"
#include "tests/support.h"

namespace heddle {
namespace swish_cases {
OpCases table();  // as the generated list of all tables declares it
}
namespace {

// A typical mistake: each row overwrites beta's gradient instead of adding to it.
Variable forgetful_swish(const Variable& x, const Variable& beta) {
    Tensor y = kernels::swish_forward(x.value(), beta.value());
    return record(y, {.op = "swish",
                      .where = Where::current(),
                      .inputs = {x, beta},
                      .saved = {x.value(), beta.value()},
                      .backward = [](Gradients& g) {
                          Tensor dbeta = Tensor::zeros(g.saved(1).shape(), g.saved(1).dtype());
                          Tensor dx = Tensor::empty(g.saved(0).shape(), g.saved(0).dtype());
                          const std::int64_t rows = dx.rows();
                          for (std::int64_t i = 0; i < rows; ++i) {
                              dbeta.fill_(0);
                              const Tensor row = kernels::swish_backward(g.output().slice(i, i + 1), g.saved(0).slice(i, i + 1),
                                                                         g.saved(1), dbeta);
                              dx.slice(i, i + 1).copy_(row);
                          }
                          g.give(0, dx);
                          g.give(1, dbeta);
                      }});
}

TEST(AddAnOp, ThePageShowsPartsOfTheExample) {
    std::string code = without_layout(project_file("tests/autograd/add_an_op_test.cpp"));
    for (const char* file : {"kernels/swish/swish.cpp", "autograd/ops/swish.cpp", "autograd/ops/swish_cases.cpp"})
        code += without_layout(project_file(std::string("docs/examples/swish/") + file));
    const std::vector<std::string> blocks = fenced_blocks("docs/add-an-op.md", "cpp");
    EXPECT_GE(blocks.size(), 4u);
    for (const std::string& block : blocks) EXPECT_NE(code.find(without_layout(block)), std::string::npos) << block;
}

TEST(AddAnOp, TheExampleIsSmall) {
    std::size_t files = 0, edits = 0, lines = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(HEDDLE_SOURCE_DIR "/docs/examples/swish"))
        if (entry.is_regular_file()) {
            std::ifstream file(entry.path());
            const bool patch = entry.path().extension() == ".patch";
            files += !patch;
            for (std::string line; std::getline(file, line);) {
                edits += patch && line.starts_with("@@");
                lines += !patch || (line.starts_with('+') && !line.starts_with("+++"));
            }
        }
    EXPECT_LE(files, 6u);
    EXPECT_LE(edits, 1u);
    EXPECT_LE(lines, 300u);
}

TEST(AddAnOp, TheDeclarationOfTheExampleFitsTheProject) {
    if (std::system("git --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "git is not installed";
    EXPECT_EQ(std::system("cd '" HEDDLE_SOURCE_DIR "' && git apply --check docs/examples/swish/declaration.patch"), 0)
        << "make the patch again: tests/add_an_op.sh says how";
}

TEST(AddAnOp, TheExampleIsProvenOnEveryDevice) {
    for (const Device device : all_devices())
        for (GradientCase one : swish_cases::table().proofs()) {
            one.options.device = device;
            const GradcheckReport report = gradcheck(one);
            EXPECT_TRUE(report.passed) << name(device) << ": " << report.message;
            const ExactReport exact = exact_check(one);
            EXPECT_TRUE(exact.passed) << name(device) << ": " << exact.message;
        }
}

// Every device, in f32 and f64, compared with the f64 reference.
TEST(AddAnOp, TheExampleFollowsItsReferenceOnEveryDevice) {
    for (const cases::KernelCase& one : swish_cases::table().kernels()) {
        const cases::Tensors want = one.run(cases::clones(one.inputs));
        for (const Numbers& numbers : all_numbers()) {
            if (numbers.dtype == DType::bf16) continue;
            cases::Tensors inputs;
            for (const Tensor& input : one.inputs) inputs.push_back(in(numbers, input).clone());
            const cases::Tensors got = one.run(inputs);
            ASSERT_EQ(got.size(), want.size());
            for (std::size_t i = 0; i < got.size(); ++i)
                expect_close(got[i], want[i], numbers, one.what, {.f64 = 1e-13, .f32 = 1e-5});
        }
    }
}

TEST(AddAnOp, TheOpIsAFunctionOfHeddle) {
    const Variable x(random_input({4, 3}, 1), true), beta(random_input({3}, 2), true);
    backward(heddle::swish(x, beta), Tensor::full({4, 3}, 1, DType::f64));
    EXPECT_TRUE(beta.grad().defined());
    EXPECT_TRUE(same_bits(heddle::swish(x, beta).value(), ops::swish(x, beta).value()));
}

TEST(AddAnOp, TheProofOfThePagePasses) {
    const Tensor x = random_input({4, 3}, 1);
    const Tensor beta = random_input({3}, 2);
    const auto report = gradcheck([](auto in) { return ops::swish(in[0], in[1]); }, {x, beta});
    EXPECT_TRUE(report.passed) << report.message;
}

TEST(AddAnOp, TheMistakeOfThePageIsExplainedAsThePageSays) {
    const Tensor x = random_input({4, 3}, 1);
    const Tensor beta = random_input({3}, 2);
    const auto report = gradcheck([](auto in) { return forgetful_swish(in[0], in[1]); }, {x, beta});
    EXPECT_FALSE(report.passed);
    // The allowed errors come from measured rounding errors, which differ between processors.
    const auto without_allowed = [](const std::string& text) {
        return std::regex_replace(text, std::regex("allowed [^)]*"), "");
    };
    EXPECT_EQ(without_allowed(report.message + "\n"), without_allowed(fenced_blocks("docs/add-an-op.md", "text").at(0)));
}

TEST(AddAnOp, TheErrorOfThePageIsWhatAWrongShapeGives) {
    EXPECT_EQ(error_of([] {
                  ops::swish(Variable(random_input({4, 3}, 1)), Variable(random_input({4}, 2)));
              }) + "\n",
              fenced_blocks("docs/add-an-op.md", "text").at(1));
}

}  // namespace
}  // namespace heddle
