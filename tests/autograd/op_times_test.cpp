// The op timer, and that nothing is timed without it.
#include "autograd/op_times.h"

#include <gtest/gtest.h>

#include <chrono>

#include "autograd/checkpoint.h"
#include "autograd/ops.h"
#include "autograd/tape.h"

namespace heddle {
namespace {

Variable square(std::int64_t size, bool leaf = true) { return Variable(Tensor::full({size, size}, 0.01, DType::f32), leaf); }

const OpTime& of(const std::vector<OpTime>& times, const std::string& op) {
    static const OpTime none;
    for (const OpTime& one : times)
        if (one.op == op) return one;
    ADD_FAILURE() << "no time of " << op;
    return none;
}

TEST(OpTimer, TellsForwardAndBackwardOfEachKindOfOpTheLongestFirst) {
    const Variable a = square(300), b = square(300);
    std::vector<OpTime> times;
    double wall = 0;
    // A busy machine may preempt the thread in any op, but not repeatedly in the same one.
    for (int attempt = 0; attempt < 10 && (attempt == 0 || times.front().op != "matmul"); ++attempt) {
        const auto begin = std::chrono::steady_clock::now();
        OpTimer timer;
        backward(ops::sum(ops::add(ops::matmul(ops::matmul(a, b), b), a)));
        times = timer.times();
        wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    EXPECT_EQ(of(times, "matmul").calls, 2);
    EXPECT_EQ(of(times, "add").calls, 1);
    EXPECT_EQ(times.front().op, "matmul") << "108 million products against 90,000 sums";
    double sum = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
        EXPECT_GT(times[i].forward, 0) << times[i].op;
        EXPECT_GT(times[i].backward, 0) << times[i].op;
        EXPECT_LE(times[i].total(), times[i == 0 ? 0 : i - 1].total());
        sum += times[i].total();
    }
    EXPECT_LE(sum, wall) << "no time is counted twice";
    EXPECT_GT(sum, wall / 2) << "and little is lost";
}

TEST(OpTimer, CountsOpsThatAreNotRecorded) {
    const NoGrad no_grad;
    OpTimer timer;
    ops::add(square(2), square(2));
    EXPECT_EQ(of(timer.times(), "add").calls, 1);
    EXPECT_EQ(of(timer.times(), "add").backward, 0);
}

TEST(OpTimer, CountsNothingBeforeAndBehindItsLifeAndTheInnerOfTwo) {
    const Variable a = square(2);
    ops::add(a, a);
    OpTimer outer;
    {
        OpTimer inner;
        ops::add(a, a);
        EXPECT_EQ(of(inner.times(), "add").calls, 1);
    }
    EXPECT_TRUE(outer.times().empty());
    ops::mul(a, a);
    EXPECT_EQ(outer.times().size(), 1u);
}

TEST(OpTimer, StartLeavesOutWhatCameBefore) {
    const Variable a = square(2);
    OpTimer timer;
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(30)) {
    }
    const auto started = std::chrono::steady_clock::now();
    timer.start();
    ops::add(a, a);
    const double since = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    EXPECT_LE(of(timer.times(), "add").forward, since);
}

TEST(OpTimer, CountsWhatACheckpointComputesAgainAsForward) {
    const Variable a = square(20);
    OpTimer timer;
    const Variable y = checkpoint([](std::span<const Variable> in) { return ops::matmul(in[0], in[0]); }, {a});
    backward(ops::sum(y));
    EXPECT_EQ(of(timer.times(), "matmul").calls, 2);
}

TEST(ObservedOp, CountsTheMultiplyAddsOfEachProduct) {
    const auto counted = [](const auto& op) {
        std::int64_t count = -1;
        const ObserveOps observe([&](const ObservedOp& observed) { count = observed.multiply_adds; });
        op();
        return count;
    };
    const Variable x = Variable(Tensor::full({10, 3}, 0.5, DType::f32)), weight = Variable(Tensor::full({4, 3}, 0.5, DType::f32)),
                   back = Variable(Tensor::full({7, 4}, 0.5, DType::f32));
    const Tensor targets = Tensor::full({10}, 1, DType::i32);
    EXPECT_EQ(counted([&] { ops::linear(x, weight); }), 10 * 3 * 4);
    EXPECT_EQ(counted([&] { ops::feed_forward(x, weight, {}, back, {}, ops::Activation::relu); }), 10 * (3 * 4 + 4 * 7));
    EXPECT_EQ(counted([&] { ops::linear_cross_entropy(x, weight, {}, targets); }), 10 * 3 * 4);
    EXPECT_EQ(counted([&] { ops::matmul(x, weight, false, true); }), 10 * 3 * 4);
    EXPECT_EQ(counted([&] { ops::relu(x); }), 0);
}

}  // namespace
}  // namespace heddle
