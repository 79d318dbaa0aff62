// The loss that never holds all logits, against the one that does.
#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "core/random.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"
#include "tests/numbers.h"

namespace heddle {
namespace {

struct Problem {
    Variable x, weight, bias;
    Tensor targets;

    Problem(std::int64_t rows, std::int64_t d_model, std::int64_t vocabulary, DType dtype)
        : x(normal({rows, d_model}, 1, dtype), true),
          weight(normal({vocabulary, d_model}, 2, dtype), true),
          bias(normal({vocabulary}, 3, dtype), true) {
        std::vector<std::int32_t> ids;
        for (std::int64_t i = 0; i < rows; ++i) ids.push_back(i % 5 == 3 ? -1 : static_cast<std::int32_t>(i * 7 % vocabulary));
        targets = Tensor::from(ids, {rows});
    }
    static Tensor normal(const Shape& shape, std::uint64_t key, DType dtype) {
        Tensor tensor = Tensor::empty(shape, DType::f64);
        fill_normal(tensor, 0, 0.7, key);
        return tensor.to(dtype);
    }
    std::vector<Tensor> gradients() {
        std::vector<Tensor> result;
        for (Variable* each : {&x, &weight, &bias}) {
            result.push_back(each->grad().clone());
            each->zero_grad();
        }
        return result;
    }
};

TEST(LinearCrossEntropy, IsTheLinearMapFollowedByCrossEntropy) {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t rows : {1, 31, 192, 193, 500}) {
            Problem problem(rows, 16, 70, dtype);
            const ops::LossOptions options{.label_smoothing = 0.1};
            Tensor fused_statistics, composed_statistics;
            const Variable fused =
                ops::linear_cross_entropy(problem.x, problem.weight, problem.bias, problem.targets, options, &fused_statistics);
            backward(fused);
            const std::vector<Tensor> got = problem.gradients();
            const Variable composed = ops::cross_entropy(ops::linear(problem.x, problem.weight, problem.bias), problem.targets,
                                                         options, &composed_statistics);
            const ops::LossStatistics fused_counts = ops::loss_statistics(fused_statistics),
                                      composed_counts = ops::loss_statistics(composed_statistics);
            backward(composed);
            const std::vector<Tensor> wanted = problem.gradients();
            const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-13;
            EXPECT_TRUE(relative_error(fused.value(), composed.value()) <= tolerance);
            for (std::size_t i = 0; i < got.size(); ++i)
                EXPECT_TRUE(relative_error(got[i], wanted[i]) <= tolerance) << rows << " rows, input " << i;
            EXPECT_EQ(fused_counts.counted, composed_counts.counted);
            EXPECT_EQ(fused_counts.correct, composed_counts.correct);
            EXPECT_NEAR(fused_counts.nll, composed_counts.nll, 1e-4 * composed_counts.nll);
        }
}

TEST(LinearCrossEntropy, ScalesItsGradientsByTheGradientOfTheLoss) {
    Problem problem(9, 4, 11, DType::f64);
    backward(ops::linear_cross_entropy(problem.x, problem.weight, problem.bias, problem.targets));
    const std::vector<Tensor> once = problem.gradients();
    backward(ops::scale(ops::linear_cross_entropy(problem.x, problem.weight, problem.bias, problem.targets), -3));
    const std::vector<Tensor> scaled = problem.gradients();
    for (std::size_t i = 0; i < once.size(); ++i) {
        const std::vector<double> a = once[i].to_vector(), b = scaled[i].to_vector();
        for (std::size_t j = 0; j < a.size(); ++j) EXPECT_DOUBLE_EQ(-3 * a[j], b[j]);
    }
}

TEST(LinearCrossEntropy, NeverHoldsAllLogits) {
    Problem problem(4096, 8, 3000, DType::f32);
    const std::int64_t all_logits = 4096LL * 3000 * 4;
    reset_peak_memory();
    const std::int64_t before = memory_statistics().in_use;
    backward(ops::linear_cross_entropy(problem.x, problem.weight, problem.bias, problem.targets));
    EXPECT_LT(memory_statistics().peak - before, all_logits / 8);
}

}  // namespace
}  // namespace heddle
