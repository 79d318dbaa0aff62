#include "nn/joined_linear.h"

#include <utility>

#include "autograd/observe.h"
#include "kernels/linear/linear.h"
#include "kernels/slice/slice.h"
#include "nn/multi_head_attention.h"

namespace heddle::nn {
namespace {

thread_local JoinedMemory* innermost = nullptr;

// Each map of keys and values, in the order of the layers.
void add_maps(const Module& module, std::vector<const Linear*>& maps) {
    for (const Module* child : module.children()) {
        const bool attends = dynamic_cast<const CrossAttention*>(&module) != nullptr;
        const auto* const map = attends ? dynamic_cast<const Linear*>(child) : nullptr;
        if (map != nullptr && child->name() == module.dotted("key_value"))
            maps.push_back(map);
        else
            add_maps(*child, maps);
    }
}

std::vector<Variable> leaves_of(const std::vector<const Linear*>& maps, const Variable& (Linear::*leaf)() const) {
    std::vector<Variable> leaves;
    for (const Linear* map : maps)
        if ((map->*leaf)().defined()) leaves.push_back((map->*leaf)());
    return leaves;
}

// Adds the gradients of leaves that are the inputs from `first` on: by add(dy, target) in one step if they still lie one behind
// the other in `gradient`, else one by one.
template <class Add>
void add_gradients(Gradients& g, int first, const std::vector<std::int64_t>& extents, const Tensor& gradient, const Add& add) {
    const Tensor dy = g.output();
    std::vector<Tensor> targets;
    bool together = true;
    std::int64_t begin = 0;
    for (const std::int64_t extent : extents) {
        targets.push_back(g.accumulate_into(first + static_cast<int>(targets.size())));
        together = together && targets.back().bytes_data() == gradient.slice(begin, begin + extent).bytes_data();
        begin += extent;
    }
    if (together) return add(dy, gradient);
    begin = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        add(kernels::slice_forward(dy, 1, begin, begin + extents[i]), targets[i]);
        begin += extents[i];
    }
}

}  // namespace

std::vector<std::vector<Variable>> leaves_read_together(const Module& module) {
    std::vector<const Linear*> maps;
    add_maps(module, maps);
    if (maps.size() < 2) return {};
    return {leaves_of(maps, &Linear::weight), leaves_of(maps, &Linear::bias)};
}

JoinedMemory::JoinedMemory() : outer_(std::exchange(innermost, this)) {}

// Delegates, so that the destructor runs if a product throws.
JoinedMemory::JoinedMemory(const Module& decoder, const Variable& memory, Where where) : JoinedMemory() {
    if (!memory.defined() || memory.device() == Device::cpu || observed()) return;
    std::vector<const Linear*> maps;
    add_maps(decoder, maps);
    if (maps.size() < 2) return;
    const std::vector<Variable> weights = leaves_of(maps, &Linear::weight), biases = leaves_of(maps, &Linear::bias);
    std::vector<Variable> inputs = {memory};
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    inputs.insert(inputs.end(), biases.begin(), biases.end());
    const bool trained = weights.front().requires_grad();
    for (std::size_t i = 1; i < inputs.size(); ++i)
        if (inputs[i].requires_grad() != trained) return;
    const std::optional<JoinedLeaves> weight = joined(weights);
    const std::optional<JoinedLeaves> bias = biases.empty() ? JoinedLeaves() : joined(biases);
    if (!weight || !bias || weight->value.cols() != memory.cols()) return;
    std::vector<std::int64_t> extents;
    for (const Variable& each : weights) extents.push_back(each.dim(0));
    Tensor y = kernels::linear_forward(memory.value(), weight->value, bias->value);
    product_ = record(y, {.op = "linear",
                          .where = where,
                          .inputs = std::move(inputs),
                          .saved = {memory.value(), weight->value},
                          .backward = [extents, trained, weight = weight->gradient, bias = bias->gradient](Gradients& g) {
                              if (g.needs(0)) g.give(0, kernels::linear_backward_x(g.output(), g.saved(1)));
                              if (!trained) return;
                              add_gradients(g, 1, extents, weight, [&](const Tensor& dy, Tensor to) {
                                  kernels::linear_backward_weight(dy, g.saved(0), to);
                              });
                              if (bias.defined())
                                  add_gradients(g, 1 + static_cast<int>(extents.size()), extents, bias,
                                                [](const Tensor& dy, const Tensor& to) { kernels::BiasSums::add(dy, to); });
                          }});
    memory_ = memory;
    maps_ = std::move(maps);
}

JoinedMemory::~JoinedMemory() { innermost = outer_; }

std::optional<ops::ColumnsOf> JoinedMemory::columns(const Linear& map, const Variable& memory) {
    if (innermost == nullptr || !innermost->product_.defined() || !innermost->memory_.is(memory)) return {};
    std::int64_t begin = 0;
    for (const Linear* each : innermost->maps_) {
        const std::int64_t width = each->weight().dim(0);
        if (each == &map) return ops::ColumnsOf(innermost->product_, begin, width);
        begin += width;
    }
    return {};
}

}  // namespace heddle::nn
