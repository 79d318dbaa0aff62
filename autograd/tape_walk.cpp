// Backward: one walk over the nodes from the end.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "autograd/observe.h"
#include "autograd/op_times.h"
#include "autograd/tape_impl.h"
#include "core/branch.h"
#include "core/format.h"
#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/linear/linear.h"

namespace heddle {
namespace {

thread_local const std::function<void(const Variable&)>* gradient_observer = nullptr;

}  // namespace

ObserveGradients::ObserveGradients(std::function<void(const Variable&)> complete)
    : complete_(std::move(complete)), before_(std::exchange(gradient_observer, &complete_)) {}
ObserveGradients::~ObserveGradients() { gradient_observer = before_; }

// ---- the gradients of one node's backward call

namespace {

const TapeNode::Input& input_of(const TapeNode& node, int i) {
    check(i >= 0 && i < static_cast<int>(node.inputs.size()), "{} at {}: backward asks for input {} of {}, numbered from 0",
          node.op, node.where, i, node.inputs.size());
    return node.inputs[static_cast<std::size_t>(i)];
}

TapeNode::Output& output_of(TapeNode& node, int i) {
    check(i >= 0 && i < static_cast<int>(node.outputs.size()), "{} at {}: backward asks for output {} of {}, numbered from 0",
          node.op, node.where, i, node.outputs.size());
    return node.outputs[static_cast<std::size_t>(i)];
}

// After adding to `target`, the gradient of input i.
void added_to(const Tensor& target, const TapeNode& node, int i) {
    target.bump_version(node.where);
    search_for_anomaly(target, {node.op, node.where, node.module}, "the gradient of input", i);
}

}  // namespace

bool Gradients::has_output(int i) const { return output_of(node_, i).gradient.defined(); }

Tensor Gradients::output(int i) {
    const TapeNode::Output& output = output_of(node_, i);
    return output.gradient.defined() ? output.gradient : Tensor::zeros(output.shape, output.dtype, output.device);
}

Tensor Gradients::take_output(int i) {
    Tensor gradient = output(i);
    output_of(node_, i).gradient = Tensor();
    return gradient.unique() ? gradient
                             : gradient.clone();  // the op may change it, and the cotangent of backward is the caller's
}

const Tensor& Gradients::saved(int i) const {
    check(i >= 0 && i < static_cast<int>(node_.saved.size()), "{} at {}: backward reads saved tensor {}, but {} were saved",
          node_.op, node_.where, i, node_.saved.size());
    const TapeNode::Saved& saved = node_.saved[static_cast<std::size_t>(i)];
    if (saved.tensor.version() != saved.version)
        fail_with(
            "{} at {} saved a tensor {} for backward, but it was changed in place at {} since (version {} instead of "
            "{}); run backward before the change or change a clone()",
            node_.op, node_.where, saved.tensor.shape(), saved.tensor.changed_at(), saved.tensor.version(), saved.version);
    return saved.tensor;
}

bool Gradients::needs(int i) const { return input_of(node_, i).needs; }

void Gradients::give(int i, Tensor gradient) {
    const TapeNode::Input& input = input_of(node_, i);
    if (!input.needs) return;
    if (!gradient.defined())
        fail_with("{} at {}: backward gave input {} an undefined tensor, wanted {} {}", node_.op, node_.where, i, input.shape,
                  input.dtype);
    if (gradient.shape() != input.shape || gradient.dtype() != input.dtype)
        fail_with("{} at {}: backward gave input {} a gradient {} {}, wanted {} {}", node_.op, node_.where, i, gradient.shape(),
                  gradient.dtype(), input.shape, input.dtype);
    search_for_anomaly(gradient, {node_.op, node_.where, node_.module}, "the gradient of input", i);
    Tensor& target = tape_.target(node_, input);
    device::Branches::before_use_of(target);
    if (target.defined()) {
        kernels::accumulate(target, kernels::cast(gradient, target.dtype()));  // f32 gradients of bf16 leaves
        added_to(target, node_, i);
        return;
    }
    // Moved if it has no other owner; otherwise copied, because another owner could change it.
    target = gradient.unique() ? std::move(gradient) : gradient.clone();
}

Tensor Gradients::accumulate_into(int i) {
    const TapeNode::Input& input = input_of(node_, i);
    check(input.needs, "{} at {}: backward adds into input {}, which wants no gradient; ask needs({}) first", node_.op,
          node_.where, i, i);
    Tensor& target = tape_.target(node_, input);
    if (!target.defined()) target = Tensor::zeros(input.shape, input.dtype, input.device);
    device::Branches::before_use_of(target);
    accumulated_.push_back(i);
    return target;
}

Tensor Gradients::so_far(int i) {
    const TapeNode::Input& input = input_of(node_, i);
    if (!input.needs) return {};
    Tensor& target = tape_.target(node_, input);
    kernels::BiasSums::before_use_of(target);
    device::Branches::before_use_of(target);
    return target;
}

// Gradients that an op adds to in place are complete, and can be checked, only after the op.
void Gradients::finish() const {
    for (const int i : accumulated_) added_to(tape_.target(node_, input_of(node_, i)), node_, i);
}

// Calls this thread's hook for a leaf when the walk has passed the first node that uses it and its gradient is written. On a
// device, postponed sums of biases and products in a branch may still be missing then; flushing and joining for every leaf would
// undo their benefit, so the hook waits for them. Does nothing without a hook.
class Tape::LeafHook {
  public:
    // The walk will pass nodes [0, end), in descending order.
    LeafHook(const Tape& tape, std::ptrdiff_t end) : hook_(std::exchange(gradient_observer, nullptr)) {
        if (hook_ == nullptr) return;
        // The backward of such a node, a checkpoint, adds to leaves that are not among its inputs.
        const std::ptrdiff_t first_checkpoint = std::ranges::find_if(tape.nodes_, &TapeNode::always) - tape.nodes_.begin();
        std::unordered_set<const Variable::Slot*> seen;
        for (std::ptrdiff_t i = 0; i < end; ++i)
            for (const TapeNode::Input& input : tape.nodes_[static_cast<std::size_t>(i)].inputs)
                if (input.leaf && input.needs && seen.insert(input.leaf.get()).second)
                    first_uses_.emplace_back(std::min(i, first_checkpoint), input.leaf);
    }
    ~LeafHook() { gradient_observer = hook_; }
    LeafHook(const LeafHook&) = delete;
    LeafHook& operator=(const LeafHook&) = delete;

    void passed(std::ptrdiff_t node) {
        for (; !first_uses_.empty() && first_uses_.back().first == node; first_uses_.pop_back())
            if (const Variable leaf(first_uses_.back().second); leaf.grad().defined()) passed_.push_back(leaf);
        tell();
    }
    // Calls the hook for passed leaves whose gradients are written.
    void tell() {
        std::erase_if(passed_, [&](const Variable& leaf) {
            if (kernels::BiasSums::pending(leaf.grad()) || device::Branches::writes(leaf.grad())) return false;
            (*hook_)(leaf);
            return true;
        });
    }

  private:
    const std::function<void(const Variable&)>* hook_;
    std::vector<std::pair<std::ptrdiff_t, std::shared_ptr<Variable::Slot>>> first_uses_;  // ascending by node
    std::vector<Variable> passed_;                                                        // and not reported yet
};

// ---- the walk

Tensor& Tape::target(const TapeNode& consumer, const TapeNode::Input& input) {
    if (input.leaf) return input.leaf->grad;
    TapeNode* producer = find(input.node);
    check(producer != nullptr,
          "{} at {} reads a value {} whose part of the tape an earlier backward freed; pass retain there, or detach() the value",
          consumer.op, consumer.where, input.shape);
    return producer->outputs[static_cast<std::size_t>(input.output)].gradient;
}

void Tape::walk(std::span<const Variable> outputs, std::span<const Tensor> cotangents, bool retain, bool ours) {
    check(outputs.size() == cotangents.size(), "backward: {} outputs, but {} cotangents", outputs.size(), cotangents.size());
    check(!walking_, "backward: called from within a backward of the same tape; use a FreshTape");
    std::int64_t last = -1;
    walking_ = true;
    const kernels::BiasSums biases;   // makes several sums for gradients of biases in one launch
    const device::Branches branches;  // computes gradients of weights in parallel to those of values
    try {
        // Nothing adds to the gradient of a single output: the walk begins at its node, so the caller's tensor is only read, and
        // needs a copy only if the walk adds to it as the gradient of a leaf.
        const bool copy = outputs.size() > 1 || (outputs.size() == 1 && !ours && may_write(cotangents[0], outputs[0]));
        for (std::size_t i = 0; i < outputs.size(); ++i) last = std::max(last, seed(outputs[i], cotangents[i], copy));
        // Nothing is recorded or removed during the walk, so indices into the list stay valid.
        const auto end = std::upper_bound(nodes_.begin(), nodes_.end(), last,
                                          [](std::int64_t wanted, const TapeNode& node) { return wanted < node.number; });
        LeafHook hook(*this, end - nodes_.begin());
        for (auto i = end - nodes_.begin(); i-- > 0;) {
            visit(nodes_[static_cast<std::size_t>(i)], retain);
            hook.passed(i);
        }
        kernels::BiasSums::flush();
        device::Branches::join();
        hook.tell();
    } catch (...) {
        end_walk();
        throw;
    }
    end_walk();
}

// True if a walk from `output` may add to the cotangent's memory: it is the gradient of a leaf, or a view of one.
bool Tape::may_write(const Tensor& cotangent, const Variable& output) const {
    if (!cotangent.defined() || !output.defined()) return true;
    const auto adds_to_it = [&](const TapeNode::Input& input) {
        return input.leaf && input.needs && input.leaf->grad.defined() && input.leaf->grad.shares_storage(cotangent);
    };
    return std::ranges::any_of(nodes_, [&](const TapeNode& node) {
        // The backward of such a node adds to leaves that are not among its inputs.
        return node.number <= output.slot_->node && (node.always || std::ranges::any_of(node.inputs, adds_to_it));
    });
}

std::int64_t Tape::seed(const Variable& output, const Tensor& cotangent, bool copy) {
    check(output.defined() && output.requires_grad() && !output.is_leaf(),
          "backward: the output was not recorded on the tape: none of its inputs requires a gradient, or grad mode was off");
    const Variable::Slot& slot = *output.slot_;
    check(slot.tape.get() == this, "backward: the output belongs to another tape or thread");
    TapeNode* node = find(slot.node);
    check(node != nullptr, "backward: this part of the tape was freed by an earlier backward; pass retain to go back twice");
    check(cotangent.defined() && cotangent.shape() == output.shape() && cotangent.dtype() == output.dtype(),
          "backward: the cotangent is {} {}, but the output is {} {}", cotangent.shape(), cotangent.dtype(), output.shape(),
          output.dtype());
    Tensor& gradient = node->outputs[static_cast<std::size_t>(slot.output)].gradient;
    if (gradient.defined())
        kernels::accumulate(gradient, cotangent);
    else
        gradient = copy ? cotangent.clone() : cotangent;
    return slot.node;
}

void Tape::visit(TapeNode& node, bool retain) {
    const auto reached = [](const TapeNode::Output& output) { return output.gradient.defined(); };
    if (node.dead || !std::any_of(node.outputs.begin(), node.outputs.end(), reached)) return;
    // If the bias is an op's result, its gradient is read now.
    for (const TapeNode::Output& output : node.outputs) {
        kernels::BiasSums::before_use_of(output.gradient);
        device::Branches::before_use_of(output.gradient);
    }
    Gradients gradients(*this, node);
    const NoGrad no_grad;
    check(node.backward != nullptr, "{} at {} was recorded without a backward call", node.op, node.where);
    node.backward(gradients);
    if (OpTimer::timing() || in_anomaly_mode())
        kernels::BiasSums::flush();  // so that the time, or the NaN, is attributed to this op
    gradients.finish();
    OpTimer::backward_done(node.op, node.outputs.front().device);
    for (TapeNode::Output& output : node.outputs) output.gradient = Tensor();
    if (!retain) bury(node);
}

// Drops gradients that an exception left behind, and nodes that lost their last holder during the walk.
void Tape::end_walk() {
    for (TapeNode& node : nodes_)
        for (TapeNode::Output& output : node.outputs) output.gradient = Tensor();
    walking_ = false;
    bury_pending();
}

}  // namespace heddle
