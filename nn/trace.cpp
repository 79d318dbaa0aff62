#include "nn/trace.h"

#include <algorithm>

namespace heddle::nn {
namespace {

std::string owner(const std::string& parameter) {
    const std::size_t dot = parameter.rfind('.');
    return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

}  // namespace

Part::Part(std::string text) : begin_(std::move(text)), star_(begin_.ends_with('*')) {
    if (star_) begin_.pop_back();
}

bool Part::has(std::string_view module) const {
    if (begin_.empty() || module == begin_) return true;
    return module.starts_with(begin_) && (star_ || module[begin_.size()] == '.');
}

Trace::Trace(const Module& model) : observer_([this](const ObservedOp& observed) { note(observed); }) {
    for (const Parameter& parameter : model.parameters())
        parameters_[seen(parameter.variable.value()).id] = owner(parameter.name);
}

Trace::Seen Trace::seen(const Tensor& tensor) {
    return {{tensor.storage_id(), tensor.bytes_data()}, tensor.shape(), tensor.bytes()};
}

void Trace::note(const ObservedOp& observed) {
    Op op{.module = std::string(observed.module),
          .attention = observed.op == "attention",
          .tokens = observed.op == "embedding" ? observed.outputs.back().rows() : 0,
          .inputs = {},
          .outputs = {},
          .multiply_adds = observed.multiply_adds,
          .kept = 0,
          .gradients = 0,
          .listed_adds = 0,
          .listed_bytes = 0};
    std::set<std::string> layers;  // modules whose parameters the op reads
    for (const Variable& input : observed.inputs) {
        if (!input.defined()) continue;
        const Seen tensor = seen(input.value());
        if (const auto found = parameters_.find(tensor.id); found != parameters_.end()) {
            layers.insert(found->second);
            op.listed_adds += tensor.shape.numel();
        } else if (!input.is_leaf() || input.name().empty()) {  // a table of positions is a leaf with a name
            op.inputs.push_back(tensor);
        }
    }
    for (const Tensor& output : observed.outputs) op.outputs.push_back(seen(output));
    op.listed_bytes = static_cast<std::int64_t>(layers.size()) * op.outputs.back().bytes;
    for (const Tensor& tensor : observed.saved) {
        if (!tensor.defined()) continue;
        const Seen saved = seen(tensor);
        if (!parameters_.contains(saved.id) && kept_.insert(saved.id).second) op.kept += saved.bytes;
    }
    if (observed.recorded)
        for (const Seen& output : op.outputs) op.gradients += output.bytes;
    ops_.push_back(std::move(op));
}

ModuleTrace Trace::of(const Part& part) const {
    ModuleTrace trace;
    std::set<Id> inside;  // made by the module, or already counted as an input
    for (const Op& op : ops_) {
        if (!part.has(op.module)) continue;
        for (const Seen& input : op.inputs) {
            if (!inside.insert(input.id).second) continue;
            trace.input_bytes += input.bytes;
            if (std::find(trace.inputs.begin(), trace.inputs.end(), input.shape) == trace.inputs.end())
                trace.inputs.push_back(input.shape);
        }
        for (const Seen& output : op.outputs) inside.insert(output.id);
        trace.output = op.outputs.back().shape;
        trace.tokens += op.tokens;
        trace.multiply_adds += op.multiply_adds;
        if (op.attention) trace.attention += op.multiply_adds;
        trace.kept += op.kept;
        trace.gradients += op.gradients;
        trace.listed_adds += op.listed_adds;
        trace.listed_bytes += op.listed_bytes;
    }
    return trace;
}

}  // namespace heddle::nn
