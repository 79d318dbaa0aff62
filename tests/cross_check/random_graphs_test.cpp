// Random graphs: the tape's gradients equal those of dual numbers. cross_check.cpp compares thousands of them.
#include <gtest/gtest.h>

#include <set>

#include "tests/cross_check/graph.h"

namespace heddle::cross_check {
namespace {

constexpr std::uint64_t kGraphs = 150;

TEST(RandomGraphs, HaveTheGradientsOfDualNumbers) {
    Features all;
    for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
        const Graph graph = draw_graph(seed);
        EXPECT_GE(count_ops(graph.steps), 5) << seed;
        EXPECT_LE(count_ops(graph.steps), 40) << seed;
        EXPECT_LE(largest_gap(by_tape(graph).gradients, by_duals(graph)), kGraphBound) << "graph " << seed;
        all.add(graph);
    }
    // Each kind of difficulty is there.
    for (const std::int64_t count : {all.checkpoints, all.no_grad, all.frozen, all.shared, all.views, all.retained, all.dropped})
        EXPECT_GE(count, 30);
}

TEST(RandomGraphs, AreTheSameForTheSameSeed) {
    const Graph first = draw_graph(3), again = draw_graph(3), other = draw_graph(4);
    EXPECT_EQ(first.leaves[0].to_vector(), again.leaves[0].to_vector());
    EXPECT_NE(first.leaves[0].to_vector(), other.leaves[0].to_vector());
    EXPECT_EQ(largest_gap(by_tape(first).gradients, by_tape(again).gradients), 0);
}

// The comparison itself can fail: it detects a changed cotangent.
TEST(RandomGraphs, AWrongCotangentIsSeen) {
    int seen = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Graph graph = draw_graph(seed);
        const std::vector<Tensor> right = by_duals(graph);
        for (double& each : graph.walks[0].cotangents[0].mutable_values<double>()) each *= 1 + 1e-6;
        seen += largest_gap(by_tape(graph).gradients, right) > kGraphBound ? 1 : 0;
    }
    EXPECT_GE(seen, 10);  // in some graphs the first output depends on frozen leaves alone
}

TEST(Witness, EveryOpOfTheTableHasConfigurations) {
    std::set<std::string> ops;
    for (const std::string& op : op_names()) {
        ops.insert(op);
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
            const Graph graph = draw_op(op, seed);
            EXPECT_EQ(graph.steps.size(), 1u) << op;
            EXPECT_LE(largest_gap(by_tape(graph).gradients, by_duals(graph)), 1e-12) << op << " " << seed;
        }
    }
    EXPECT_GE(ops.size(), 34u);
}

TEST(Witness, TheGapIsThatOfTheWorstElement) {
    const Tensor a = Tensor::from({1.0, 2.0, 4.0}, {3}), b = Tensor::from({1.0, 2.5, 4.0}, {3});
    const Tensor none = Tensor::from({1.0, std::nan(""), 4.0}, {3}), short_one = Tensor::from({1.0}, {1});
    EXPECT_EQ(largest_gap(std::vector{a}, std::vector{b}), 0.125);
    EXPECT_TRUE(std::isnan(largest_gap(std::vector{none}, std::vector{b})));
    EXPECT_TRUE(std::isinf(largest_gap(std::vector{short_one}, std::vector{b})));
    EXPECT_TRUE(std::isinf(largest_gap(std::vector{Tensor()}, std::vector{b})));
    EXPECT_TRUE(std::isinf(largest_gap({}, std::vector{b})));
}

}  // namespace
}  // namespace heddle::cross_check
