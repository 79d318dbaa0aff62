// Draws configurations of single ops and whole graphs, runs them forward and backward in f64, and writes what PyTorch shall
// compute again (torch_cross_check.py, which starts this program):
//
//     cross_check ops FOLDER COUNT SEED           COUNT configurations of each op of gradient_cases(): FOLDER/OP.safetensors
//     cross_check graphs FOLDER COUNT SEED SOME   COUNT graphs compared with dual numbers, the first SOME in
//     FOLDER/graphs.safetensors;
//                                             prints a JSON object; status 1 when a graph differs
//     cross_check graph NUMBER                    prints the graph of a complaint, and both gradients of each leaf
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <exception>
#include <mutex>

#include "core/format.h"
#include "core/parallel.h"
#include "tests/cross_check/graph.h"

namespace heddle::cross_check {
namespace {

void write_ops(const std::string& folder, std::uint64_t count, std::uint64_t seed) {
    for (const std::string& op : op_names()) {
        std::vector<Graph> graphs;
        std::vector<Results> results;
        for (std::uint64_t i = 0; i < count; ++i) {
            graphs.push_back(draw_op(op, seed * 1'000'000 + i));
            results.push_back(by_tape(graphs.back()));
        }
        save(folder + "/" + op + ".safetensors", graphs, results);
    }
}

int compare_graphs(const std::string& folder, std::uint64_t count, std::uint64_t seed, std::uint64_t some) {
    if (some > count) fail(fmt::format("cross_check: SOME is {}, wanted at most COUNT, {}", some, count));
    std::vector<Graph> graphs(some);
    std::vector<Results> results(some);
    std::mutex lock;
    double largest = 0;
    std::uint64_t worst = 0, different = 0;
    Features all;
    parallel_for(static_cast<std::int64_t>(count), 8, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::uint64_t>(begin); i < static_cast<std::uint64_t>(end); ++i) {
            const std::uint64_t number = seed * 1'000'000 + i;
            Graph graph = draw_graph(number);
            Results by_backward = by_tape(graph);
            const double gap = largest_gap(by_backward.gradients, by_duals(graph));
            const std::lock_guard held(lock);
            all.add(graph);
            if (!(gap <= kGraphBound)) {
                ++different;
                fmt::print(stderr, "cross_check: graph {}: backward differs from dual numbers by {:.2g}\n", number, gap);
            }
            if (!(gap <= largest)) largest = gap, worst = number;
            if (i < some) graphs[i] = std::move(graph), results[i] = std::move(by_backward);
        }
    });
    save(folder + "/graphs.safetensors", graphs, results);
    const Json summary = {{"graphs", count},
                          {"largest_gap", largest},
                          {"worst", worst},
                          {"ops", all.ops},
                          {"checkpoints", all.checkpoints},
                          {"no_grad", all.no_grad},
                          {"frozen_leaves", all.frozen},
                          {"shared", all.shared},
                          {"views", all.views},
                          {"retained", all.retained},
                          {"dropped", all.dropped}};
    fmt::print("{}\n", summary.dump());
    return different == 0 ? 0 : 1;
}

std::string numbers(const Tensor& x) {
    return x.defined() ? fmt::format("{} {}", x.shape().str(), fmt::join(x.to_vector(), " ")) : "none";
}

void print_graph(std::uint64_t number) {
    const Graph graph = draw_graph(number);
    fmt::print("{}\n", description(graph).dump(2));
    const std::vector<Tensor> by_backward = by_tape(graph).gradients, by_forward = by_duals(graph);
    for (std::size_t i = 0; i < graph.leaves.size(); ++i)
        fmt::print("leaf {}: {}\n  backward {}\n  duals    {}\n", of_leaf(i), numbers(graph.leaves[i]), numbers(by_backward[i]),
                   numbers(by_forward[i]));
}

int run_command(std::span<char* const> arguments) {
    const std::string command = arguments.size() > 1 ? arguments[1] : "";
    const auto number = [&](std::size_t i) { return std::stoull(arguments[i]); };
    if (command == "ops" && arguments.size() == 5) {
        write_ops(arguments[2], number(3), number(4));
        return 0;
    }
    if (command == "graph" && arguments.size() == 3) {
        print_graph(number(2));
        return 0;
    }
    if (command == "graphs" && arguments.size() == 6) return compare_graphs(arguments[2], number(3), number(4), number(5));
    fail("usage: cross_check ops FOLDER COUNT SEED, cross_check graphs FOLDER COUNT SEED SOME, or cross_check graph NUMBER");
}

}  // namespace
}  // namespace heddle::cross_check

int main(int count, char** arguments) {
    try {
        return heddle::cross_check::run_command({arguments, static_cast<std::size_t>(count)});
    } catch (const std::exception& error) {
        fmt::print(stderr, "cross_check: {}\n", error.what());
        return 1;
    }
}
