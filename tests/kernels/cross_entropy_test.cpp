#include "kernels/cross_entropy/cross_entropy.h"

#include "autograd/ops.h"
#include "kernels/cross_entropy/cross_entropy_row.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

using Logits = std::vector<double>;

// -sum_j q_j log p_j and its gradient from log p, in plain loops.
struct Formula {
    double loss = 0, nll = 0;
    std::vector<double> gradient;

    Formula(const Logits& x, std::int32_t target, double e) {
        const auto smoothed = [](double logit) { return logit > kForbiddenLogit; };
        const double size = static_cast<double>(std::count_if(x.begin(), x.end(), smoothed));
        const double largest = *std::max_element(x.begin(), x.end());
        double total = 0;
        for (const double v : x) total += std::exp(v - largest);
        for (std::size_t j = 0; j < x.size(); ++j) {
            const double log_p = x[j] - largest - std::log(total);
            const double q = (smoothed(x[j]) ? e / size : 0) + (static_cast<std::int32_t>(j) == target ? 1 - e : 0);
            if (q > 0) loss -= q * log_p;
            if (static_cast<std::int32_t>(j) == target) nll = -log_p;
            gradient.push_back(std::exp(log_p) - q);
        }
    }
};

// Logits that f32 and f64 hold alike.
Tensor logits_of(std::int64_t rows, std::int64_t vocabulary, std::uint64_t key, double deviation = 3) {
    return normal({rows, vocabulary}, DType::f32, key, 1, deviation);
}

Logits row_of(const Tensor& logits, std::int64_t row) { return logits.slice(row, row + 1).to_vector(); }

Tensor targets_of(const std::vector<std::int32_t>& ids) { return Tensor::from(ids, {static_cast<std::int64_t>(ids.size())}); }

using RowFunction = RowLoss (*)(const float*, std::int64_t, std::int32_t, double, double, float*);

std::vector<RowFunction> float_rows() {
    std::vector<RowFunction> all = HEDDLE_ALL_LEVELS(cross_entropy_row);
    all.push_back(&reference::cross_entropy_row<float>);
    return all;
}

// Such logits come from an output bias of -1e9: smoothing over them would cost millions.
TEST(CrossEntropyRow, LeavesForbiddenTokensOutOfTheSmoothing) {
    for (const std::int64_t vocabulary : {3, 17, 33, 64, 127, 1025})
        for (const double e : {0.0, 0.1})
            for (const double forbidden : {-1e8, -1e9, -std::numeric_limits<double>::infinity()}) {
                Tensor logits = logits_of(1, vocabulary, 3);
                for (const std::int64_t at : {std::int64_t{0}, vocabulary / 2, vocabulary - 1})
                    logits.mutable_data<float>()[at] = static_cast<float>(forbidden);
                const auto target = static_cast<std::int32_t>(vocabulary == 3 ? 1 : vocabulary * 2 / 3);
                if (vocabulary == 3) logits.mutable_data<float>()[1] = 2;
                const Formula wanted(row_of(logits, 0), target, e);
                EXPECT_LT(wanted.loss, 20);
                const Tensor gradient = Tensor::from(wanted.gradient, {vocabulary});
                for (const RowFunction row : float_rows()) {
                    Tensor dlogits = logits.clone();
                    const RowLoss unchanged = row(logits.data<float>(), vocabulary, target, e, 1, nullptr),
                                  given = row(dlogits.data<float>(), vocabulary, target, e, 1, dlogits.mutable_data<float>());
                    EXPECT_EQ(given.loss, unchanged.loss);
                    EXPECT_NEAR(given.loss, wanted.loss, 1e-6 * (1 + wanted.loss)) << vocabulary << " " << forbidden;
                    EXPECT_NEAR(given.nll, wanted.nll, 1e-6 * (1 + wanted.nll));
                    EXPECT_LT(relative_error(dlogits.reshape({vocabulary}), gradient), 1e-6) << vocabulary << " " << forbidden;
                    EXPECT_EQ(dlogits.data<float>()[0], 0) << "a forbidden token has no gradient";
                }
                std::vector<double> wide = row_of(logits, 0);
                EXPECT_NEAR(cross_entropy_row(wide.data(), vocabulary, target, e, 1, wide.data()).loss, wanted.loss, 1e-12);
                EXPECT_LT(relative_error(Tensor::from(wide, {vocabulary}), gradient), 1e-13);
            }
}

// The logit just above the bound is smoothed like any other, and a target may be forbidden: its loss tells.
TEST(CrossEntropyRow, ForbidsNothingAboveTheBound) {
    for (const RowFunction row : float_rows()) {
        std::vector<float> values(40, 1.0f);
        values[3] = -99999992.0f;  // the next float above -1e8
        EXPECT_GT(row(values.data(), 40, 5, 0.1, 1, nullptr).loss, 1e5);
        values[3] = -1e8f;
        EXPECT_LT(row(values.data(), 40, 5, 0.1, 1, nullptr).loss, 10);
        const RowLoss of_forbidden = row(values.data(), 40, 3, 0.1, 1, values.data());
        EXPECT_NEAR(of_forbidden.loss, 0.9e8, 10);
        EXPECT_FLOAT_EQ(values[3], -0.9f);
        EXPECT_NEAR(values[5], 1 / 39.0 - 0.1 / 39, 1e-7);
    }
}

TEST(CrossEntropyRow, IsSafeForHugeLogitsAndMinusInfinity) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const RowFunction row : float_rows()) {
        std::vector<float> huge(100, -1e4f);
        huge[40] = 1e4f;
        std::vector<float> right = huge, wrong = huge;
        const RowLoss sure = row(right.data(), 100, 40, 0, 1, right.data());
        EXPECT_EQ(sure.loss, 0);
        EXPECT_TRUE(sure.correct);
        for (const float g : right) EXPECT_EQ(g, 0);
        const RowLoss mistaken = row(wrong.data(), 100, 3, 0, 1, wrong.data());
        EXPECT_EQ(mistaken.loss, 2e4);
        for (std::size_t j = 0; j < 100; ++j) EXPECT_EQ(wrong[j], j == 40 ? 1 : j == 3 ? -1 : 0) << j;

        std::vector<float> holes(37, -infinity);
        holes[1] = holes[36] = 2;
        const RowLoss two = row(holes.data(), 37, 36, 0, 1, holes.data());
        EXPECT_NEAR(two.loss, std::log(2.0), 1e-7);
        for (std::size_t j = 0; j < 37; ++j) EXPECT_EQ(holes[j], j == 1 ? 0.5f : j == 36 ? -0.5f : 0.0f) << j;
    }
}

TEST(CrossEntropyRow, CountsOnlyTheFirstMaximumAsCorrect) {
    for (const RowFunction row : float_rows())
        for (const std::int32_t first : {0, 5, 16, 40})
            for (const std::int32_t second : {41, 64, 69}) {
                std::vector<float> values(70, -1.0f);
                values[static_cast<std::size_t>(first)] = values[static_cast<std::size_t>(second)] = 2.5f;
                EXPECT_TRUE(row(values.data(), 70, first, 0.1, 1, nullptr).correct) << first << " " << second;
                EXPECT_FALSE(row(values.data(), 70, second, 0.1, 1, nullptr).correct) << first << " " << second;
                EXPECT_FALSE(row(values.data(), 70, 39, 0.1, 1, nullptr).correct);
            }
}

TEST(CrossEntropy, IsTheMeanOverTheCountedTargets) {
    const Tensor logits = logits_of(5, 33, 1);
    const std::vector<std::int32_t> ids = {3, -1, 32, 0, -1};
    for (const DType dtype : {DType::f32, DType::f64}) {
        const auto result = cross_entropy_forward(logits.to(dtype), targets_of(ids), {.label_smoothing = 0.1});
        double loss = 0, nll = 0;
        std::int64_t correct = 0;
        for (const std::int64_t row : {0, 2, 3}) {
            const Logits x = row_of(logits, row);
            const Formula formula(x, ids[static_cast<std::size_t>(row)], 0.1);
            loss += formula.loss;
            nll += formula.nll;
            correct += std::max_element(x.begin(), x.end()) - x.begin() == ids[static_cast<std::size_t>(row)];
        }
        const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-12;
        EXPECT_EQ(result.loss.shape(), Shape({}));
        EXPECT_NEAR(result.loss.item(), loss / 3, tolerance);
        EXPECT_NEAR(loss_statistics(result.statistics).loss, loss, tolerance);
        EXPECT_NEAR(loss_statistics(result.statistics).nll, nll, tolerance);
        EXPECT_EQ(loss_statistics(result.statistics).counted, 3);
        EXPECT_EQ(loss_statistics(result.statistics).correct, correct);
        // The ops hand the statistics on; the linear map of the second is the identity.
        Tensor of_op, of_fused_op;
        ops::cross_entropy(logits.to(dtype), targets_of(ids), {.label_smoothing = 0.1}, &of_op);
        EXPECT_TRUE(same_bits(of_op, result.statistics));
        ops::linear_cross_entropy(logits.to(dtype), Tensor::eye(33, dtype), {}, targets_of(ids), {.label_smoothing = 0.1},
                                  &of_fused_op);
        EXPECT_NEAR(loss_statistics(of_fused_op).loss, loss, tolerance);
        EXPECT_EQ(loss_statistics(of_fused_op).correct, correct);
        const auto divided = cross_entropy_forward(logits.to(dtype), targets_of(ids), {.label_smoothing = 0.1, .divisor = 7});
        EXPECT_NEAR(divided.loss.item(), loss / 7, tolerance);
    }
}

TEST(CrossEntropy, NamesWhatDoesNotFit) {
    const Tensor logits = Tensor::zeros({2, 10}, DType::f32);
    const auto with = [&](const Tensor& targets, const LossOptions& options = {}) {
        return [=] { cross_entropy_forward(logits, targets, options); };
    };
    expect_error(with(targets_of({1, 10})), "cross_entropy: target 1 is 10, wanted at least 0 and below the vocabulary of 10");
    expect_error(with(targets_of({-2, 0})), "target 0 is -2");
    expect_error(with(targets_of({1, 2}), {.label_smoothing = 1}), "label smoothing is 1, wanted at least 0 and below 1");
    expect_error(with(targets_of({1, 2}), {.label_smoothing = std::nan("")}), "label smoothing is nan");
    expect_error(with(targets_of({1, 2}), {.divisor = -1}), "divisor is -1");
    expect_error([] { cross_entropy_forward(Tensor::zeros({2}, DType::f32), targets_of({1, 2}), {}); }, "wanted 2 axes");
    expect_error([] { cross_entropy_forward(Tensor::zeros({1, 0}, DType::f32), targets_of({0}), {}); }, "at least one column");
}

}  // namespace
}  // namespace heddle::kernels
