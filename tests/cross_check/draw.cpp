#include "tests/cross_check/draw.h"

#include <algorithm>
#include <cmath>

#include "autograd/cases/op_cases.h"
#include "core/format.h"
#include "tests/cross_check/composed.h"

namespace heddle::cross_check {
namespace {

constexpr double kLargestValue = 30;  // in graphs
constexpr std::int64_t kMostLeafElements = 80;

std::vector<Variable> inputs_of(const std::vector<Tensor>& values) {
    std::vector<Variable> inputs;
    for (const Tensor& value : values) inputs.push_back(value.defined() ? Variable(value) : Variable());
    return inputs;
}

// The block's or op's results; steps inside a block also read `leaves`.
std::vector<Tensor> values_of(const Step& step, const std::vector<Tensor>& inputs, std::span<const Tensor> leaves) {
    const NoGrad no_grad;
    if (step.body.empty()) {
        std::vector<Tensor> outputs;
        for (const Variable& output : tape_function(step.op).apply(step, inputs_of(inputs))) outputs.push_back(output.value());
        return outputs;
    }
    Graph block;
    block.steps = {step};
    for (std::size_t i = 0; i < inputs.size(); ++i) block.steps[0].inputs[i] = of_leaf(leaves.size() + i);
    std::vector<Variable> all = inputs_of({leaves.begin(), leaves.end()});
    for (const Tensor& input : inputs) all.emplace_back(input);
    return {run(block, all).back().value()};
}

}  // namespace

const std::map<std::string_view, const cases::TapeFunction*>& tape_functions() {
    static const auto all = [] {
        std::map<std::string_view, const cases::TapeFunction*> result;
        for (const OpCases& op : op_cases())
            for (const cases::TapeFunction& each : op.functions) result.emplace(each.name, &each);
        return result;
    }();
    return all;
}

const cases::TapeFunction& tape_function(std::string_view name) {
    for (const cases::TapeFunction& each : composed_functions().functions)
        if (each.name == name) return each;
    const auto found = tape_functions().find(name);
    if (found == tape_functions().end()) fail(fmt::format("cross_check: no table of an op names the function {}", name));
    return *found->second;
}

bool Drawing::suits(const Step& step, const std::vector<Tensor>& in, const std::vector<Tensor>& outputs) const {
    for (const Tensor& output : outputs)
        for (const double value : output.values<double>())
            if (!std::isfinite(value) || (!alone() && std::abs(value) > kLargestValue)) return false;
    const auto own = step.body.empty() ? tape_function(step.op).suits : nullptr;
    return own != nullptr ? own(*this, step, in, outputs) : small(outputs);
}

bool Drawing::append(Step step) {
    std::vector<Tensor> inputs;
    for (const Number number : step.inputs) inputs.push_back(number == kNone ? Tensor() : value(number));
    std::int64_t leaf_elements = 0;
    for (const Tensor& each : leaves_) leaf_elements += each.numel();
    if (!alone() && leaf_elements > kMostLeafElements) return false;
    const std::vector<Tensor> outputs = values_of(step, inputs, leaves_);
    if (!suits(step, inputs, outputs)) return false;
    values_.insert(values_.end(), outputs.begin(), outputs.end());
    steps_.push_back(std::move(step));
    return true;
}

bool Drawing::add(std::string_view op) {
    const std::size_t leaves = leaves_.size();
    if (std::optional<Step> step = tape_function(op).draw(*this)) {
        step->op = op;
        if (append(std::move(*step))) return true;
    }
    leaves_.resize(leaves);
    return false;
}

bool Drawing::add_block(const std::string& kind, int most_steps) {
    Step block{.op = kind, .inputs = {}};
    const std::size_t leaves = leaves_.size();
    for (std::int64_t count = between(1, 3); count > 0; --count) block.inputs.push_back(any(0, 3));
    std::vector<Tensor> inputs;
    for (const Number number : block.inputs) inputs.push_back(value(number));
    std::swap(values_, inputs);
    std::swap(steps_, block.body);
    const auto wanted = static_cast<std::size_t>(between(1, most_steps));
    for (int tries = 0; tries < 40 && steps_.size() < wanted; ++tries) {
        if (most_steps > 2 && chance(0.1)) {
            add_block(chance(0.5) ? "checkpoint" : "no_grad", 2);
            continue;
        }
        add_any();
    }
    std::swap(values_, inputs);
    std::swap(steps_, block.body);
    if (!block.body.empty() && append(std::move(block))) return true;
    leaves_.resize(leaves);
    return false;
}

bool Drawing::add_any() { return add(std::next(tape_functions().begin(), between(0, std::ssize(tape_functions()) - 1))->first); }

Graph Drawing::take() {
    Graph graph;
    graph.leaves = std::move(leaves_);
    graph.needs.assign(graph.leaves.size(), true);
    graph.steps = std::move(steps_);
    return graph;
}

// ---- single ops and whole graphs, drawn from a seed

namespace {

constexpr int kFewest = 5, kMost = 40;

Tensor cotangent_of(const Shape& shape, std::uint64_t key) {
    Tensor result = Tensor::empty(shape, DType::f64);
    fill_normal(result, 0, 1, key);
    return result;
}

Drawing drawn_steps(std::uint64_t seed) {
    Drawing draw(seed, false);
    const auto wanted = static_cast<int>(draw.between(kFewest, kMost));
    for (int tries = 0, count = 0; tries < 1000 && count < wanted; ++tries, count = count_ops(draw.steps())) {
        const int left = kMost - count;
        if (count > 0 && left >= 8 && draw.chance(0.12))
            draw.add_block("checkpoint", 6);
        else if (count > 0 && left >= 8 && draw.chance(0.08))
            draw.add_block("no_grad", 4);
        else
            draw.add_any();
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
    Drawing draw(stable_hash(op) ^ seed, true);
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
    Drawing draw = drawn_steps(seed);
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
