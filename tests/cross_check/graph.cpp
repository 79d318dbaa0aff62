#include "tests/cross_check/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/cases/op_cases.h"
#include "autograd/checkpoint.h"
#include "core/dual.h"
#include "core/safetensors.h"
#include "tests/cross_check/composed.h"

namespace heddle::cross_check {
namespace {

using In = std::span<const Variable>;

Variable read(Number number, In values, In leaves) {
    if (number == kNone) return {};
    return number < kNone ? leaves[static_cast<std::size_t>(of_leaf(0) - number)] : values[static_cast<std::size_t>(number)];
}

void run_step(const Step& step, std::vector<Variable>& values, In leaves);

Variable run_block(const Step& step, const std::vector<Variable>& inputs, In leaves) {
    const auto body = [steps = step.body, all = std::vector<Variable>(leaves.begin(), leaves.end())](In in) {
        std::vector<Variable> values(in.begin(), in.end());
        for (const Step& each : steps) run_step(each, values, all);
        return values.back();
    };
    if (step.op == "checkpoint") return checkpoint(body, inputs);
    const NoGrad no_grad;
    const Tensor value = body(inputs).value();
    if (value.dtype() != DType::dual) return value;
    return make_dual(value.to(DType::f64), Tensor::zeros(value.shape(), DType::f64));
}

void run_step(const Step& step, std::vector<Variable>& values, In leaves) {
    std::vector<Variable> inputs;
    for (const Number number : step.inputs) inputs.push_back(read(number, values, leaves));
    if (!step.body.empty())
        values.push_back(run_block(step, inputs, leaves));
    else
        for (Variable& output : tape_function(step.op).apply(step, inputs)) values.push_back(std::move(output));
}

// For each value the last step that reads it; those that a walk starts from are never let go.
std::map<Number, std::size_t> last_reads(const Graph& graph) {
    std::map<Number, std::size_t> last;
    for (std::size_t i = 0; i < graph.steps.size(); ++i)
        for (const Number number : graph.steps[i].inputs) last[number] = i;
    for (const Walk& walk : graph.walks)
        for (const Number number : walk.outputs) last[number] = graph.steps.size();
    return last;
}

Json json_of(const Step& step, const std::string& name, std::vector<std::pair<std::string, Tensor>>& tensors) {
    Json one = {{"op", step.op}, {"inputs", step.inputs}, {"options", step.options}};
    one["constants"] = Json::object();
    for (const auto& [key, tensor] : step.constants) {
        one["constants"][key] = name + "." + key;
        tensors.emplace_back(name + "." + key, tensor);
    }
    one["body"] = Json::array();
    for (std::size_t i = 0; i < step.body.size(); ++i)
        one["body"].push_back(json_of(step.body[i], fmt::format("{}.{}", name, i), tensors));
    return one;
}

// Adds the tensors under this name and returns their names; null for undefined ones.
Json saved(const std::string& name, std::span<const Tensor> each, std::vector<std::pair<std::string, Tensor>>& tensors) {
    Json names = Json::array();
    for (std::size_t i = 0; i < each.size(); ++i) {
        names.push_back(each[i].defined() ? Json(fmt::format("{}.{}", name, i)) : Json());
        if (each[i].defined()) tensors.emplace_back(fmt::format("{}.{}", name, i), each[i]);
    }
    return names;
}

}  // namespace

std::vector<Variable> run(const Graph& graph, In leaves) {
    std::vector<Variable> values;
    const std::map<Number, std::size_t> last = graph.drops ? last_reads(graph) : std::map<Number, std::size_t>();
    for (std::size_t i = 0; i < graph.steps.size(); ++i) {
        run_step(graph.steps[i], values, leaves);
        for (std::size_t v = 0; graph.drops && v < values.size(); ++v) {
            const auto found = last.find(static_cast<Number>(v));
            if (found == last.end() || found->second <= i) values[v] = Variable();
        }
    }
    return values;
}

Results by_tape(const Graph& graph) {
    const FreshTape fresh;
    std::vector<Variable> leaves;
    for (std::size_t i = 0; i < graph.leaves.size(); ++i) leaves.emplace_back(graph.leaves[i], graph.needs[i]);
    std::vector<Variable> values = run(graph, leaves);
    Results results;
    for (std::size_t w = 0; w < graph.walks.size(); ++w) {
        const Walk& walk = graph.walks[w];
        std::vector<Variable> outputs;
        for (const Number number : walk.outputs) outputs.push_back(read(number, values, leaves));
        for (const Variable& output : outputs) results.outputs.push_back(output.value());
        backward(outputs, walk.cotangents, w + 1 < graph.walks.size());
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        results.gradients.emplace_back();
        if (!graph.needs[i]) continue;
        const Tensor& gradient = leaves[i].grad();
        results.gradients.back() = gradient.defined() ? gradient.clone() : Tensor::zeros(leaves[i].shape(), DType::f64);
    }
    return results;
}

std::vector<Tensor> by_duals(const Graph& graph) {
    const NoGrad no_grad;
    std::vector<Variable> leaves;
    for (const Tensor& leaf : graph.leaves) leaves.emplace_back(make_dual(leaf, Tensor::zeros(leaf.shape(), DType::f64)));
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        gradients.emplace_back();
        if (!graph.needs[i]) continue;
        const Variable before = leaves[i];
        gradients.back() = Tensor::zeros(before.shape(), DType::f64);
        for (std::int64_t e = 0; e < gradients.back().numel(); ++e) {
            Tensor unit = Tensor::zeros(before.shape(), DType::f64);
            unit.mutable_data<double>()[e] = 1;
            leaves[i] = make_dual(graph.leaves[i], unit);
            const std::vector<Variable> values = run(graph, leaves);
            double& sum = gradients.back().mutable_data<double>()[e];
            for (const Walk& walk : graph.walks)
                for (std::size_t k = 0; k < walk.outputs.size(); ++k) {
                    const Tensor slope = derivative_of(read(walk.outputs[k], values, leaves).value());
                    for (std::int64_t o = 0; o < slope.numel(); ++o)
                        sum += walk.cotangents[k].data<double>()[o] * slope.data<double>()[o];
                }
        }
        leaves[i] = before;
    }
    return gradients;
}

double largest_gap(std::span<const Tensor> a, std::span<const Tensor> b) {
    double scale = kLeastScale, gap = 0;
    if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < b.size(); ++i) {
        if (a[i].defined() != b[i].defined()) return std::numeric_limits<double>::infinity();
        if (!a[i].defined()) continue;
        if (a[i].shape() != b[i].shape()) return std::numeric_limits<double>::infinity();
        for (std::int64_t e = 0; e < b[i].numel(); ++e) {
            const double wanted = b[i].values<double>()[static_cast<std::size_t>(e)];
            const double here = std::abs(a[i].values<double>()[static_cast<std::size_t>(e)] - wanted);
            if (std::isnan(here)) return here;
            scale = std::max(scale, std::abs(wanted));
            gap = std::max(gap, here);
        }
    }
    return gap / scale;
}

std::vector<std::string> op_names() {
    std::vector<std::string> names;
    const auto add = [&](const std::vector<GradientCase>& cases) {
        for (const GradientCase& one : cases)
            if (std::find(names.begin(), names.end(), one.op) == names.end()) names.push_back(one.op);
    };
    add(gradient_cases());
    add(composed_functions().proofs());
    return names;
}

int count_ops(std::span<const Step> steps) {
    int count = 0;
    for (const Step& step : steps) count += step.body.empty() ? 1 : count_ops(step.body);
    return count;
}

void Features::add(const Graph& graph) {
    add(graph.steps);
    frozen += std::count(graph.needs.begin(), graph.needs.end(), false);
    retained += std::ssize(graph.walks) - 1;
    dropped += graph.drops ? 1 : 0;
}

void Features::add(std::span<const Step> steps) {
    std::map<Number, int> readers;
    for (const Step& step : steps) {
        ops += step.body.empty() ? 1 : 0;
        checkpoints += step.op == "checkpoint" ? 1 : 0;
        no_grad += step.op == "no_grad" ? 1 : 0;
        views += step.op == "reshape" || step.op == "slice" ? 1 : 0;
        for (const Number number : step.inputs)
            if (number != kNone && ++readers[number] == 2) ++shared;
        add(step.body);
    }
}

Json description(const Graph& graph) {
    std::vector<std::pair<std::string, Tensor>> tensors;
    Json steps = Json::array(), walks = Json::array();
    for (std::size_t i = 0; i < graph.steps.size(); ++i)
        steps.push_back(json_of(graph.steps[i], fmt::format("step.{}", i), tensors));
    for (const Walk& walk : graph.walks) walks.push_back(walk.outputs);
    return {{"steps", std::move(steps)}, {"walks", std::move(walks)}, {"drops", graph.drops}};
}

void save(const std::string& path, std::span<const Graph> graphs, std::span<const Results> results) {
    std::vector<std::pair<std::string, Tensor>> tensors;
    Json all = Json::array();
    for (std::size_t g = 0; g < graphs.size(); ++g) {
        Json steps = Json::array(), walks = Json::array();
        for (std::size_t i = 0; i < graphs[g].steps.size(); ++i)
            steps.push_back(json_of(graphs[g].steps[i], fmt::format("{}.step.{}", g, i), tensors));
        for (std::size_t w = 0; w < graphs[g].walks.size(); ++w) {
            const Walk& walk = graphs[g].walks[w];
            walks.push_back(
                {{"outputs", walk.outputs}, {"cotangents", saved(fmt::format("{}.walk.{}", g, w), walk.cotangents, tensors)}});
        }
        all.push_back({{"steps", std::move(steps)},
                       {"walks", std::move(walks)},
                       {"leaves", saved(fmt::format("{}.leaf", g), graphs[g].leaves, tensors)},
                       {"outputs", saved(fmt::format("{}.output", g), results[g].outputs, tensors)},
                       {"gradients", saved(fmt::format("{}.gradient", g), results[g].gradients, tensors)}});
    }
    Json formulas = Json::object();
    for (const auto& [name, function] : tape_functions()) formulas[std::string(name)] = function->torch;
    for (const cases::TapeFunction& each : composed_functions().functions) formulas[std::string(each.name)] = each.torch;
    save_safetensors(path, tensors, {{"graphs", all.dump()}, {"formulas", formulas.dump()}});
}

}  // namespace heddle::cross_check
