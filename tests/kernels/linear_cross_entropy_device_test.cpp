// Linear + cross entropy on every device.
#include <gtest/gtest.h>

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::LinearCrossEntropyResult;
using kernels::LossOptions;

constexpr Allowed kAllowed{.f64 = 1e-13, .f32 = 5e-6};

struct LossCase {
    std::int64_t rows, d_model, vocabulary;
    double smoothing = 0, divisor = 0;
    bool bias = true;
    double spread = 0.7;  // of weights and inputs
};
struct Problem {
    Tensor x, weight, bias, targets;
    LossOptions options;
};

Problem problem(const LossCase& at) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < at.rows; ++i) ids.push_back(i % 5 == 3 ? -1 : static_cast<std::int32_t>(i * 7 % at.vocabulary));
    return {normal({at.rows, at.d_model}, DType::f64, 1, 0, at.spread),
            normal({at.vocabulary, at.d_model}, DType::f64, 2, 0, at.spread),
            at.bias ? normal({at.vocabulary}, DType::f64, 3) : Tensor(),
            Tensor::from(ids, {at.rows}),
            {.label_smoothing = at.smoothing, .divisor = at.divisor}};
}

std::string text(const LossCase& at) {
    return std::to_string(at.rows) + " rows of " + std::to_string(at.d_model) + ", " + std::to_string(at.vocabulary) + " words";
}

LinearCrossEntropyResult run(const Problem& p) {
    return kernels::linear_cross_entropy(p.x, p.weight, p.bias, p.targets, p.options, {true, true, p.bias.defined()});
}

Problem placed(const Numbers& numbers, const Problem& p, bool targets_too) {
    return {in(numbers, p.x), in(numbers, p.weight), in(numbers, p.bias), targets_too ? in(numbers, p.targets) : p.targets,
            p.options};
}
Problem wide(const Numbers& numbers, const Problem& p) {
    return {rounded(numbers, p.x), rounded(numbers, p.weight), rounded(numbers, p.bias), p.targets, p.options};
}

// The plain bf16 computation: f32 with logits, dlogits and every result rounded.
LinearCrossEntropyResult plain(const Problem& p) {
    const auto f32 = [](const Tensor& tensor) { return tensor.defined() ? tensor.to(DType::f32) : tensor; };
    const Tensor x = f32(p.x), weight = f32(p.weight);
    const Tensor logits = through_bf16(kernels::linear_forward(x, weight, f32(p.bias)));
    LinearCrossEntropyResult result;
    result.loss = through_bf16(kernels::cross_entropy_forward(logits, p.targets, p.options).loss);
    const Tensor dlogits =
        through_bf16(kernels::cross_entropy_backward(Tensor::full({}, 1, DType::f32), logits, p.targets, p.options));
    result.dx = through_bf16(kernels::linear_backward_x(dlogits, weight));
    result.dweight = Tensor::zeros(weight.shape(), DType::f32);
    kernels::linear_backward_weight(dlogits, x, result.dweight);
    result.dbias = Tensor::zeros({weight.dim(0)}, DType::f32);
    kernels::linear_backward_bias(dlogits, result.dbias);
    return result;
}

void expect_same(const LinearCrossEntropyResult& got, const LinearCrossEntropyResult& want, const Numbers& numbers,
                 const std::string& what, const LinearCrossEntropyResult& usual) {
    expect_close(got.loss, want.loss, numbers, "loss, " + what, kAllowed, usual.loss);
    expect_close(got.dx, want.dx, numbers, "dx, " + what, kAllowed, usual.dx);
    expect_close(got.dweight, want.dweight, numbers, "dW, " + what, kAllowed, usual.dweight);
    if (want.dbias.defined()) expect_close(got.dbias, want.dbias, numbers, "db, " + what, kAllowed, usual.dbias);
    const kernels::LossStatistics a = kernels::loss_statistics(got.statistics), b = kernels::loss_statistics(want.statistics);
    EXPECT_EQ(a.counted, b.counted) << what;
    if (numbers.dtype == DType::bf16) return;  // two logits may round to one
    EXPECT_EQ(a.correct, b.correct) << what;
    const double part = numbers.dtype == DType::f32 ? kAllowed.f32 : kAllowed.f64;
    EXPECT_TRUE(std::abs(a.loss - b.loss) <= part * std::abs(b.loss)) << what << ": " << a.loss << " for " << b.loss;
    EXPECT_TRUE(std::abs(a.nll - b.nll) <= part * std::abs(b.nll)) << what << ": " << a.nll << " for " << b.nll;
}

TEST(LinearCrossEntropyDevice, TakesTargetsThatLieOnTheHost) {
    for (const Numbers& numbers : all_numbers())
        for (const LossCase& at : {LossCase{33, 8, 32, 0.1}, LossCase{0, 4, 5, 0.1}}) {
            const LinearCrossEntropyResult here = run(placed(numbers, problem(at), false)),
                                           there = run(placed(numbers, problem(at), true));
            for (const auto& [a, b] : {std::pair{here.loss, there.loss}, {here.dx, there.dx}, {here.dweight, there.dweight}})
                EXPECT_TRUE(same_bits(a.to(Device::cpu), b.to(Device::cpu))) << text(at) << " on " << to_string(numbers);
        }
}

// Chunks only group rows: three of them, the last one short, by vectors and by elements.
TEST(LinearCrossEntropyDevice, SumsOverChunks) {
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.device == Device::cpu) continue;
        for (const LossCase& at : {LossCase{40, 8, 64, 0.1}, LossCase{40, 5, 33, 0.1}}) {
            const Problem p = problem(at), there = placed(numbers, p, true), exact = wide(numbers, p);
            const auto chunked = kernels::linear_cross_entropy_chunks(there.x, there.weight, there.bias, there.targets,
                                                                      there.options, {true, true, true}, 16);
            expect_same(chunked, run(exact), numbers, text(at) + ", in chunks",
                        numbers.dtype == DType::bf16 ? plain(exact) : LinearCrossEntropyResult{});
        }
    }
}

TEST(LinearCrossEntropyDevice, BackwardScalesByALossGradientOnTheDevice) {
    for (const Numbers& numbers : all_numbers()) {
        const Problem p = problem({9, 4, 11}), there = placed(numbers, p, true);
        const LinearCrossEntropyResult made = run(there);
        const Tensor dloss = in(numbers, Tensor::full({}, -3, DType::f64));
        for (const Tensor& gradient : {made.dx, offset_by_one(made.dx), made.dweight, made.dbias}) {
            Tensor target = Tensor::full(gradient.shape(), 1, numbers.dtype).to(numbers.device);
            const std::int64_t waits = device::statistics().synchronisations;
            kernels::linear_cross_entropy_backward(gradient, dloss, target);
            EXPECT_EQ(device::statistics().synchronisations, waits);
            Tensor want = gradient.to(Device::cpu).to(DType::f64).clone();
            for (double& value : want.mutable_values<double>()) value = 1 - 3 * value;
            expect_close(target, want, numbers, "scaled", kAllowed);
        }
    }
}

// As a training run in bf16 has it: sums over rows are f32, and what they are added to may be either. By vectors and by elements.
TEST(LinearCrossEntropyDevice, BackwardMixesF32WithBf16) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Numbers numbers{Device::cuda, DType::bf16};
    for (const LossCase& at : {LossCase{9, 3, 11}, LossCase{9, 16, 40}}) {
        const LinearCrossEntropyResult made = run(placed(numbers, problem(at), true));
        ASSERT_EQ(made.dx.dtype(), DType::bf16);
        ASSERT_EQ(made.dweight.dtype(), DType::f32);
        for (Tensor gradient : {made.dx, made.dweight, made.dbias})
            for (const DType to : {DType::f32, DType::bf16})
                for (const DType factor : {DType::f32, DType::bf16}) {
                    if (at.d_model % 2 != 0) gradient = offset_by_one(gradient);
                    Tensor target = Tensor::full(gradient.shape(), 1, to, Device::cuda);
                    kernels::linear_cross_entropy_backward(gradient, Tensor::full({}, -3, factor, Device::cuda), target);
                    Tensor want = gradient.to(Device::cpu).to(DType::f64).clone();
                    for (double& value : want.mutable_values<double>()) value = 1 - 3 * value;
                    expect_close(target, want, {Device::cuda, to}, "f32 beside bf16", kAllowed);
                }
    }
}

TEST(LinearCrossEntropyDevice, TheHostWaitsForNothing) {
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.device == Device::cpu) continue;
        const Problem there = placed(numbers, problem({20, 4, 11, 0.1}), true);
        run(there);  // the first call may set things up
        const std::int64_t waits = device::statistics().synchronisations, copies = device::statistics().copies_to_host;
        run(there);
        EXPECT_EQ(device::statistics().synchronisations, waits);
        EXPECT_EQ(device::statistics().copies_to_host, copies);
    }
}

TEST(LinearCrossEntropyDevice, IsZeroWithZeroGradientsWhenEveryTargetIsIgnored) {
    for (const Numbers& numbers : all_numbers()) {
        Problem p = problem({3, 4, 5, 0.1});
        p.targets = Tensor::from(std::vector<std::int32_t>{-1, -1, -1}, {3});
        const LinearCrossEntropyResult result = run(placed(numbers, p, true));
        for (const Tensor& each : {result.loss, result.dx, result.dweight, result.dbias})
            for (const double value : each.to(Device::cpu).to_vector()) EXPECT_EQ(value, 0) << to_string(numbers);
    }
}

TEST(LinearCrossEntropyDevice, NamesATargetOutsideTheVocabulary) {
    Problem p = problem({2, 4, 5});
    p.targets = Tensor::from(std::vector<std::int32_t>{0, 5}, {2});
    for (const Numbers& numbers : all_numbers())
        expect_error([&] { run(placed(numbers, p, false)); }, "linear_cross_entropy: target 1 is 5");
    if (!device::emulated()) return;  // a real device's context ends with this error
    expect_error(
        [&] {
            run(placed({Device::cuda, DType::f32}, p, true));
            device::synchronize();
        },
        "a target lies outside the vocabulary");
}

// A large dW goes through memory once for each chunk.
TEST(LinearCrossEntropyDevice, PassesALargeWeightsGradientEightTimes) {
    const auto passes = [](std::int64_t rows, std::int64_t vocabulary, std::int64_t d_model, DType dtype) {
        const std::int64_t chunk = kernels::loss_chunk_rows(rows, vocabulary, d_model, dtype);
        EXPECT_EQ(chunk % 128, 0);
        EXPECT_LE(chunk * vocabulary * size_of(dtype), std::max(kernels::kMostChunkBytes, 128 * vocabulary * size_of(dtype)));
        return (rows + chunk - 1) / chunk;
    };
    for (const DType dtype : {DType::bf16, DType::f32})
        for (const std::int64_t rows : {1, 500, 3000, 12000, 25000}) {
            EXPECT_LE(passes(rows, 37000, 512, dtype), 8) << rows << " rows";
            EXPECT_LE(passes(rows, 32000, 1024, dtype), 8) << rows << " rows";
        }
    // One that stays in the cache leaves the logits there, too.
    EXPECT_EQ(kernels::loss_chunk_rows(25000, 6000, 128, DType::bf16), kernels::kChunkBytes / 12000 / 128 * 128);
    EXPECT_EQ(kernels::loss_chunk_rows(25000, 100'000'000, 8, DType::f32), 128) << "the least";
}

TEST(LinearCrossEntropyDevice, NeverHoldsAllLogits) {
    const Problem p = placed({Device::cpu, DType::f32}, problem({4096, 8, 3000}), false);
    reset_peak_memory();
    const std::int64_t before = memory_statistics().in_use;
    run(p);
    EXPECT_LT(memory_statistics().peak - before, 4096LL * 3000 * 4 / 8);
}

}  // namespace
}  // namespace heddle
