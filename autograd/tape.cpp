#include "autograd/tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/observe.h"
#include "autograd/tape_impl.h"
#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "kernels/cast/cast.h"

namespace heddle {
namespace {

thread_local std::shared_ptr<Tape> current_tape;
thread_local bool grad_mode = true;
thread_local bool anomaly_mode = false;
thread_local const std::string* current_module = nullptr;
thread_local const std::function<void(const ObservedOp&)>* observer = nullptr;

const std::shared_ptr<Tape>& tape() {
    if (!current_tape) current_tape = std::make_shared<Tape>();
    return current_tape;
}

}  // namespace

const std::string& module_to_record() {
    static const std::string none;
    return anomaly_mode && current_module != nullptr ? *current_module : none;
}

bool in_anomaly_mode() { return anomaly_mode; }

void search_for_anomaly(const Tensor& found, const Origin& origin, const char* what, int number) {
    if (!anomaly_mode || !found.defined() || found.dtype() == DType::i32 || found.dtype() == DType::u8) return;
    const Tensor tensor = found.to(Device::cpu).to(found.dtype() == DType::bf16 ? DType::f32 : found.dtype());
    dispatch_real(origin.op, tensor, [&]<class T>(TypeTag<T>) {
        using std::isfinite;
        const T* values = tensor.data<T>();
        for (std::int64_t i = 0; i < tensor.numel(); ++i) {
            if (isfinite(values[i])) continue;
            const std::string module = origin.module.empty() ? "" : fmt::format(" in module {}", origin.module);
            fail_with("anomaly: {} {} {} of {}{} at {} holds {} at element {} of {}", what, number, tensor.shape(), origin.op,
                      module, origin.where, static_cast<double>(values[i]), i, tensor.numel());
        }
    });
}

// ---- recording

bool will_record(std::span<const Variable> inputs) {
    return grad_mode && std::any_of(inputs.begin(), inputs.end(), [](const Variable& input) { return input.requires_grad(); });
}

bool will_record(std::initializer_list<Variable> inputs) { return will_record(std::span(inputs.begin(), inputs.size())); }

namespace {

void tell_observer(std::span<const Tensor> outputs, const Record& entry, bool recorded) {
    if (observer == nullptr) return;
    (*observer)({.op = entry.op,
                 .module = current_module != nullptr ? std::string_view(*current_module) : std::string_view(),
                 .inputs = entry.inputs,
                 .outputs = outputs,
                 .saved = recorded ? std::span<const Tensor>(entry.saved) : std::span<const Tensor>(),
                 .recorded = recorded,
                 .multiply_adds = entry.multiply_adds});
}

}  // namespace

std::vector<Variable> record_many(std::vector<Tensor> outputs, Record entry) {
    check(entry.op != nullptr, "record: .op is missing at {}; give the op a name", entry.where);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        search_for_anomaly(outputs[i], {entry.op, entry.where, module_to_record()}, "output", static_cast<int>(i));
    const bool recorded = will_record(entry.inputs) || (entry.always && grad_mode);
    tell_observer(outputs, entry, recorded);
    if (recorded) return Tape::append(tape(), std::move(outputs), std::move(entry));
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
    Tensor one = Tensor::empty(loss.shape(), loss.dtype(), loss.value().device());
    kernels::fill(one, 1);  // by a kernel instead of a copy from the host, so that it can be captured
    const std::shared_ptr<Tape> keep = tape();
    keep->walk(std::span(&loss, 1), std::span(&one, 1), retain, true);
}

// ---- modes

NoGrad::NoGrad() : before_(grad_mode) { grad_mode = false; }
NoGrad::~NoGrad() { grad_mode = before_; }
AnomalyMode::AnomalyMode() : before_(anomaly_mode) { anomaly_mode = true; }
AnomalyMode::~AnomalyMode() { anomaly_mode = before_; }

InModule::InModule(const std::string& name) : before_(std::exchange(current_module, &name)) {}
InModule::~InModule() { current_module = before_; }

ObserveOps::ObserveOps(std::function<void(const ObservedOp&)> look)
    : look_(std::move(look)), before_(std::exchange(observer, &look_)) {}
ObserveOps::~ObserveOps() { observer = before_; }

bool observed() { return observer != nullptr; }

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
