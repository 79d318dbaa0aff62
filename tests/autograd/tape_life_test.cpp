// The lifetime of nodes, inspection of the tape, and which thread owns it.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "core/sanitizers.h"
#include "tests/autograd/tape_ops.h"
#include "tests/support.h"

#if defined(__GLIBC__)
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33) && !defined(HEDDLE_ADDRESS_SANITIZER) && !defined(HEDDLE_THREAD_SANITIZER)
#define HEDDLE_COUNTS_MEMORY  // mallinfo2()
#endif
#endif

namespace heddle {
namespace {

// ThreadSanitizer makes each node about twenty times slower, and more nodes would not find more.
#ifdef HEDDLE_THREAD_SANITIZER
constexpr int kDeep = 100'000;
#else
constexpr int kDeep = 1'000'000;
#endif

// One cheap node.
Variable step(const Variable& x) {
    return record(x.value(), {.op = "step", .where = Where::current(), .inputs = {x}, .backward = [](Gradients& g) {
                                  g.give(0, g.take_output());
                              }});
}

// A node whose backward function holds a Variable of the previous node, as checkpoint-like ops do.
Variable holding_step(const Variable& x) {
    return record(x.value(), {.op = "step", .where = Where::current(), .inputs = {x}, .backward = [x](Gradients& g) {
                                  g.give(0, g.take_output());
                              }});
}

Variable scalar_leaf() { return Variable(Tensor::full({1}, 1, DType::f64), true); }

TEST(Tape, DoesNotGrowWithForwardPassesThatNoBackwardFollows) {
    const Variable x = scalar_leaf();
    for (int i = 0; i < 100'000; ++i) {
        step(step(step(x)));
        ASSERT_EQ(tape_size(), 0);
    }
}

TEST(Tape, DoesNotGrowWhenOnlyTheNewestResultIsKept) {
    const Variable x = scalar_leaf();
    Variable newest;
    for (int i = 0; i < 100'000; ++i) {
        newest = step(step(step(x)));
        ASSERT_EQ(tape_size(), 3);
    }
}

TEST(Tape, DoesNotGrowBehindAnOldResultThatIsKept) {
    const Variable x = scalar_leaf();
    const Variable old = step(x);
    Variable loss;
    for (int i = 0; i < 20'000; ++i) {
        loss = sum(step(x));
        backward(loss);
        ASSERT_EQ(tape_size(), 1);
    }
    backward(old);
    EXPECT_EQ(tape_size(), 0);
    EXPECT_EQ(x.grad().item(), 20'001);
}

TEST(Tape, KeepsNodesThatALaterResultStillReads) {
    const Variable x = scalar_leaf();
    Variable y = step(x);
    y = step(y);
    y = step(y);
    step(y);
    EXPECT_EQ(tape_size(), 3);
    backward(y);
    EXPECT_EQ(x.grad().item(), 1);
}

TEST(Tape, ForgetsADeadBranchAtOnce) {
    const Variable x = scalar_leaf();
    Variable first = step(x);
    std::optional<Variable> branch = step(first);
    const Variable second = step(first);
    EXPECT_EQ(tape_size(), 3);
    branch.reset();
    EXPECT_EQ(tape_size(), 2);
    first = Variable();
    EXPECT_EQ(tape_size(), 2);
    backward(second);
    EXPECT_EQ(x.grad().item(), 1);
}

TEST(Tape, FindsNodesAfterTheDeadOnesBetweenThemWereRemoved) {
    const Variable x = scalar_leaf();
    const Variable old = step(x);
    std::vector<Variable> between;
    for (int i = 0; i < 100; ++i) between.push_back(step(old));
    const Variable kept = between[60];
    Variable newest = step(kept);
    for (std::size_t i = 0; i < between.size(); ++i) {
        between[i] = Variable();
        ASSERT_EQ(tape_size(), 1 + (99 - static_cast<std::int64_t>(i)) + (i >= 60 ? 1 : 0) + 1) << i;
    }
    EXPECT_EQ(tape_size(), 3);
    newest = step(newest);
    EXPECT_EQ(tape_size(), 4);
    backward(newest, true);
    EXPECT_EQ(x.grad().item(), 1);
    backward(kept, true);
    backward(old);
    EXPECT_EQ(x.grad().item(), 3);
    EXPECT_EQ(tape_size(), 3) << "what reads the freed node stays";
}

#ifdef HEDDLE_COUNTS_MEMORY
TEST(Tape, GivesBackTheMemoryOfDeadNodesBetweenLivingOnes) {
    const Variable x = scalar_leaf();
    const Variable old = step(x);
    Variable newest = step(x);
    const auto used = [] { return mallinfo2().uordblks; };
    const std::size_t before = used();
    for (int i = 0; i < 100'000; ++i) {
        Variable next = step(x);
        newest = next;  // the one before dies between `old` and this one
    }
    EXPECT_EQ(tape_size(), 2);
    EXPECT_LT(used(), before + 1'000'000) << "100,000 dead nodes are kept";
}
#endif

TEST(Tape, TakesAMillionNodesDeep) {
    const Variable x = scalar_leaf();
    Variable y = x;
    for (int i = 0; i < kDeep; ++i) y = step(y);
    EXPECT_EQ(tape_size(), kDeep);
    backward(y);
    EXPECT_EQ(x.grad().item(), 1);
    EXPECT_EQ(tape_size(), 0);
}

TEST(Tape, ForgetsDeepChainsWithoutRecursion) {
    for (const auto& op : {step, holding_step}) {
        const Variable x = scalar_leaf();
        Variable y = x;
        for (int i = 0; i < kDeep / 3; ++i) y = op(y);
        y = Variable();
        EXPECT_EQ(tape_size(), 0);
    }
}

TEST(Tape, GoesBackThroughNodesThatHoldEachOther) {
    const Variable x = scalar_leaf();
    Variable y = x;
    for (int i = 0; i < kDeep / 3; ++i) y = holding_step(y);
    backward(y);
    EXPECT_EQ(x.grad().item(), 1);
    EXPECT_EQ(tape_size(), 0);
}

TEST(Tape, NeverTakesAStaleHandleForANewNode) {
    const Variable x = scalar_leaf();
    const Variable stale = step(x);
    backward(stale);
    const Variable fresh = step(x);
    expect_error([&] { backward(stale); }, "freed by an earlier backward");
    expect_error([&] { backward(step(stale)); }, "an earlier backward freed");
    backward(fresh);
    EXPECT_EQ(x.grad().item(), 2);
}

// Destroyed at program exit as the last owners of their tape: the test is that the program exits normally.
Variable at_exit_leaf;
Variable at_exit_result;

TEST(Tape, MayBeOutlivedByStaticVariables) {
    const FreshTape fresh;
    at_exit_leaf = scalar_leaf();
    at_exit_result = step(holding_step(at_exit_leaf));
    EXPECT_EQ(tape_size(), 2);
}

TEST(Tape, MayBeOutlivedByVariablesOfItsThread) {
    Variable survivor;
    std::thread([&] { survivor = step(holding_step(scalar_leaf())); }).join();
    expect_error([&] { backward(survivor); }, "belongs to another tape or thread");
    expect_error([&] { step(survivor); }, "was recorded on another tape");
    survivor = Variable();
}

TEST(Tape, BelongsToItsThread) {
    const Variable x = scalar_leaf();
    const Variable here = step(x);
    const std::int64_t nodes = tape_size();
    std::thread([&] {
        EXPECT_EQ(tape_size(), 0);
        const Variable own = scalar_leaf();
        const NoGrad no_grad;
        EXPECT_FALSE(step(own).requires_grad());
    }).join();
    EXPECT_EQ(tape_size(), nodes);
    EXPECT_TRUE(step(x).requires_grad()) << "the other thread's NoGrad must not reach here";
}

TEST(Tape, LetsThreadsGoBackAtTheSameTime) {
    std::vector<double> results(4);
    std::vector<std::thread> workers;
    for (double& result : results)
        workers.emplace_back([&result] {
            for (int i = 0; i < 200; ++i) {
                const Variable x(random_input({8, 8}, 5), true);
                backward(sum(product(softmax(x), x)));
                result = x.grad().data<double>()[3];
            }
        });
    for (std::thread& worker : workers) worker.join();
    for (const double result : results) EXPECT_EQ(result, results[0]);
}

TEST(FreshTape, KeepsTheOuterTapeAsItWas) {
    const Variable x = scalar_leaf();
    const Variable outer = step(x);
    const std::int64_t nodes = tape_size();
    {
        const NoGrad no_grad;
        const FreshTape fresh;
        EXPECT_EQ(tape_size(), 0);
        backward(step(step(x)));
    }
    EXPECT_EQ(tape_size(), nodes);
    backward(outer);
    EXPECT_EQ(x.grad().item(), 2);
}

TEST(FreshTape, LeavesTheOuterModeAsItWas) {
    const Variable x = scalar_leaf();
    const NoGrad no_grad;
    { const FreshTape fresh; }
    EXPECT_FALSE(step(x).requires_grad()) << "nothing is recorded in no-grad mode";
    EXPECT_EQ(tape_size(), 0);
}

TEST(Tape, FreesWhatADeadNodeSavedAlthoughItStandsBetweenLivingOnes) {
    const Variable x(random_input({64, 64}, 1), true);
    const Variable old = step(x);
    const Tensor saved = random_input({64, 64}, 2);
    std::optional<Variable> dead = product(x, Variable(saved));
    const Variable newest = step(x);
    EXPECT_FALSE(saved.unique());
    dead.reset();
    EXPECT_TRUE(saved.unique());
}

// ---- inspection

TEST(Tape, ReportsSavedMemoryPerOpLargestFirst) {
    const Variable x(random_input({8, 8}, 1), true);
    const Variable w(random_input({8, 8}, 2), true);
    const Variable y = softmax(product(product(x, w), w));
    const std::vector<SavedMemory> report = saved_memory();
    ASSERT_EQ(report.size(), 2u);
    EXPECT_EQ(report[0].op, "matmul");
    EXPECT_EQ(report[0].nodes, 2);
    EXPECT_EQ(report[0].bytes, 3 * 8 * 8 * 8) << "x, w and the first product; w counts once";
    EXPECT_EQ(report[1].op, "softmax");
    EXPECT_EQ(report[1].bytes, 8 * 8 * 8);
}

TEST(Tape, DrawsItselfForGraphviz) {
    const Variable x(random_input({2, 4}, 1), true, "x \"quoted\" \\ back");
    const Variable frozen(random_input({4, 4}, 2));
    const Variable y = softmax(product(x, frozen));
    EXPECT_EQ(tape_as_dot().find("digraph tape {"), 0u);
    const std::string dot = tape_as_dot();
    for (const char* part :
         {"label=\"matmul\\n[2, 4]\\ntape_life_test.cpp:", "label=\"softmax\\n[2, 4]",
          "label=\"x \\\"quoted\\\" \\\\ back\\n[2, 4]\", shape=ellipse]", "style=dashed", "l0 -> n", "l1 -> n"})
        EXPECT_NE(dot.find(part), std::string::npos) << part << " is missing in\n" << dot;
    // Two nodes, two leaves, three edges; every edge connects declared names; the braces are balanced.
    const auto count = [&](const std::string& part) {
        std::size_t found = 0;
        for (std::size_t at = dot.find(part); at != std::string::npos; at = dot.find(part, at + 1)) ++found;
        return found;
    };
    EXPECT_EQ(count("shape=ellipse"), 2u);
    EXPECT_EQ(count(" -> "), 3u);
    EXPECT_EQ(dot.substr(dot.size() - 2), "}\n");
}

TEST(Tape, DrawsWhatGraphvizCanRead) {
    if (std::system("dot -V >/dev/null 2>&1") != 0)
        GTEST_SKIP() << "Graphviz's dot is not installed; its structure is tested without";
    const Variable x(random_input({2, 4}, 1), true, "x \"quoted\" \\");
    const Variable y = softmax(product(x, x.detach()));
    FILE* pipe = popen("dot -Tsvg >/dev/null", "w");
    ASSERT_NE(pipe, nullptr);
    std::fputs(tape_as_dot().c_str(), pipe);
    EXPECT_EQ(pclose(pipe), 0);
}

// ---- Variables

TEST(Variable, KnowsWhatItIs) {
    const Variable none;
    EXPECT_FALSE(none.defined());
    EXPECT_FALSE(none.requires_grad());
    EXPECT_EQ(none.name(), "");
    expect_error([&] { none.value(); }, "an undefined variable has no value");
    expect_error([] { Variable{Tensor()}; }, "the value is an undefined tensor");
    Variable x(random_input({2}, 1), true, "x");
    EXPECT_TRUE(x.is_leaf());
    EXPECT_EQ(x.name(), "x");
    EXPECT_FALSE(x.grad().defined());
    const Variable y = step(x);
    EXPECT_FALSE(y.is_leaf());
    expect_error([&] { y.grad(); }, "only a leaf keeps its gradient");
    expect_error([&] { Variable(y).set_requires_grad(false); }, "only a leaf can be frozen");
    EXPECT_FALSE(y.detach().requires_grad());
}

TEST(Variable, MovesToFlatMemoryWithItsValue) {
    Variable x(random_input({3}, 1), true);
    const std::vector<double> values = x.value().to_vector();
    const Tensor flat = Tensor::zeros({5}, DType::f64);
    const Tensor gradients = Tensor::zeros({5}, DType::f64);
    x.rebind(flat.slice(1, 4), gradients.slice(1, 4));
    EXPECT_EQ(x.value().to_vector(), values);
    EXPECT_EQ(flat.slice(1, 4).to_vector(), values);
    backward(step(x), Tensor::full({3}, 2, DType::f64));
    EXPECT_EQ(gradients.to_vector(), (std::vector<double>{0, 2, 2, 2, 0})) << "backward adds into the flat memory";
    expect_error([&] { x.rebind(flat.slice(0, 3), gradients.slice(0, 2)); }, "the gradient's memory is [2] f64, wanted [3] f64");
    expect_error([&] { x.rebind(flat, gradients); }, "copy");
}

TEST(Variable, AddsToTheGradientThatItIsGiven) {
    Variable x(random_input({3}, 1), true);
    const Tensor first = Tensor::full({3}, 5, DType::f64);
    x.set_grad(first);
    backward(step(x), Tensor::full({3}, 2, DType::f64));
    EXPECT_EQ(first.to_vector(), (std::vector<double>{7, 7, 7}));
    x.set_grad({});
    EXPECT_FALSE(x.grad().defined());
    backward(step(x), Tensor::full({3}, 2, DType::f64));
    EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{2, 2, 2}));
    EXPECT_EQ(first.to_vector(), (std::vector<double>{7, 7, 7}));
    expect_error([&] { x.set_grad(Tensor::zeros({2}, DType::f64)); }, "the gradient's memory is [2] f64, wanted [3] f64");
    expect_error([&] { step(x).set_grad({}); }, "only a leaf keeps its gradient");
}

}  // namespace
}  // namespace heddle
