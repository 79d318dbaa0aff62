// Tests of each feature of the tape: recording and backward. Its errors: tape_errors_test.cpp.
#include "autograd/tape.h"

#include <gtest/gtest.h>

#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "core/device.h"
#include "tests/autograd/tape_ops.h"
#include "tests/support.h"

namespace heddle {
namespace {

// ---- order of the backward pass

TEST(Tape, GoesBackInTheReverseOfTheCreationOrder) {
    std::vector<int> order;
    const Variable x = leaf({1, 2});
    const Variable a = times(x, 2, &order, 1);
    const Variable b = times(x, 3, &order, 2);
    const Variable c = times(a, 5, &order, 3);
    backward(plus(b, c), kOnes);
    EXPECT_EQ(order, (std::vector<int>{3, 2, 1}));
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{13, 13}));
}

TEST(Tape, VisitsOnlyWhatTheOutputDependsOn) {
    std::vector<int> order;
    const Variable x = leaf({1, 2});
    const Variable a = times(x, 2, &order, 1);
    const Variable other = times(x, 3, &order, 2);
    const Variable after = times(x, 4, &order, 3);
    backward(a, kOnes);
    EXPECT_EQ(order, std::vector<int>{1});
    backward(other, kOnes);
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Tape, AddsUpTheGradientsOfSeveralUsesAndSeveralBackwards) {
    const Variable x = leaf({1, 2});
    backward(plus(x, plus(x, x)), kOnes);
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{3, 3}));
    backward(times(x, 4), kOnes);
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{7, 7}));
    Variable again = x;
    again.zero_grad();
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{0, 0}));
}

TEST(Tape, MovesAGradientThatNobodyElseHolds) {
    const std::byte* made = nullptr;
    const Variable x = leaf({1, 2});
    const Variable y =
        record(x.value().clone(), {.op = "op", .where = Where::current(), .inputs = {x}, .backward = [&](Gradients& g) {
                                       Tensor dx = g.output().clone();
                                       made = dx.bytes_data();
                                       g.give(0, std::move(dx));
                                   }});
    backward(y, kOnes);
    EXPECT_EQ(x.grad().bytes_data(), made);
}

TEST(Tape, PassesAGradientThroughWithoutACopy) {
    const Variable x = leaf({1, 2});
    Variable y = times(x, 2);
    for (int i = 0; i < 3; ++i) y = times(y, 2);
    backward(y, kOnes, true);  // now the allocator keeps all blocks that the second pass needs
    const std::int64_t before = memory_statistics().requests;
    Variable(x).zero_grad();
    backward(y, kOnes);
    EXPECT_EQ(memory_statistics().requests - before, 1) << "only the seed is a new block";
}

TEST(Tape, CopiesAGradientThatSomebodyElseCouldStillChange) {
    const Tensor shared = Tensor::full({2}, 3, DType::f64);
    const Variable x = leaf({1, 2});
    const Variable y =
        record(x.value().clone(),
               {.op = "op", .where = Where::current(), .inputs = {x}, .backward = [&](Gradients& g) { g.give(0, shared); }});
    backward(y, kOnes, true);
    backward(y, kOnes);
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{6, 6}));
    EXPECT_EQ(shared.to_vector(), (std::vector<double>{3, 3}));
}

TEST(Tape, LetsAnOpAddIntoAGradientInPlace) {
    const Variable w = leaf({1, 2});
    const auto adds = [&] {
        return record(w.value().clone(), {.op = "op", .where = Where::current(), .inputs = {w}, .backward = [](Gradients& g) {
                                              Tensor dw = g.accumulate_into(0);
                                              for (double& value : dw.mutable_values<double>()) value += 5;
                                          }});
    };
    backward(adds(), kOnes);
    const std::byte* memory = w.grad().bytes_data();
    backward(adds(), kOnes);
    EXPECT_EQ(w.grad().to_vector(), (std::vector<double>{10, 10}));
    EXPECT_EQ(w.grad().bytes_data(), memory);
}

// Otherwise the first gradient that is added to x would change the cotangent that w's is made of.
TEST(Tape, ReadsACotangentThatIsALeafsGradientAsItWas) {
    for (const bool view : {false, true}) {
        Variable x = leaf({2, 3});
        const Variable w = leaf({5, 7});
        x.set_grad(Tensor::full({2}, 1, DType::f64));
        backward(ops::mul(x, w), view ? x.grad().reshape({2}) : x.grad());
        EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{6, 8}));
        EXPECT_EQ(w.grad().to_vector(), (std::vector<double>{2, 3}));
    }
}

TEST(Tape, DoesNotTouchTheCotangentThatItWasGiven) {
    const Tensor cotangent = Tensor::full({2}, 3, DType::f64);
    backward(times(leaf({1, 2}), 2), cotangent);
    EXPECT_EQ(cotangent.to_vector(), (std::vector<double>{3, 3}));
}

TEST(Tape, GoesBackFromSeveralOutputsInOneWalk) {
    std::vector<int> order;
    const Variable x = leaf({1, 2});
    const Variable shared = times(x, 2, &order, 1);
    const std::vector<Variable> outputs{times(shared, 3, &order, 2), times(shared, 5, &order, 3), shared};
    backward(outputs, std::vector<Tensor>{kOnes, kOnes, kOnes});
    EXPECT_EQ(order, (std::vector<int>{3, 2, 1}));
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{18, 18}));
}

// On CUDA one launch computes several biases' sums: for leaves when the pass ends, for an op's result when it is read.
TEST(Tape, MakesTheSumsForBiasesBeforeSomebodyReadsThem) {
    for (const Device device : {Device::cpu, Device::cuda}) {
        if (device == Device::cuda && !device::available()) continue;
        const auto values = [&](const Shape& shape, std::uint64_t seed) {
            return Variable(random_input(shape, seed).to(device), true);
        };
        const Variable x = values({5, 3}, 1), weight = values({4, 3}, 2), bias = values({4}, 3), root = values({4}, 4);
        for (int time = 1; time <= 2; ++time) {
            const Variable y = ops::linear(x, weight, bias), z = ops::linear(x, weight, ops::mul(root, root));
            backward(ops::add(ops::sum(ops::linear(x, weight, bias)), ops::sum(ops::add(y, z))));
            EXPECT_EQ(bias.grad().to_vector(), std::vector<double>(4, 10 * time));
            const std::vector<double> at = root.value().to_vector(), gradient = root.grad().to_vector();
            for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(gradient[i], time * 5 * 2 * at[i], 1e-12) << i;
        }
    }
}

// ---- ops with several outputs, absent and frozen inputs

// (x, 2x) with the gradient a + 2 b; records which outputs received a gradient.
std::vector<Variable> both(const Variable& x, std::vector<bool>* received) {
    Tensor twice = x.value().clone();
    for (double& value : twice.mutable_values<double>()) value *= 2;
    return record_many({x.value().clone(), twice},
                       {.op = "both", .where = Where::current(), .inputs = {x}, .backward = [received](Gradients& g) {
                            *received = {g.has_output(0), g.has_output(1)};
                            Tensor dx = g.output(0).clone();
                            for (std::int64_t i = 0; i < dx.numel(); ++i)
                                dx.mutable_data<double>()[i] += 2 * g.output(1).data<double>()[i];
                            g.give(0, std::move(dx));
                        }});
}

TEST(Tape, GivesZerosForAnOutputThatNoGradientReached) {
    std::vector<bool> received;
    const Variable x = leaf({1, 2});
    backward(both(x, &received)[1], kOnes);
    EXPECT_EQ(received, (std::vector<bool>{false, true}));
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{2, 2}));
    const std::vector<Variable> outputs = both(x, &received);
    backward(outputs, std::vector<Tensor>{kOnes, kOnes});
    EXPECT_EQ(received, (std::vector<bool>{true, true}));
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{5, 5}));
}

TEST(Tape, AllowsAbsentInputs) {
    const Variable x = leaf({1, 2});
    const Variable y = record(x.value().clone(),
                              {.op = "op", .where = Where::current(), .inputs = {x, Variable()}, .backward = [](Gradients& g) {
                                   EXPECT_FALSE(g.needs(1));
                                   g.give(1, g.output());  // ignored
                                   g.give(0, g.output());
                               }});
    backward(y, kOnes);
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{1, 1}));
}

TEST(Tape, GivesFrozenLeavesNoGradient) {
    Variable w(random_input({4, 4}, 1), true);
    const Variable x(random_input({2, 4}, 2), true);
    w.set_requires_grad(false);
    backward(product(x, w), random_input({2, 4}, 3));
    EXPECT_TRUE(x.grad().defined());
    EXPECT_FALSE(w.grad().defined());
}

TEST(Tape, RecordsNothingWithoutAnInputThatNeedsAGradient) {
    const Variable y = ops::softmax(Variable(random_input({2, 3}, 1)));
    EXPECT_EQ(tape_size(), 0);
    EXPECT_TRUE(y.is_leaf());
    expect_error([&] { backward(y, y.value()); }, "none of its inputs requires a gradient");
}

TEST(Tape, RecordsNothingUnderNoGrad) {
    const Variable x = leaf({1});
    {
        const NoGrad outer;
        { const NoGrad inner; }
        EXPECT_FALSE(will_record({x}));
        EXPECT_FALSE(times(x, 2).requires_grad());
    }
    EXPECT_TRUE(will_record({x}));
    EXPECT_FALSE(will_record({x.detach()}));
    EXPECT_TRUE(times(x, 2).requires_grad());
}

TEST(Tape, StopsAtADetachedValue) {
    const Variable x = leaf({3});
    backward(plus(x, times(x, 2).detach()), kOne);
    EXPECT_EQ(x.grad().item(), 1);
}

// ---- retained tapes and repeated passes

TEST(Tape, WalksAgainOnlyWhenItWasRetained) {
    const Variable x = leaf({1});
    const Variable y = times(x, 3);
    backward(y, true);
    backward(y);
    EXPECT_EQ(x.grad().item(), 6);
    expect_error([&] { backward(y); }, "freed by an earlier backward; pass retain");
    EXPECT_EQ(x.grad().item(), 6);
}

TEST(Tape, NamesTheOpThatReadsAFreedPart) {
    const Variable x = leaf({1});
    const Variable shared = times(x, 3);
    backward(times(shared, 2));
    const Variable later = plus(shared, x);
    expect_error([&] { backward(later); }, "plus at ");
    expect_error([&] { backward(plus(shared, x)); }, "an earlier backward freed; pass retain there, or detach()");
}

TEST(Tape, FreesWhatItSavedWhenItGoesBackAlthoughTheLossIsKept) {
    std::vector<Variable> losses;
    const Variable x(random_input({64, 64}, 1), true);
    const std::int64_t before = memory_statistics().in_use;
    for (int step = 0; step < 50; ++step) {
        losses.push_back(ops::sum(ops::softmax(ops::softmax(x))));
        backward(losses.back());
        EXPECT_EQ(tape_size(), 0);
    }
    const std::int64_t grown = memory_statistics().in_use - before;
    EXPECT_LE(grown, x.value().bytes() * 2 + 50 * 64) << "the gradient and fifty scalars";
}

TEST(Tape, FreesAsTheWalkPasses) {
    const Variable x(random_input({64, 64}, 1), true);
    Variable y = x;
    for (int i = 0; i < 20; ++i) y = ops::softmax(y);
    y = ops::sum(y);
    reset_peak_memory();
    const std::int64_t before = memory_statistics().peak;
    backward(y);
    EXPECT_LE(memory_statistics().peak - before, 4 * x.value().bytes());
}

TEST(Tape, KeepsNothingAfterAnErrorInTheWalk) {
    const Variable x = leaf({1});
    bool broken = true;
    const Variable y = times(record(x.value().clone(), {.op = "op",
                                                        .where = Where::current(),
                                                        .inputs = {x},
                                                        .backward =
                                                            [&](Gradients& g) {
                                                                if (broken) fail("broken");
                                                                g.give(0, g.output());
                                                            }}),
                             2);
    expect_error([&] { backward(y, true); }, "broken");
    EXPECT_FALSE(x.grad().defined());
    broken = false;
    backward(y);
    EXPECT_EQ(x.grad().item(), 2);
}

TEST(Tape, RefusesABackwardWithinABackwardOfTheSameTape) {
    const Variable x = leaf({1});
    const Variable inner = times(x, 2);
    const Variable y =
        record(x.value().clone(),
               {.op = "op", .where = Where::current(), .inputs = {x}, .backward = [&](Gradients&) { backward(inner); }});
    expect_error([&] { backward(y); }, "use a FreshTape");
}

}  // namespace
}  // namespace heddle
