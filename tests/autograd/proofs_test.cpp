// Every op's gradient is proven: one test for each case, named after it.
#include "autograd/cases/op_cases.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/autograd/proofs_support.h"

namespace heddle {
namespace {

class Gradient : public testing::TestWithParam<std::size_t> {};

TEST_P(Gradient, IsProvenFor) {
    const GradcheckReport report = gradcheck(all_cases()[GetParam()]);
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_GT(report.compared, 0) << "the case compares nothing";
    EXPECT_LE(report.resolution, 5e-9) << "a larger error of backward could pass";
}

INSTANTIATE_TEST_SUITE_P(Op, Gradient, testing::Range<std::size_t>(0, all_cases().size()), case_name);

// The names of the functions that autograd/ops.h declares.
std::set<std::string> declared_ops() {
    std::ifstream file(std::string(HEDDLE_SOURCE_DIR) + "/autograd/ops.h");
    EXPECT_TRUE(file.good());
    std::set<std::string> names;
    for (std::string line; std::getline(file, line);)
        for (const std::string result : {"Variable ", "std::vector<Variable> ", "ResidualNorm "})
            if (line.starts_with(result)) names.insert(line.substr(result.size(), line.find('(') - result.size()));
    return names;
}

// The ops that a case records on the tape.
std::set<std::string> recorded_ops(const GradientCase& one) {
    const FreshTape fresh;
    std::vector<Variable> leaves;
    for (const Tensor& input : one.inputs) leaves.emplace_back(input, true);
    const Variable output = one.function(leaves);
    std::set<std::string> names;
    for (const SavedMemory& entry : saved_memory()) names.insert(entry.op);
    return names;
}

TEST(Proofs, CoverEveryOpThatIsDeclared) {
    const std::set<std::string> declared = declared_ops();
    EXPECT_GE(declared.size(), 81u) << "the declarations were not found";
    const std::set<std::string> made_of_others = {
        "var",       "stddev",   "norm",        "logsumexp", "index_select", "transpose",  "flatten",           "squeeze",
        "unsqueeze", "stack",    "split",       "unbind",    "chunk",        "repeat",     "repeat_interleave", "roll",
        "tril",      "triu",     "masked_fill", "mse_loss",  "l1_loss",      "huber_loss", "smooth_l1_loss",    "bce_with_logits",
        "bce_loss",  "nll_loss", "kl_div"};
    std::set<std::string> proven;
    std::set<std::string> recorded;
    for (const GradientCase& one : all_cases()) {
        proven.insert(one.op);
        recorded.merge(recorded_ops(one));
    }
    for (const std::string& op : declared) {
        if (op == "activated") continue;  // calls relu, gelu or silu
        if (op == "to") continue;         // differences see the steps of a rounding, not its slope (tests/heddle/forms_test.cpp)
        EXPECT_TRUE(proven.contains(op)) << op << " of autograd/ops.h has no gradient case";
        if (!made_of_others.contains(op)) {
            EXPECT_TRUE(recorded.contains(op)) << op << ": no case puts an op of this name on the tape";
        }
    }
}

TEST(Proofs, SayWhatTheyProveEachInItsOwnWords) {
    std::set<std::string> seen;
    for (const GradientCase& one : all_cases()) {
        EXPECT_FALSE(one.what.empty()) << one.op;
        EXPECT_TRUE(seen.insert(one.op + ": " + one.what).second) << one.op << ": '" << one.what << "' stands there twice";
    }
}

TEST(Proofs, HoldTheStandardTolerance) {
    for (const GradientCase& one : all_cases()) {
        EXPECT_LE(one.options.tolerance, 1e-8) << one.op << ", " << one.what;
        EXPECT_LE(one.options.floor, 1e-2) << one.op << ", " << one.what;
    }
}

TEST(Proofs, GiveTheSameCasesEachTime) {
    const std::vector<GradientCase> again = gradient_cases();
    ASSERT_EQ(again.size(), all_cases().size());
    for (std::size_t i = 0; i < again.size(); ++i)
        for (std::size_t input = 0; input < again[i].inputs.size(); ++input)
            EXPECT_EQ(again[i].inputs[input].to_vector(), all_cases()[i].inputs[input].to_vector())
                << again[i].op << ", " << again[i].what;
}

TEST(AwayFromZero, KeepsSignsAndAMargin) {
    const Tensor x = Tensor::from(std::vector<double>{-0.01, 0, 0.02, -3, 4}, {5});
    EXPECT_EQ(away_from_zero(x, 0.5).to_vector(), (std::vector<double>{-0.51, 0.5, 0.52, -3.5, 4.5}));
    EXPECT_EQ(x.to_vector()[0], -0.01);
}

}  // namespace
}  // namespace heddle
