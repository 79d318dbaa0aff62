// The life of a node: it is appended, found by its number, and buried when nothing can reach it.
//
// A node is held by the Variables of its outputs and by the later nodes that read them. When the last holder goes, the node goes,
// and with it its hold on the nodes before: forward passes without a backward leave nothing on the tape, whatever handles were
// kept in between. This works through a list and never recurses, so a chain may be a million nodes long.
#include <algorithm>
#include <utility>

#include "autograd/tape_impl.h"
#include "core/format.h"

namespace heddle {

std::vector<Variable> Tape::append(const std::shared_ptr<Tape>& self, std::vector<Tensor> outputs, Record&& entry) {
    TapeNode node;
    node.number = self->next_number_;
    node.op = entry.op;
    node.where = entry.where;
    node.always = entry.always;
    node.module = module_to_record();
    for (const Variable& variable : entry.inputs) node.inputs.push_back(self->input_of(variable, entry));
    for (const TapeNode::Input& input : node.inputs)
        if (TapeNode* producer = self->find(input.node)) ++producer->holders;
    node.backward = std::move(entry.backward);
    for (Tensor& tensor : entry.saved) {
        const std::uint64_t version = tensor.version();
        node.saved.push_back({std::move(tensor), version});
    }
    node.holders = static_cast<std::int64_t>(outputs.size());
    std::vector<Variable> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        node.outputs.push_back({outputs[i].shape(), outputs[i].dtype(), outputs[i].device(), {}});
        auto slot = std::make_shared<Variable::Slot>();
        slot->value = std::move(outputs[i]);
        slot->tape = self;
        slot->node = node.number;
        slot->output = static_cast<int>(i);
        results.push_back(Variable(std::move(slot)));
    }
    ++self->next_number_;
    self->nodes_.push_back(std::move(node));
    return results;
}

TapeNode::Input Tape::input_of(const Variable& variable, const Record& entry) const {
    TapeNode::Input input;
    if (!variable.defined()) return input;
    input.needs = variable.requires_grad();
    input.shape = variable.shape();
    input.dtype = variable.dtype();
    input.device = variable.value().device();
    const Variable::Slot& slot = *variable.slot_;
    if (slot.tape == nullptr) {
        input.leaf = variable.slot_;
        return input;
    }
    check(slot.tape.get() == this,
          "{} at {}: an input {} was recorded on another tape; a Variable belongs to the thread that made it, and what a "
          "checkpointed function reads must be among its inputs",
          entry.op, entry.where, input.shape);
    input.node = slot.node;
    input.output = slot.output;
    return input;
}

// Numbers ascend with gaps for buried nodes, so the distance from the first number is an upper bound of the index.
TapeNode* Tape::find(std::int64_t number) {
    if (nodes_.empty() || number < nodes_.front().number || number > nodes_.back().number) return nullptr;
    const auto bound = std::min(static_cast<std::size_t>(number - nodes_.front().number), nodes_.size() - 1);
    auto at = nodes_.begin() + static_cast<std::ptrdiff_t>(bound);
    if (at->number != number)
        at = std::lower_bound(nodes_.begin(), at, number,
                              [](const TapeNode& node, std::int64_t wanted) { return node.number < wanted; });
    return at->number == number && !at->dead ? &*at : nullptr;
}

void Tape::release(std::int64_t number) {
    TapeNode* node = find(number);
    if (node == nullptr || --node->holders > 0) return;
    unheld_.push_back(number);
    // During a walk, gradients may still be on their way to the node. During a burial, its loop will bury this one, too.
    if (!walking_ && !burying_) bury_pending();
}

// Destroys the node's contents; Variables held by its backward call release() other nodes, which only notes them.
void Tape::bury(TapeNode& node) {
    node.dead = true;
    ++dead_;
    const std::vector<TapeNode::Input> inputs = std::exchange(node.inputs, {});
    for (const TapeNode::Input& input : inputs)
        if (TapeNode* producer = find(input.node); producer != nullptr && --producer->holders == 0) unheld_.push_back(input.node);
    node.saved.clear();
    node.backward = nullptr;
    node.outputs.clear();
}

void Tape::bury_pending() {
    burying_ = true;
    while (!unheld_.empty()) {
        TapeNode* node = find(unheld_.back());
        unheld_.pop_back();
        if (node != nullptr && node->holders == 0) bury(*node);
    }
    burying_ = false;
    compact();
}

// Removes dead nodes at the ends at once, and those in between when they are the majority: constant work per node.
void Tape::compact() {
    for (; !nodes_.empty() && nodes_.back().dead; --dead_) nodes_.pop_back();
    for (; !nodes_.empty() && nodes_.front().dead; --dead_) nodes_.pop_front();
    if (2 * dead_ <= static_cast<std::int64_t>(nodes_.size())) return;
    std::erase_if(nodes_, [](const TapeNode& node) { return node.dead; });
    dead_ = 0;
}

}  // namespace heddle
