// Faults that show only in some calls: when another input needs no gradient, on another thread, in one run of a hundred, or when
// one Variable is two inputs.
#include <gtest/gtest.h>

#include <thread>

#include "autograd/ops.h"
#include "tests/autograd/gradcheck_functions.h"

namespace heddle {
namespace {

// y = a b with the given backward.
GradientFunction times(const Backward& backward) {
    return [=](In in) {
        return record(product(in[0].value(), in[1].value()), {.op = "times",
                                                              .where = Where::current(),
                                                              .inputs = {in[0], in[1]},
                                                              .saved = {in[0].value().clone(), in[1].value().clone()},
                                                              .backward = backward});
    };
}

void right(Gradients& g) {
    g.give(0, product(g.output(), g.saved(1)));
    g.give(1, product(g.output(), g.saved(0)));
}

std::vector<Tensor> two_inputs() { return {some_numbers(), random_input({5}, 1)}; }

TEST(GradcheckRepeats, NoneOfARightProduct) { expect_proven(gradcheck(times(right), two_inputs()), 1e-9); }

TEST(GradcheckRepeats, ASavedTensorThatIsScaledWhereAnotherInputNeedsNoGradient) {
    for (const int needless : {0, 1}) {
        const auto scales = [=](Gradients& g) {
            right(g);
            if (g.needs(needless)) return;
            Tensor saved = g.saved(needless);
            for (double& each : saved.mutable_values<double>()) each *= 2;
        };
        expect_refused(gradcheck(times(scales), two_inputs()),
                       "when only these inputs need a gradient: " + std::to_string(1 - needless) +
                           ": backward changes or consumes what it saved");
    }
}

TEST(GradcheckRepeats, OneVariableGivenTwiceThatGetsOneGradientOnly) {
    const auto once = [](In in) {
        const bool same = in[0].value().shares_storage(in[1].value());
        return times([same](Gradients& g) {
            g.give(0, product(g.output(), g.saved(1)));
            if (!same) g.give(1, product(g.output(), g.saved(0)));
        })(in);
    };
    expect_refused(gradcheck(once, two_inputs()), "one Variable given as inputs 0 and 1 must get the sum of their gradients");
    // Inputs of different shapes cannot be one Variable.
    expect_proven(gradcheck([](In in) { return ops::mul(in[0], in[1]); }, {random_input({3, 5}, 1), random_input({5}, 2)}), 1e-9);
}

TEST(GradcheckRepeats, OneVariableAtTheSecondAndThirdPlace) {
    const auto three = [](In in) {
        const bool same = in[1].value().shares_storage(in[2].value());
        const Variable sum = ops::add(in[1], same ? Variable(in[2].value()) : in[2]);
        return ops::mul(in[0], sum);
    };
    const std::vector<Tensor> inputs{random_input({4}, 1), random_input({4}, 2), random_input({4}, 3)};
    expect_refused(gradcheck(three, inputs), "one Variable given as inputs 1 and 2");
}

TEST(GradcheckRepeats, ABackwardThatIsWrongOnAnotherThread) {
    const auto first = std::this_thread::get_id();
    const auto wrong = [first](Gradients& g) {
        g.give(0, product(g.output(), g.saved(1)));
        g.give(1, std::this_thread::get_id() == first ? product(g.output(), g.saved(0)) : g.output());
    };
    expect_refused(gradcheck(times(wrong), two_inputs()),
                   "on another thread backward gives input 1 [5] a gradient with different bits");
}

TEST(GradcheckRepeats, AValueThatIsAnotherOneOnAnotherThread) {
    const auto first = std::this_thread::get_id();
    const auto other = [first](In in) {
        const std::vector<Variable> inputs{in[0], std::this_thread::get_id() == first ? in[1] : in[0]};
        return times(right)(inputs);
    };
    expect_refused(gradcheck(other, two_inputs()), "on another thread the value is another one");
}

// Like a race, but deterministic.
TEST(GradcheckRepeats, AGradientThatIsWrongInOneRunOfAHundred) {
    for (const int phase : {0, 33, 77, 99}) {
        const auto runs = std::make_shared<int>(phase);
        const auto rarely = [runs](Gradients& g) {
            right(g);
            if (++*runs % 100 == 0) g.give(0, g.output());
        };
        EXPECT_FALSE(gradcheck(times(rarely), two_inputs()).passed) << phase;
    }
}

TEST(GradcheckRepeats, ThreadsOfTheFunctionItselfAreNotInTheWay) {
    const auto parallel = [](In in) {
        std::vector<double> sums(4);
        std::vector<std::thread> threads;
        const auto x = in[0].value().values<double>();
        for (std::size_t t = 0; t < sums.size(); ++t) threads.emplace_back([&, t] { sums[t] = x[t] * x[t]; });
        for (std::thread& thread : threads) thread.join();
        return record(Tensor::from(sums, {4}),
                      {.op = "squares",
                       .where = Where::current(),
                       .inputs = {in[0]},
                       .saved = {in[0].value()},
                       .backward = [](Gradients& g) { g.give(0, product(g.output(), mapped(g.saved(0), twice))); }});
    };
    expect_proven(gradcheck(parallel, {random_input({4}, 1)}), 1e-9);
}

}  // namespace
}  // namespace heddle
