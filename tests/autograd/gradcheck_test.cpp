// Tests of the gradient check: planted mistakes are caught and named, correct gradients pass.
#include "autograd/gradcheck.h"

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "core/random.h"
#include "tests/autograd/proofs_support.h"
#include "tests/support.h"

namespace heddle {
namespace {

const Tensor kLogits = random_input({3, 5}, 1);
const Tensor kGamma = random_input({5}, 2);
const Tensor kSquare = random_input({4, 4}, 3);
const Tensor kRows = random_input({6, 4}, 4);

Variable softmax(std::span<const Variable> in) { return ops::softmax(in[0]); }
Variable product(std::span<const Variable> in) { return ops::matmul(in[0], in[1], false, true); }
Variable norm(std::span<const Variable> in) { return ops::layer_norm(in[0], in[1], Variable(Tensor::zeros({5}, DType::f64))); }
Variable masked_softmax(std::span<const Variable> in) {
    return ops::softmax(in[0], Tensor::from<std::uint8_t>({1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1}, {3, 5}));
}

// A mistake made in place in a copy of the gradient.
using Change = void (*)(std::span<double> gradient, std::span<const double> cotangent);
GradientFunction broken(const GradientFunction& function, std::size_t target, Change change) {
    return with_wrong_gradient(function, target, [change](const Tensor& gradient, const Tensor& cotangent) {
        Tensor changed = gradient.clone();
        change(changed.mutable_values<double>(), cotangent.values<double>());
        return changed;
    });
}

void flip_sign(std::span<double> g, std::span<const double>) {
    for (double& each : g) each = -each;
}
void take_1_01_times(std::span<double> g, std::span<const double>) {
    for (double& each : g) each *= 1.01;
}
void drop_the_last_row(std::span<double> g, std::span<const double>) {
    const std::size_t cols = g.size() == 15 ? 5 : g.size() / 2;
    std::fill(g.end() - static_cast<std::ptrdiff_t>(cols), g.end(), 0.0);
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

TEST(Gradcheck, ProvesCorrectVersions) {
    expect_proven(gradcheck(softmax, {kLogits}));
    expect_proven(gradcheck(masked_softmax, {kLogits}));
    expect_proven(gradcheck(product, {kRows, kSquare}));
    expect_proven(gradcheck(norm, {kLogits, kGamma}));
}

// ---- planted mistakes

// (x - mean) / sqrt(variance + eps) of kLogits.
std::vector<double> normalised() {
    const Variable x(kLogits), ones(Tensor::full({5}, 1, DType::f64));
    return norm(std::vector{x, ones}).value().to_vector();
}

TEST(Gradcheck, NamesPlantedMistakes) {
    struct Planted {
        GradientFunction function;
        std::vector<Tensor> inputs;
        std::size_t target;
        Change change;
        const char* cause;
    };
    const Planted all[] = {
        {softmax, {kLogits}, 0, flip_sign, "the sign is flipped"},
        {norm, {kLogits, kGamma}, 1, flip_sign, "the sign is flipped"},
        {softmax, {kLogits}, 0, take_1_01_times, "1.01 times the true gradient"},
        {norm, {kLogits, kGamma}, 0, take_1_01_times, "1.01 times the true gradient"},
        // Without the dot product of y and dy.
        {softmax,
         {kLogits},
         0,
         [](auto g, auto dy) {
             const std::vector<double> y = ops::softmax(Variable(kLogits)).value().to_vector();
             for (std::size_t i = 0; i < g.size(); ++i) g[i] = y[i] * dy[i];
         },
         "a term is dropped"},
        // Without the term through the variance, or the mean.
        {norm,
         {kLogits, kGamma},
         0,
         [](auto g, auto dy) {
             const std::vector<double> y = normalised();
             for (std::size_t i = 0; i < g.size(); ++i) g[i] += y[i] * dy[i / 5 * 5];
         },
         "a term is dropped"},
        {norm,
         {kLogits, kGamma},
         0,
         [](auto g, auto dy) {
             for (std::size_t i = 0; i < g.size(); ++i) g[i] += dy[i / 5 * 5];
         },
         "same along each row"},
        {masked_softmax,
         {kLogits},
         0,
         [](auto g, auto dy) {
             for (std::size_t i = 2; i < g.size(); i += 5) g[i] = 0.1 * dy[i];
         },
         "3 elements wrong"},
        {softmax, {kLogits}, 0, drop_the_last_row, "row 2 dropped"},
        {product,
         {kRows, kSquare},
         1,
         [](auto g, auto) {
             for (std::size_t i = 0; i < 4; ++i)
                 for (std::size_t j = 0; j < i; ++j) std::swap(g[4 * i + j], g[4 * j + i]);
         },
         "axes are transposed"},
        {product,
         {kRows, kSquare},
         1,
         [](auto g, auto dy) {
             for (std::size_t i = 0; i < g.size(); ++i) g[i] = dy[20 + i / 4] * kRows.to_vector()[20 + i % 4];
         },
         "only row 5 of the output [6, 4] contributes"},
        {norm,
         {kLogits, kGamma},
         1,
         [](auto g, auto dy) {
             for (std::size_t j = 0; j < g.size(); ++j) g[j] = dy[j] * normalised()[j];
         },
         "only row 0 of the output [3, 5] contributes"},
        {product,
         {kRows, kSquare},
         0,
         [](auto g, auto) { std::rotate(g.begin(), g.begin() + 4, g.end()); },
         "shifted by one row"},
        {softmax,
         {kLogits},
         0,
         [](auto g, auto) {
             static int run = 0;
             g[0] += 1e-15 * ++run;
         },
         "not deterministic"},
        {softmax, {kLogits}, 0, [](auto g, auto) { g[5] = std::nan(""); }, "wrong at [1, 0]"},
        {softmax, {kLogits}, 0, [](auto g, auto) { g[5] = std::nan(""); }, "a NaN or Inf in backward"},
        {softmax, {kLogits}, 0, [](auto g, auto) { g[0] += 1e-15; }, "a cotangent of zeros gives input 0 [3, 5] a gradient"},
        {[](auto in) { return ops::exp(in[0]); },
         {kLogits},
         0,
         [](auto g, auto dy) {
             for (std::size_t i = 0; i < g.size(); ++i) g[i] /= dy[i] == 0 ? 1 : dy[i];
         },
         "ignores the output's gradient"},
    };
    for (const Planted& one : all) {
        SCOPED_TRACE(one.cause);
        expect_caught(gradcheck(broken(one.function, one.target, one.change), one.inputs), one.cause);
    }
}

TEST(Gradcheck, CatchesAGradientWrongOnlyWhenItsInputAloneNeedsOne) {
    const auto alone = [](auto in) {
        return in[0].requires_grad() ? product(in) : broken(product, 1, [](auto g, auto) { g[0] *= 1.001; })(in);
    };
    expect_caught(gradcheck(alone, {kRows, kSquare}), "only these inputs need a gradient: 1");
}

TEST(Gradcheck, NamesAnInputThatGetsNothing) {
    const auto silent = [](auto in) {
        const Tensor y = softmax(in).value();
        return record(y, {.op = "silent", .where = Where::current(), .inputs = {in[0]}, .backward = [](Gradients&) {}});
    };
    expect_caught(gradcheck(silent, {kLogits}), "hands this input nothing");
}

// ---- why it is strict

TEST(Gradcheck, SeesWhatACotangentOfOnesWouldHide) {
    // Every row of a softmax sums to one, so under a cotangent of ones its gradient is zero, and so is 1.01 times or minus it.
    // That is why a gradient of zero must be declared.
    GradcheckOptions declared;
    declared.zero_by_symmetry = {0};
    for (const Change mistake : {flip_sign, take_1_01_times, drop_the_last_row}) {
        const auto wrong = broken(softmax, 0, mistake);
        const auto summed = [=](auto in) { return ops::sum(wrong(in)); };
        expect_caught(gradcheck(summed, {kLogits}), "every derivative by input 0 [3, 5] is zero");
        const GradcheckReport report = gradcheck(summed, {kLogits}, declared);
        EXPECT_TRUE(report.passed) << "the cotangent of ones should have hidden the mistake:\n" << report.message;
        EXPECT_FALSE(gradcheck(wrong, {kLogits}).passed);
    }
}

TEST(Gradcheck, ComparesEveryEntryOfASmallJacobian) {
    // 15 contracted derivatives and 15 x 15 single ones.
    EXPECT_EQ(gradcheck(softmax, {kLogits}).compared, 15 + 15 * 15);
    GradcheckOptions contracted_only;
    contracted_only.full_jacobian_up_to = 0;
    const auto report = gradcheck(softmax, {kLogits}, contracted_only);
    EXPECT_EQ(report.compared, 15);
    EXPECT_TRUE(report.passed) << report.message;
}

TEST(Gradcheck, ProbesAPartOfALargeInput) {
    GradcheckOptions options;
    options.elements_up_to = 10;
    const auto right = gradcheck(softmax, {random_input({40, 40}, 1)}, options);
    EXPECT_TRUE(right.passed) << right.message;
    EXPECT_EQ(right.compared, 10);
    const auto wrong = gradcheck(broken(softmax, 0, take_1_01_times), {random_input({40, 40}, 1)}, options);
    EXPECT_FALSE(wrong.passed);
}

TEST(Gradcheck, FindsAWrongElementBesideTheProbedOnesAlongARandomDirection) {
    GradcheckOptions options;
    options.elements_up_to = 1;
    options.seed = 6;
    const auto report = gradcheck(broken(softmax, 0, drop_the_last_row), {random_input({2, 400}, 1)}, options);
    expect_caught(report, "the derivative along a random direction is wrong");
}

TEST(Gradcheck, RefusesAnUndeclaredGradientOfAnInputDeclaredZero) {
    GradcheckOptions options;
    options.zero_by_symmetry = {0};
    expect_caught(gradcheck(softmax, {kLogits}, options), "declared zero by symmetry");
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
            return ops::softmax(x);
        };
    };
    GradcheckOptions options;
    options.zero_by_symmetry = {1};
    const std::vector<Tensor> inputs{kLogits, Tensor::full({}, 0.3, DType::f64)};
    const GradcheckReport right = gradcheck(shifted(0), inputs, options);
    EXPECT_TRUE(right.passed) << right.message;
    expect_caught(gradcheck(shifted(1e-6), inputs, options), "a term does not cancel");
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
            const Variable y = product(in);
            if (in[1].requires_grad()) return y;
            Tensor other = y.value().clone();
            other.template mutable_data<double>()[0] += 1e-15;
            return product(std::vector{Variable(other), in[1]});
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
            return ops::softmax(Variable(x));
        },
        {kLogits});
    expect_caught(report, "two fresh runs give different values");
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
            return ops::softmax(in[0]);
        },
        {kLogits});
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_EQ(drawn, expected);
    EXPECT_EQ(generator().next_key("dropout"), expected);
    EXPECT_EQ(tape_size(), nodes);
}

TEST(Gradcheck, WorksUnderNoGrad) {
    const NoGrad no_grad;
    EXPECT_TRUE(gradcheck(softmax, {kLogits}).passed);
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
    x.mutable_data<double>()[7] = 1e4;
    expect_caught(gradcheck([](auto in) { return ops::exp(in[0]); }, {x}), "a derivative needs finite values");
}

TEST(Gradcheck, ReportsWhatTheFunctionThrows) {
    const auto report = gradcheck([](auto) -> Variable { fail("my_op: x has shape [2]"); }, {kLogits});
    expect_caught(report, "my_op: x has shape [2]");
}

TEST(Gradcheck, NamesOpInputIndexAndBothNumbers) {
    const GradcheckReport report =
        gradcheck({.op = "norm", .what = "with gamma", .function = broken(norm, 1, flip_sign), .inputs = {kLogits, kGamma}});
    for (const char* part : {"norm (with gamma): mutant:", "the gradient of input 1 [5] is wrong at [", "backward ",
                             "central differences ", "5 of 5 derivatives", "every input requires its gradient"})
        EXPECT_NE(report.message.find(part), std::string::npos) << part << " is missing in\n" << report.message;
}

}  // namespace
}  // namespace heddle
