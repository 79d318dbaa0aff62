#include "autograd/tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/tape_impl.h"
#include "core/dispatch.h"
#include "core/format.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle {
namespace {

thread_local std::shared_ptr<Tape> current_tape;
thread_local bool grad_mode = true;
thread_local bool anomaly_mode = false;

const std::shared_ptr<Tape>& tape() {
    if (!current_tape) current_tape = std::make_shared<Tape>();
    return current_tape;
}

std::string place(const Where& where) { return fmt::format("{}:{}", where.file_name(), where.line()); }

void search_for_anomaly(const Tensor& tensor, const char* op, const Where& where, const std::string& what) {
    if (!tensor.defined() || (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64)) return;
    dispatch_float(op, tensor.dtype(), [&]<class T>(TypeTag<T>) {
        const T* values = tensor.data<T>();
        for (std::int64_t i = 0; i < tensor.numel(); ++i)
            if (!std::isfinite(values[i]))
                fail_with("anomaly: {} {} of {} at {} holds {} at element {} of {}", what, tensor.shape(), op, place(where),
                          static_cast<double>(values[i]), i, tensor.numel());
    });
}

}  // namespace

// ---- the gradients as one node's backward call sees them

class Tape::Sink final : public Gradients {
  public:
    Sink(Tape& tape, Node& node) : tape_(tape), node_(node) {}

    bool has_output(int i) const override { return node_.gradients[static_cast<std::size_t>(i)].defined(); }

    Tensor output(int i) override {
        const auto at = static_cast<std::size_t>(i);
        if (node_.gradients[at].defined()) return node_.gradients[at];
        return Tensor::zeros(node_.shapes[at], node_.dtypes[at]);
    }

    Tensor take_output(int i) override {
        Tensor gradient = output(i);
        node_.gradients[static_cast<std::size_t>(i)] = Tensor();
        return gradient;
    }

    const Tensor& saved(int i) const override {
        const Saved& saved = node_.saved[static_cast<std::size_t>(i)];
        if (saved.tensor.version() != saved.version)
            fail_with(
                "{} at {} saved a tensor {} for backward, but it was changed in place at {} since (version {} instead of "
                "{}); run backward before the change or change a clone()",
                node_.op, place(node_.where), saved.tensor.shape(), place(saved.tensor.changed_at()), saved.tensor.version(),
                saved.version);
        return saved.tensor;
    }

    bool needs(int i) const override { return node_.inputs[static_cast<std::size_t>(i)].needs; }

    void give(int i, Tensor gradient) override {
        const Input& input = node_.inputs[static_cast<std::size_t>(i)];
        if (!input.needs) return;
        if (!gradient.defined() || gradient.shape() != input.shape || gradient.dtype() != input.dtype)
            fail_with("{} at {}: backward gave input {} a gradient {} {}, wanted {} {}", node_.op, place(node_.where), i,
                      gradient.shape(), gradient.dtype(), input.shape, input.dtype);
        if (anomaly_mode) search_for_anomaly(gradient, node_.op, node_.where, fmt::format("the gradient of input {}", i));
        Tensor& target = tape_.target(input);
        if (target.defined()) return kernels::accumulate(target, gradient);
        // Moved when nobody else holds it; what another owner could still change is copied.
        target = gradient.unique() ? std::move(gradient) : gradient.clone();
    }

    Tensor accumulate_into(int i) override {
        const Input& input = node_.inputs[static_cast<std::size_t>(i)];
        check(input.needs, "{}: backward adds into input {}, which wants no gradient", node_.op, i);
        Tensor& target = tape_.target(input);
        if (!target.defined()) target = Tensor::zeros(input.shape, input.dtype);
        return target;
    }

  private:
    Tape& tape_;
    Node& node_;
};

// ---- the tape

Tensor& Tape::target(const Input& input) {
    if (input.leaf) return input.leaf->grad;
    check(input.node >= base_ && !node(input.node).freed,
          "backward: the walk comes to a part of the tape that an earlier backward freed (a value {}); pass retain there",
          input.shape);
    return node(input.node).gradients[static_cast<std::size_t>(input.output)];
}

std::vector<Variable> Tape::append(const std::shared_ptr<Tape>& self, std::vector<Tensor> outputs, Record&& entry) {
    Node node;
    node.op = entry.op;
    node.where = entry.where;
    node.backward = std::move(entry.backward);
    for (const Variable& variable : entry.inputs) node.inputs.push_back(self->input_of(variable));
    for (Tensor& tensor : entry.saved) {
        const std::uint64_t version = tensor.version();
        node.saved.push_back({std::move(tensor), version});
    }
    node.gradients.resize(outputs.size());
    node.handles = static_cast<std::int64_t>(outputs.size());
    const std::int64_t number = self->base_ + self->size();
    std::vector<Variable> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        node.shapes.push_back(outputs[i].shape());
        node.dtypes.push_back(outputs[i].dtype());
        auto slot = std::make_shared<Variable::Slot>();
        slot->value = std::move(outputs[i]);
        slot->tape = self;
        slot->node = number;
        slot->output = static_cast<int>(i);
        results.push_back(Variable(std::move(slot)));
    }
    self->nodes_.push_back(std::move(node));
    return results;
}

Tape::Input Tape::input_of(const Variable& variable) const {
    Input input;
    if (!variable.defined()) return input;
    input.needs = variable.requires_grad();
    input.shape = variable.shape();
    input.dtype = variable.dtype();
    const Variable::Slot& slot = *variable.slot_;
    if (slot.tape == nullptr) {
        input.leaf = variable.slot_;
        return input;
    }
    check(slot.tape.get() == this, "tape: an op mixes Variables of two tapes; a Variable belongs to the thread that made it");
    input.node = slot.node;
    input.output = slot.output;
    return input;
}

void Tape::release(std::int64_t number) {
    if (number < base_) return;
    --node(number).handles;
    if (walking_) return;
    // No Variable holds the nodes at the end: a backward can never start there again.
    while (!nodes_.empty() && nodes_.back().handles == 0) {
        const Node dead = std::move(nodes_.back());  // what it holds is released once the deque is consistent again
        nodes_.pop_back();
    }
}

void Tape::walk(std::span<const Variable> outputs, std::span<const Tensor> cotangents, bool retain) {
    check(outputs.size() == cotangents.size(), "backward: {} outputs, but {} cotangents", outputs.size(), cotangents.size());
    std::int64_t last = -1;
    walking_ = true;
    try {
        for (std::size_t i = 0; i < outputs.size(); ++i) last = std::max(last, seed(outputs[i], cotangents[i]));
        for (std::int64_t number = last; number >= base_; --number) visit(node(number), retain);
    } catch (...) {
        for (Node& each : nodes_) std::fill(each.gradients.begin(), each.gradients.end(), Tensor());
        walking_ = false;
        throw;
    }
    walking_ = false;
    forget_freed();
}

std::int64_t Tape::seed(const Variable& output, const Tensor& cotangent) {
    check(output.defined() && output.requires_grad() && !output.is_leaf(),
          "backward: the output has no tape behind it: none of its inputs requires a gradient, or grad mode was off");
    const Variable::Slot& slot = *output.slot_;
    check(slot.tape.get() == this, "backward: the output belongs to another tape or thread");
    check(slot.node >= base_ && !node(slot.node).freed,
          "backward: this part of the tape was freed by an earlier backward; pass retain to go back twice");
    check(cotangent.shape() == output.shape() && cotangent.dtype() == output.dtype(),
          "backward: the cotangent is {} {}, but the output is {} {}", cotangent.shape(), cotangent.dtype(), output.shape(),
          output.dtype());
    Tensor& gradient = node(slot.node).gradients[static_cast<std::size_t>(slot.output)];
    if (gradient.defined())
        kernels::accumulate(gradient, cotangent);
    else
        gradient = cotangent.clone();
    return slot.node;
}

void Tape::visit(Node& node, bool retain) {
    const bool reached =
        std::any_of(node.gradients.begin(), node.gradients.end(), [](const Tensor& gradient) { return gradient.defined(); });
    if (!reached) return;
    Sink sink(*this, node);
    const NoGrad no_grad;
    node.backward(sink);
    std::fill(node.gradients.begin(), node.gradients.end(), Tensor());
    if (retain) return;
    node.saved.clear();
    node.backward = nullptr;
    node.inputs.clear();
    node.freed = true;
}

// When nothing on the tape can be walked any more, the numbers move on and the memory goes, although Variables (a kept
// loss) may still hold outputs.
void Tape::forget_freed() {
    bool any = false;
    for (const Node& each : nodes_) {
        if (!each.freed && each.handles > 0) return;
        any = any || each.freed;
    }
    if (!any) return;
    base_ += size();
    nodes_.clear();
}

// ---- recording

bool will_record(std::span<const Variable> inputs) {
    return grad_mode && std::any_of(inputs.begin(), inputs.end(), [](const Variable& input) { return input.requires_grad(); });
}

bool will_record(std::initializer_list<Variable> inputs) { return will_record(std::span(inputs.begin(), inputs.size())); }

std::vector<Variable> record_many(std::vector<Tensor> outputs, Record entry) {
    if (anomaly_mode)
        for (const Tensor& output : outputs) search_for_anomaly(output, entry.op, entry.where, "the output");
    if (will_record(entry.inputs) || (entry.always && grad_mode))
        return Tape::append(tape(), std::move(outputs), std::move(entry));
    std::vector<Variable> results;
    for (Tensor& output : outputs) results.emplace_back(std::move(output));
    return results;
}

Variable record(Tensor output, Record entry) {
    std::vector<Tensor> outputs;
    outputs.push_back(std::move(output));
    return std::move(record_many(std::move(outputs), std::move(entry)).front());
}

// ---- backward

void backward(std::span<const Variable> outputs, std::span<const Tensor> cotangents, bool retain) {
    const std::shared_ptr<Tape> keep = tape();
    keep->walk(outputs, cotangents, retain);
}

void backward(const Variable& output, const Tensor& cotangent, bool retain) {
    backward(std::span(&output, 1), std::span(&cotangent, 1), retain);
}

void backward(const Variable& loss, bool retain) {
    check(loss.value().numel() == 1, "backward: the loss has shape {}, wanted one element; pass a cotangent for anything else",
          loss.shape());
    backward(loss, Tensor::full(loss.shape(), 1, loss.dtype()), retain);
}

// ---- modes

NoGrad::NoGrad() : before_(grad_mode) { grad_mode = false; }
NoGrad::~NoGrad() { grad_mode = before_; }
AnomalyMode::AnomalyMode() : before_(anomaly_mode) { anomaly_mode = true; }
AnomalyMode::~AnomalyMode() { anomaly_mode = before_; }

FreshTape::FreshTape() : before_(current_tape), grad_before_(grad_mode) {
    current_tape = std::make_shared<Tape>();
    grad_mode = true;
}
FreshTape::~FreshTape() {
    current_tape = before_;
    grad_mode = grad_before_;
}

std::int64_t tape_size() { return tape()->size(); }
std::vector<SavedMemory> saved_memory() { return tape()->saved_memory(); }
std::string tape_as_dot() { return tape()->as_dot(); }

}  // namespace heddle
