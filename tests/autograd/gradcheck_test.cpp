// Tests of the gradient check: planted mistakes are caught and named, correct gradients pass.
#include "autograd/gradcheck.h"

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "core/random.h"
#include "tests/autograd/faulty_ops.h"
#include "tests/support.h"

namespace heddle {
namespace {

using faulty::Mistake;

const Tensor kLogits = random_input({3, 5}, 1);
const Tensor kGamma = random_input({5}, 2);
const Tensor kSquare = random_input({4, 4}, 3);
const Tensor kRows = random_input({6, 4}, 4);

GradcheckReport check_softmax(Mistake mistake, std::int64_t masked = -1) {
    return gradcheck([=](auto in) { return faulty::softmax(in[0], mistake, masked); }, {kLogits});
}

GradcheckReport check_product(Mistake mistake) {
    return gradcheck([=](auto in) { return faulty::product(in[0], in[1], mistake); }, {kRows, kSquare});
}

GradcheckReport check_layer_norm(Mistake mistake) {
    return gradcheck([=](auto in) { return faulty::layer_norm(in[0], in[1], mistake); }, {kLogits, kGamma});
}

void expect_caught(const GradcheckReport& report, const std::string& cause) {
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find(cause), std::string::npos) << "the message does not say '" << cause << "':\n" << report.message;
}

void expect_proven(const GradcheckReport& report) {
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_LT(report.worst, 1e-9);
    EXPECT_EQ(report.message, "");
}

// ---- correct versions

TEST(Gradcheck, ProvesSoftmax) { expect_proven(check_softmax(Mistake::none)); }
TEST(Gradcheck, ProvesMaskedSoftmax) { expect_proven(check_softmax(Mistake::none, 2)); }
TEST(Gradcheck, ProvesAProduct) { expect_proven(check_product(Mistake::none)); }
TEST(Gradcheck, ProvesLayerNorm) { expect_proven(check_layer_norm(Mistake::none)); }

// ---- planted mistakes

TEST(Gradcheck, NamesAFlippedSign) {
    expect_caught(check_softmax(Mistake::sign_flipped), "the sign is flipped");
    expect_caught(check_layer_norm(Mistake::sign_flipped), "the sign is flipped");
}
TEST(Gradcheck, NamesAConstantFactor) {
    expect_caught(check_softmax(Mistake::factor), "1.01 times the true gradient");
    expect_caught(check_layer_norm(Mistake::factor), "1.01 times the true gradient");
}
TEST(Gradcheck, CatchesSoftmaxWithoutItsDotProduct) { expect_caught(check_softmax(Mistake::dropped_term), "a term is dropped"); }
TEST(Gradcheck, CatchesLayerNormWithoutTheTermThroughTheVariance) {
    expect_caught(check_layer_norm(Mistake::dropped_term), "a term is dropped");
}
TEST(Gradcheck, NamesATermThatIsTheSameAlongARow) {
    expect_caught(check_layer_norm(Mistake::dropped_mean), "same along each row");
}
TEST(Gradcheck, CatchesADroppedMask) { expect_caught(check_softmax(Mistake::dropped_mask, 2), "3 elements wrong"); }
TEST(Gradcheck, NamesADroppedRow) { expect_caught(check_softmax(Mistake::dropped_row), "row 2 dropped"); }
TEST(Gradcheck, NamesATransposedGradient) { expect_caught(check_product(Mistake::transposed), "axes are transposed"); }
TEST(Gradcheck, NamesAMissingSumOverTheBatch) {
    expect_caught(check_product(Mistake::missing_batch_sum), "only row 5 of the output [6, 4] contributes");
    expect_caught(check_layer_norm(Mistake::missing_batch_sum), "only row 0 of the output [3, 5] contributes");
}
TEST(Gradcheck, CatchesAnOperandReadOneRowOff) {
    expect_caught(check_product(Mistake::shifted), "the gradient of input 0 [6, 4]");
}
TEST(Gradcheck, CatchesAGradientWrongOnlyWhenItsInputAloneNeedsOne) {
    expect_caught(check_product(Mistake::wrong_alone), "only these inputs need a gradient: 1");
}
TEST(Gradcheck, CatchesABackwardThatIsNotDeterministic) {
    expect_caught(check_softmax(Mistake::not_deterministic), "not deterministic");
}
TEST(Gradcheck, CatchesANaN) {
    const GradcheckReport report = check_softmax(Mistake::not_a_number);
    expect_caught(report, "a NaN or Inf in backward");
    EXPECT_NE(report.message.find("wrong at [1, 0]"), std::string::npos) << report.message;
    EXPECT_TRUE(std::isnan(report.worst));
}
TEST(Gradcheck, CatchesAGradientThatIsNotZeroForAZeroCotangent) {
    expect_caught(check_softmax(Mistake::not_zero_for_zero), "a cotangent of zeros gives input 0 [3, 5] a gradient");
}
TEST(Gradcheck, NamesABackwardThatIgnoresTheOutputsGradient) {
    // The true softmax gradient for a cotangent of ones is zero, so ignoring the cotangent would look correct; the product shows
    // the mistake.
    EXPECT_FALSE(check_softmax(Mistake::ignores_cotangent).passed);
    const GradcheckReport report = gradcheck(
        [](auto in) {
            Tensor y = in[0].value().clone();
            for (double& value : y.template mutable_values<double>()) value = std::exp(value);
            return record(y,
                          {.op = "exp", .where = Where::current(), .inputs = {in[0]}, .saved = {y}, .backward = [](Gradients& g) {
                               g.give(0, g.saved(0).clone());
                           }});
        },
        {kLogits});
    expect_caught(report, "ignores the output's gradient");
}
TEST(Gradcheck, NamesAnInputThatGetsNothing) { expect_caught(check_softmax(Mistake::nothing), "hands this input nothing"); }
TEST(Gradcheck, CatchesABackwardThatOverwritesWhatItSaved) {
    expect_caught(check_softmax(Mistake::consumes_saved), "changes or consumes what it saved");
}

// ---- why it is strict

TEST(Gradcheck, SeesWhatACotangentOfOnesWouldHide) {
    // Every row of a softmax sums to one, so under a cotangent of ones its gradient is zero, and so is 1.01 times or minus it.
    // That is why a gradient of zero must be declared.
    GradcheckOptions declared;
    declared.zero_by_symmetry = {0};
    for (const Mistake mistake : {Mistake::sign_flipped, Mistake::factor, Mistake::dropped_row}) {
        const auto summed = [=](auto in) { return faulty::sum(faulty::softmax(in[0], mistake)); };
        expect_caught(gradcheck(summed, {kLogits}), "every derivative by input 0 [3, 5] is zero");
        const GradcheckReport report = gradcheck(summed, {kLogits}, declared);
        EXPECT_TRUE(report.passed) << "the cotangent of ones should have hidden the mistake:\n" << report.message;
        EXPECT_FALSE(check_softmax(mistake).passed);
    }
}

TEST(Gradcheck, ComparesEveryEntryOfASmallJacobian) {
    // 15 contracted derivatives and 15 x 15 single ones.
    EXPECT_EQ(check_softmax(Mistake::none).compared, 15 + 15 * 15);
    GradcheckOptions contracted_only;
    contracted_only.full_jacobian_up_to = 0;
    const auto report = gradcheck([](auto in) { return faulty::softmax(in[0]); }, {kLogits}, contracted_only);
    EXPECT_EQ(report.compared, 15);
    EXPECT_TRUE(report.passed) << report.message;
}

TEST(Gradcheck, ProbesAPartOfALargeInput) {
    GradcheckOptions options;
    options.elements_up_to = 10;
    const auto right = gradcheck([](auto in) { return faulty::softmax(in[0]); }, {random_input({40, 40}, 1)}, options);
    EXPECT_TRUE(right.passed) << right.message;
    EXPECT_EQ(right.compared, 10);
    const auto wrong =
        gradcheck([](auto in) { return faulty::softmax(in[0], Mistake::factor); }, {random_input({40, 40}, 1)}, options);
    EXPECT_FALSE(wrong.passed);
}

TEST(Gradcheck, FindsAWrongElementBesideTheProbedOnesAlongARandomDirection) {
    GradcheckOptions options;
    options.elements_up_to = 1;
    options.seed = 6;
    const auto report =
        gradcheck([](auto in) { return faulty::softmax(in[0], Mistake::dropped_row); }, {random_input({2, 400}, 1)}, options);
    expect_caught(report, "the derivative along a random direction is wrong");
}

TEST(Gradcheck, RefusesAnUndeclaredGradientOfAnInputDeclaredZero) {
    GradcheckOptions options;
    options.zero_by_symmetry = {0};
    expect_caught(gradcheck([](auto in) { return faulty::softmax(in[0]); }, {kLogits}, options), "declared zero by symmetry");
}

TEST(Gradcheck, AcceptsAnInputThatIsZeroBySymmetryWhenDeclared) {
    // Adding a constant to all logits does not change the softmax.
    const auto shifted = [](double noise) {
        return [noise](std::span<const Variable> in) {
            Tensor sums = in[0].value().clone();
            for (std::int64_t i = 0; i < sums.numel(); ++i) sums.mutable_data<double>()[i] += in[1].value().item();
            const Variable x = record(
                sums, {.op = "shift", .where = Where::current(), .inputs = {in[0], in[1]}, .backward = [noise](Gradients& g) {
                           double total = 0;
                           for (const double d : g.output().values<double>()) total += d;
                           g.give(1, Tensor::full({}, total + noise * g.output().data<double>()[0], DType::f64));
                           g.give(0, g.output());
                       }});
            return faulty::softmax(x);
        };
    };
    GradcheckOptions options;
    options.zero_by_symmetry = {1};
    const std::vector<Tensor> inputs{kLogits, Tensor::full({}, 0.3, DType::f64)};
    const GradcheckReport right = gradcheck(shifted(0), inputs, options);
    EXPECT_TRUE(right.passed) << right.message;
    expect_caught(gradcheck(shifted(1e-6), inputs, options), "a term does not cancel");
}

TEST(Gradcheck, TellsAKinkFromAWrongGradient) {
    const auto absolute = [](auto in) { return faulty::absolute(in[0]); };
    Tensor x = random_input({8}, 1);
    x.mutable_data<double>()[3] = 0;
    expect_caught(gradcheck(absolute, {x}), "a kink or jump within a step of this input");
    EXPECT_TRUE(gradcheck(absolute, {away_from_zero(x)}).passed);
}

TEST(Gradcheck, TriesEveryCombinationOfUpToFourInputsAndEachAloneAbove) {
    for (const std::size_t count : {3, 4, 5, 6}) {
        std::vector<std::string> seen;
        const auto sum = [&](std::span<const Variable> in) {
            Tensor y = Tensor::zeros({2}, DType::f64);
            std::string needs;
            for (const Variable& variable : in) {
                needs += variable.requires_grad() ? '1' : '0';
                for (int i = 0; i < 2; ++i) y.mutable_data<double>()[i] += variable.value().data<double>()[i];
            }
            seen.push_back(needs);
            return record(
                y, {.op = "sum", .where = Where::current(), .inputs = {in.begin(), in.end()}, .backward = [count](Gradients& g) {
                        for (std::size_t i = 0; i < count; ++i) g.give(static_cast<int>(i), g.output());
                    }});
        };
        EXPECT_TRUE(gradcheck(sum, std::vector<Tensor>(count, random_input({2}, 1))).passed);
        std::sort(seen.begin(), seen.end());
        seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
        EXPECT_EQ(seen.size(), count <= 4 ? std::size_t{1} << count : count + 2) << count << " inputs";
    }
}

TEST(Gradcheck, CatchesAValueThatDependsOnWhichGradientsAreWanted) {
    const auto report = gradcheck(
        [](auto in) {
            const Variable y = faulty::product(in[0], in[1]);
            if (in[1].requires_grad()) return y;
            Tensor other = y.value().clone();
            other.template mutable_data<double>()[0] += 1e-15;
            return faulty::product(Variable(other), in[1]);
        },
        {kSquare, kSquare});
    expect_caught(report, "the value itself changes when");
}

TEST(Gradcheck, CatchesAValueThatChangesFromRunToRun) {
    int calls = 0;
    const auto report = gradcheck(
        [&](auto in) {
            Tensor x = in[0].value().clone();
            x.template mutable_data<double>()[0] += 1e-9 * ++calls;
            return faulty::softmax(Variable(x));
        },
        {kLogits});
    expect_caught(report, "two fresh runs give different values");
}

TEST(Gradcheck, CatchesAnOpThatChangesItsInput) {
    const auto report = gradcheck(
        [](auto in) {
            Tensor x = in[0].value();
            x.template mutable_data<double>()[0] = 1;
            return faulty::softmax(in[0]);
        },
        {kLogits});
    EXPECT_FALSE(report.passed);
    EXPECT_NE(kLogits.data<double>()[0], 1) << "the caller's tensor was changed";
}

TEST(Gradcheck, LeavesTheCallersTapeAndRandomStateAlone) {
    generator().start(3, 4);
    const std::uint64_t expected = Generator(generator()).next_key("dropout");
    const std::int64_t nodes = tape_size();
    std::uint64_t drawn = 0;
    const auto report = gradcheck(
        [&](auto in) {
            const std::uint64_t key = generator().next_key("dropout");
            EXPECT_TRUE(drawn == 0 || drawn == key) << "each call must draw the same keys";
            drawn = key;
            return faulty::softmax(in[0]);
        },
        {kLogits});
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_EQ(drawn, expected);
    EXPECT_EQ(generator().next_key("dropout"), expected);
    EXPECT_EQ(tape_size(), nodes);
}

TEST(Gradcheck, WorksUnderNoGrad) {
    const NoGrad no_grad;
    EXPECT_TRUE(check_softmax(Mistake::none).passed);
}

// Only one row of 200 has a gradient: random probes alone would miss it for most seeds.
TEST(Gradcheck, ProvesAGradientOfOneRowOfALargeInput) {
    const auto row = [](auto in) { return ops::mul(ops::slice(in[0], 0, 70, 71), ops::slice(in[0], 0, 70, 71)); };
    GradcheckOptions options;
    options.elements_up_to = 4;
    for (options.seed = 1; options.seed <= 5; ++options.seed) {
        const auto report = gradcheck(row, {random_input({200, 2}, 3)}, options);
        EXPECT_TRUE(report.passed) << report.message;
    }
}

TEST(Gradcheck, RefusesEmptyInputs) {
    const auto report = gradcheck([](auto in) { return faulty::softmax(in[0]); }, {Tensor::zeros({0, 4}, DType::f64)});
    expect_caught(report, "has no elements, so nothing can be proven");
    EXPECT_EQ(report.compared, 0);
}

TEST(Gradcheck, RefusesInputsThatAreNotF64) {
    expect_caught(gradcheck([](auto in) { return in[0]; }, {Tensor::zeros({2}, DType::f32)}),
                  "gradcheck: input 0 is f32, wanted f64; convert it with to(DType::f64)");
    expect_caught(gradcheck([](auto in) { return in[0]; }, {Tensor()}), "input 0 is undefined");
    GradcheckOptions options;
    options.zero_by_symmetry = {1};
    expect_caught(gradcheck([](auto in) { return in[0]; }, {kLogits}, options),
                  "input 1 is declared zero by symmetry, but there are 1");
}

TEST(Gradcheck, RefusesAnOutputThatIsNotFinite) {
    Tensor x = kLogits.clone();
    x.mutable_data<double>()[7] = 1e4;  // exp overflows to inf, and inf / inf is NaN
    expect_caught(gradcheck([](auto in) { return faulty::softmax(in[0]); }, {x}), "a derivative needs finite values");
}

TEST(Gradcheck, ReportsWhatTheFunctionThrows) {
    const auto report = gradcheck([](auto) -> Variable { fail("my_op: x has shape [2]"); }, {kLogits});
    expect_caught(report, "my_op: x has shape [2]");
}

TEST(Gradcheck, NamesOpInputIndexAndBothNumbers) {
    const GradcheckReport report =
        gradcheck({.op = "norm",
                   .what = "with gamma",
                   .function = [](auto in) { return faulty::layer_norm(in[0], in[1], Mistake::sign_flipped); },
                   .inputs = {kLogits, kGamma}});
    for (const char* part : {"norm (with gamma): faulty_layer_norm:", "the gradient of input 1 [5] is wrong at [", "backward ",
                             "central differences ", "5 of 5 derivatives", "every input requires its gradient"})
        EXPECT_NE(report.message.find(part), std::string::npos) << part << " is missing in\n" << report.message;
}

}  // namespace
}  // namespace heddle
