// Backward in f32 and bf16, through the tape: every case at each CPU level and on every device, against f64.
#include <gtest/gtest.h>

#include <filesystem>

#include "autograd/ops.h"
#include "core/cpu.h"
#include "tests/autograd/proofs_support.h"
#include "tests/devices.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {
namespace {

// Checks all cases with these numbers; records the largest error, in units of rounding, in the test's output.
void expect_all_close(const Numbers& numbers) {
    double worst = 0;
    for (GradientCase one : all_cases()) {
        one.options.device = numbers.device;
        const GradcheckReport report = gradcheck_rounded(one, numbers.dtype);
        EXPECT_TRUE(report.passed) << report.message;
        EXPECT_GT(report.compared, 0) << one.op << ", " << one.what;
        worst = std::max(worst, report.worst);
    }
    testing::Test::RecordProperty("units", std::to_string(worst));
    std::printf("%s: at most %.2f units of rounding\n", to_string(numbers).c_str(), worst);
}

TEST(RoundedGradient, FollowsF64OnEveryDevice) {
    for (const Numbers& numbers : all_numbers())
        if (numbers.dtype != DType::f64) expect_all_close(numbers);
}

// Ops that only move bf16 elements also work on the CPU; the others must name the dtypes that they accept.
void expect_bf16_is_close_or_refused() {
    int followed = 0;
    for (const GradientCase& one : all_cases()) {
        try {
            const GradcheckReport report = gradcheck_rounded(one, DType::bf16);
            EXPECT_TRUE(report.passed) << report.message;
            ++followed;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("bf16"), std::string::npos) << one.op << ": " << error.what();
        }
    }
    std::printf("cpu bf16: %d of %zu cases follow f64, the others are refused\n", followed, all_cases().size());
    EXPECT_GT(followed, 0);
}

// A process has one level, so each level is tested in a separate process.
TEST(RoundedGradient, FollowsF64AtThisLevel) {
    expect_all_close({Device::cpu, DType::f32});
    expect_bf16_is_close_or_refused();
}

TEST(RoundedGradient, FollowsF64AtEachCpuLevel) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    for (const CpuLevel level : {CpuLevel::v2, CpuLevel::v3, CpuLevel::v4}) {
        if (level > processor_level()) continue;
        const ShellOutput output = shell(fmt::format(
            "HEDDLE_CPU_LEVEL={} {} --gtest_filter=RoundedGradient.FollowsF64AtThisLevel 2>&1", word_of(level), quoted(program)));
        EXPECT_EQ(output.status, 0) << name(level) << "\n" << output.text;
        EXPECT_NE(output.text.find("[  PASSED  ] 1 test"), std::string::npos) << output.text;
    }
}

// exp(x) in f32, with a factor on its gradient.
template <class T>
Variable exponential(const Variable& x, T factor) {
    Tensor y = x.value().clone();
    for (T& each : y.mutable_values<T>()) each = std::exp(each);
    return record(
        y, {.op = "exponential", .where = Where::current(), .inputs = {x}, .saved = {y}, .backward = [factor](Gradients& g) {
                Tensor dx = g.output().clone();
                for (std::int64_t i = 0; i < dx.numel(); ++i) dx.mutable_data<T>()[i] *= factor * g.saved(0).data<T>()[i];
                g.give(0, dx);
            }});
}

TEST(RoundedGradient, RefusesAnF32PathThatIsWrongByMoreThanItsRounding) {
    const auto check_with = [](float factor) {
        return gradcheck_rounded({.op = "exponential",
                                  .what = "planted",
                                  .function =
                                      [=](std::span<const Variable> in) {
                                          return in[0].dtype() == DType::f32 ? exponential<float>(in[0], factor)
                                                                             : exponential<double>(in[0], 1);
                                      },
                                  .inputs = {random_input({3, 4}, 1)}},
                                 DType::f32);
    };
    EXPECT_TRUE(check_with(1).passed) << check_with(1).message;
    for (const float factor : {1.00001F, 0.0F, -1.0F, std::nanf("")}) {
        const GradcheckReport report = check_with(factor);
        EXPECT_FALSE(report.passed) << factor;
        EXPECT_NE(report.message.find("the f32 gradient of input 0 [3, 4] on cpu is wrong at ["), std::string::npos)
            << report.message;
    }
}

TEST(RoundedGradient, RefusesOtherDtypesAndLargeCases) {
    const GradientCase one = all_cases().front();
    expect_error([&] { gradcheck_rounded(one, DType::f64); }, "the dtype is f64, wanted f32 or bf16");
    GradientCase large = one;
    large.function = [](auto in) { return ops::exp(in[0]); };
    large.inputs = {Tensor::zeros({1100}, DType::f64)};
    expect_error([&] { gradcheck_rounded(large, DType::f32); }, "too large for a full Jacobian");
    GradientCase empty = large;
    empty.inputs = {Tensor::zeros({0}, DType::f64)};
    expect_error([&] { gradcheck_rounded(empty, DType::f32); }, "has no elements, so nothing is compared");
}

}  // namespace
}  // namespace heddle
