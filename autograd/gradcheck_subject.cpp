// The function under test.
#include <cstring>

#include "autograd/gradcheck_impl.h"
#include "core/format.h"

namespace heddle::proof {
namespace {

// The names of the ops on the tape, each once.
std::string ops_on_tape() {
    std::string names;
    for (const SavedMemory& entry : saved_memory()) names += (names.empty() ? "" : ", ") + entry.op;
    return names.empty() ? "function" : names;
}

template <class Results, class ValueOf>
Values elements_of(const Results& results, ValueOf value_of) {
    Values all;
    for (const auto& result : results) {
        const Values values = value_of(result).to_vector();
        if (results.size() == 1) return values;
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

}  // namespace

Subject::Subject(const GradientFunctions& function, const std::vector<Tensor>& inputs, Device device)
    : function_(function), device_(device), generator_(generator()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        check(inputs[i].defined() && inputs[i].dtype() == DType::f64,
              "gradcheck: input {} is {}, wanted f64; convert it with to(DType::f64)", i,
              inputs[i].defined() ? name(inputs[i].dtype()) : "undefined");
        inputs_.push_back(inputs[i].to(Device::cpu).clone());
        given_.push_back(inputs_[i].to(device));
        original_.push_back(inputs_[i].clone());
    }
}

std::vector<Variable> Subject::call(std::span<const Variable> leaves) const {
    const RandomState state(generator_);
    ++calls_;
    std::vector<Variable> outputs = function_(leaves);
    for (const Variable& output : outputs)
        check(output.defined() && output.dtype() == DType::f64, "gradcheck: the function gave {}, wanted an f64 Variable",
              output.defined() ? name(output.dtype()) : "an undefined Variable");
    return outputs;
}

std::vector<Tensor> Subject::outputs() const {
    const NoGrad no_grad;
    std::vector<Variable> leaves;
    for (const Tensor& input : given_) leaves.emplace_back(input);
    std::vector<Tensor> values;
    for (const Variable& output : call(leaves)) values.push_back(output.value());
    return values;
}

Values Subject::value() const {
    return elements_of(outputs(), [](const Tensor& output) -> const Tensor& { return output; });
}

Forward Subject::forward(const std::vector<bool>& needs) {
    std::vector<Variable> leaves;
    for (std::size_t i = 0; i < inputs_.size(); ++i) leaves.emplace_back(given_[i], needs[i]);
    return forward(std::move(leaves));
}

Forward Subject::forward_with_one_for(std::size_t first, std::size_t second) {
    std::vector<Variable> leaves;
    for (const Tensor& input : given_) leaves.emplace_back(input, true);
    leaves[second] = leaves[first];
    return forward(std::move(leaves));
}

Forward Subject::forward(std::vector<Variable> leaves) {
    Forward pass;
    pass.leaves = std::move(leaves);
    pass.outputs = call(pass.leaves);
    if (ops_ == "function") ops_ = ops_on_tape();
    pass.value = elements_of(pass.outputs, [](const Variable& output) -> const Tensor& { return output.value(); });
    return pass;
}

std::vector<Values> Subject::back(Forward& pass, const Cotangents& cotangents, bool retain, std::span<const Tensor> start) const {
    for (std::size_t i = 0; i < pass.leaves.size(); ++i)
        pass.leaves[i].set_grad(start.empty() || !pass.leaves[i].requires_grad() ? Tensor() : start[i].to(device_).clone());
    std::vector<Variable> outputs;
    std::vector<Tensor> gradients;
    for (std::size_t k = 0; k < pass.outputs.size(); ++k) {
        if (!cotangents[k].defined() || !pass.outputs[k].requires_grad() || pass.outputs[k].is_leaf()) continue;
        outputs.push_back(pass.outputs[k]);
        gradients.push_back(cotangents[k].to(device_));
    }
    if (!outputs.empty()) backward(outputs, gradients, retain);
    std::vector<Values> result;
    for (std::size_t i = 0; i < pass.leaves.size(); ++i) {
        result.emplace_back();
        if (!pass.leaves[i].requires_grad()) continue;
        // An input that no gradient reached (the function does not depend on it) has gradient zero.
        const Tensor& gradient = pass.leaves[i].grad();
        result.back() = gradient.defined() ? gradient.to_vector() : Values(static_cast<std::size_t>(inputs_[i].numel()), 0.0);
    }
    return result;
}

std::optional<std::size_t> Subject::changed_input() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (const Tensor now = given_[i].to(Device::cpu);
            std::memcmp(now.bytes_data(), original_[i].bytes_data(), static_cast<std::size_t>(original_[i].bytes())) != 0)
            return i;
    return {};
}

// Copies the value before the element is restored, because an op that only reshapes shares its input's memory.
Values Subject::value_at(std::size_t input, std::int64_t element, double x) const {
    const double before = inputs_[input].data<double>()[element];
    set(input, element, x);
    struct PutBack {
        const Subject& subject;
        std::size_t input;
        std::int64_t element;
        double x;
        ~PutBack() { subject.set(input, element, x); }
    } const put_back{*this, input, element, before};
    return value();
}

// Writes only this element, also on the device, so that in-place changes by the function are still detected.
void Subject::set(std::size_t input, std::int64_t element, double x) const {
    Tensor(inputs_[input]).mutable_data<double>()[element] = x;
    if (device_ == Device::cpu) return;
    const Shape flat{inputs_[input].numel()};
    Tensor there = given_[input].reshape(flat).slice(element, element + 1);
    there.copy_(inputs_[input].reshape(flat).slice(element, element + 1));
}

void Subject::overwrite(std::size_t input, const Tensor& values) { given_[input].copy_(values); }

Values Subject::value_along(const std::vector<Values>& direction, double step) const {
    const auto restore = [this] {
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            std::memcpy(Tensor(inputs_[i]).mutable_bytes_data(), original_[i].bytes_data(),
                        static_cast<std::size_t>(original_[i].bytes()));
            if (device_ != Device::cpu) Tensor(given_[i]).copy_(original_[i]);
        }
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        Tensor values = inputs_[i];
        for (std::int64_t e = 0; e < values.numel(); ++e)
            values.mutable_data<double>()[e] += step * direction[i][static_cast<std::size_t>(e)];
        if (device_ != Device::cpu) Tensor(given_[i]).copy_(values);
    }
    try {
        Values result = value();
        restore();
        return result;
    } catch (...) {
        restore();
        throw;
    }
}

}  // namespace heddle::proof
