// Single ops and whole graphs, drawn from a seed.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "tests/cross_check/draw.h"

namespace heddle::cross_check {
namespace {

constexpr int kFewest = 5, kMost = 40;

Tensor cotangent_of(const Shape& shape, std::uint64_t key) {
    Tensor result = Tensor::empty(shape, DType::f64);
    fill_normal(result, 0, 1, key);
    return result;
}

Draw drawn_steps(std::uint64_t seed) {
    Draw draw(seed, false);
    const auto wanted = static_cast<int>(draw.between(kFewest, kMost));
    for (int tries = 0, count = 0; tries < 1000 && count < wanted; ++tries, count = count_ops(draw.steps())) {
        const int left = kMost - count;
        if (count > 0 && left >= 8 && draw.chance(0.12))
            draw.add_block("checkpoint", 6);
        else if (count > 0 && left >= 8 && draw.chance(0.08))
            draw.add_block("no_grad", 4);
        else
            draw.add(std::next(drawn_ops().begin(), draw.between(0, std::ssize(drawn_ops()) - 1))->first);
    }
    return draw;
}

// Which values a walk can start from.
std::vector<Number> recorded(const Graph& graph, std::vector<Shape>& shapes) {
    const FreshTape fresh;
    std::vector<Variable> leaves;
    for (std::size_t i = 0; i < graph.leaves.size(); ++i) leaves.emplace_back(graph.leaves[i], graph.needs[i]);
    std::vector<Number> numbers;
    for (const Variable& value : run(graph, leaves)) {
        if (value.requires_grad() && !value.is_leaf()) numbers.push_back(static_cast<Number>(shapes.size()));
        shapes.push_back(value.shape());
    }
    return numbers;
}

}  // namespace

Graph draw_op(const std::string& op, std::uint64_t seed) {
    Draw draw(stable_hash(op) ^ seed, true);
    for (int tries = 0; !draw.add(op); ++tries) check(tries < 1000, "cross_check: no configuration of {} was found", op);
    std::vector<Tensor> values = draw.values();
    Graph graph = draw.take();
    graph.walks.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) {
        graph.walks[0].outputs.push_back(static_cast<Number>(i));
        graph.walks[0].cotangents.push_back(cotangent_of(values[i].shape(), seed * 8 + i));
    }
    return graph;
}

Graph draw_graph(std::uint64_t seed) {
    Draw draw = drawn_steps(seed);
    Graph graph = draw.take();
    for (std::size_t i = 1; i < graph.needs.size(); ++i) graph.needs[i] = !draw.chance(0.15);
    std::vector<Shape> shapes;
    const std::vector<Number> starts = recorded(graph, shapes);
    if (starts.empty()) return draw_graph(seed + (std::uint64_t{1} << 40));  // everything was cut off by `no_grad`
    for (std::int64_t walks = draw.between(1, 3); walks > 0; --walks) {
        Walk& walk = graph.walks.emplace_back();
        walk.outputs = {starts.back()};
        if (draw.chance(0.6)) walk.outputs.push_back(starts[static_cast<std::size_t>(draw.between(0, std::ssize(starts) - 1))]);
        if (walk.outputs[0] == walk.outputs.back()) walk.outputs.resize(1);
        for (const Number number : walk.outputs)
            walk.cotangents.push_back(cotangent_of(shapes[static_cast<std::size_t>(number)],
                                                   seed * 64 + walk.cotangents.size() + 4 * graph.walks.size()));
    }
    graph.drops = draw.chance(0.5);
    return graph;
}

}  // namespace heddle::cross_check
