#include "nn/module.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "nn/flat.h"

namespace heddle::nn {
namespace {

/// True if `name` equals `prefix` or is below it.
bool below(std::string_view name, std::string_view prefix) {
    return prefix.empty() || (name.starts_with(prefix) && (name.size() == prefix.size() || name[prefix.size()] == '.'));
}

bool covers(const Parameter& parameter, std::string_view prefix) {
    if (below(parameter.name, prefix)) return true;
    const auto matching = std::count_if(parameter.slices.begin(), parameter.slices.end(),
                                        [&](const ParameterSlice& slice) { return below(slice.name, prefix); });
    if (matching == 0) return false;
    check(static_cast<std::size_t>(matching) == parameter.slices.size(),
          "freeze: \"{}\" is a part of {}, which is trained or frozen as a whole; name that instead", prefix, parameter.name);
    return true;
}

void fill_normally(Tensor& tensor, double deviation, std::optional<std::uint64_t> key) {
    key ? fill_normal(tensor, 0, deviation, *key) : tensor.fill_(0);
}

}  // namespace

NamedTensors Parameter::named(const Tensor& whole) const {
    check(whole.shape() == variable.shape(), "{}: the tensor to name has shape {}, wanted {}", name, whole.shape(),
          variable.shape());
    if (slices.empty()) return {{name, whole}};
    NamedTensors parts;
    for (const ParameterSlice& slice : slices) parts.emplace_back(slice.name, whole.slice(slice.begin, slice.end));
    return parts;
}

Module::Module(std::optional<std::uint64_t> seed, DType dtype) : seed_(seed), dtype_(dtype) {
    check(dtype == DType::f32 || dtype == DType::f64, "module: parameters are f32 or f64, not {}", dtype);
}

Module::Module(Module& parent, std::string_view name)
    : name_(parent.dotted(name)),
      seed_(parent.seed_),
      dtype_(parent.dtype_),
      device_(parent.device_),
      training_(parent.training_),
      parent_(&parent),
      flat_(parent.flat_),
      flat_root_(parent.flat_root_) {
    check(!name.empty(), "module: a child of \"{}\" has an empty name", parent.name());
    check(dtype_ != DType::bf16, "module: \"{}\" comes after its parent was converted to bf16; make all children before to(bf16)",
          name_);
    check(flat_.expired(), "module: \"{}\" comes after an optimizer was made; make all modules before it", name_);
    for (const Module* sibling : parent.children_)
        check(sibling->name_ != name_, "module: there are two children \"{}\"; names in a module must differ", name_);
    parent.children_.push_back(this);
}

// A child may be destroyed before its parent: if a constructor throws, or as a local variable.
Module::~Module() {
    if (parent_ != nullptr) std::erase(parent_->children_, this);
    for (Module* child : children_) child->parent_ = nullptr;
}

std::string Module::dotted(std::string_view part) const {
    return name_.empty() ? std::string(part) : fmt::format("{}.{}", name_, part);
}

void Module::train(bool on) {
    training_ = on;
    for (Module* child : children_) child->train(on);
}

void Module::set_flat(const Module& root, const std::shared_ptr<const FlatParameters>& flat) {
    flat_ = flat;
    flat_root_ = &root;
    for (Module* child : children_) child->set_flat(root, flat);
}

void Module::check_flattened_from(const Module& root) const {
    check(flat_.expired() || flat_root_ == &root || this != &root,
          "flatten: \"{}\" is part of a model whose parameters an optimizer trains already; give it the whole model, or end it "
          "first",
          name_);
    check(flat_.expired() || flat_root_ == &root,
          "flatten: the parameters of \"{}\" are trained by an optimizer of their own; give the whole model to one optimizer",
          name_);
    for (const Module* child : children_) child->check_flattened_from(root);
}

void Module::check_may_move() const {
    check(flat_.expired(), "module: an optimizer works on the parameters of \"{}\" where they lie; call to() before you make it",
          name_);
    for (const Parameter& parameter : parameters_)
        check(!is_flattened(parameter.variable),
              "module: an optimizer works on parameter \"{}\" where it lies; call to() before you make it", parameter.name);
    for (const Module* child : children_) child->check_may_move();
}

void Module::to(Device device) {
    if (device != device_) check_may_move();
    device_ = device;
    for (Parameter& parameter : parameters_) {
        const Tensor& value = parameter.variable.value();
        if (value.device() == device) continue;
        const Tensor& gradient = parameter.variable.grad();
        const Tensor moved_gradient = gradient.defined() ? gradient.to(device) : Tensor();
        parameter.variable.rebind(Tensor::empty(value.shape(), value.dtype(), device), moved_gradient);
    }
    moved();
    for (Module* child : children_) child->to(device);
}

void Module::to(DType dtype) {
    check(dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16 || dtype == DType::dual,
          "module: parameters are f32, f64, bf16 or dual, not {}", dtype);
    if (dtype != dtype_) check_may_move();
    dtype_ = dtype;
    for (Parameter& parameter : parameters_) {
        const Tensor& value = parameter.variable.value();
        if (value.dtype() != dtype) parameter.variable.rebind(Tensor::empty(value.shape(), dtype, value.device()), {});
    }
    moved();
    for (Module* child : children_) child->to(dtype);
}

std::vector<Parameter> Module::parameters() const {
    std::vector<Parameter> all = parameters_;
    for (const Module* child : children_)
        for (Parameter& parameter : child->parameters()) all.push_back(std::move(parameter));
    return all;
}

std::int64_t Module::parameter_count() const {
    std::int64_t count = 0;
    for (const Parameter& parameter : parameters()) count += parameter.variable.value().numel();
    return count;
}

std::int64_t Module::trainable_count() const {
    std::int64_t count = 0;
    for (const Parameter& parameter : parameters())
        if (parameter.variable.requires_grad()) count += parameter.variable.value().numel();
    return count;
}

NamedTensors Module::named_tensors() const {
    NamedTensors all;
    for (const Parameter& parameter : parameters())
        for (auto& named : parameter.named(parameter.variable.value())) all.push_back(std::move(named));
    return all;
}

void Module::zero_grad() {
    for (Parameter& parameter : parameters()) parameter.variable.zero_grad();
}

std::int64_t Module::freeze(std::string_view prefix, bool frozen) {
    std::vector<Variable> chosen;
    for (const Parameter& parameter : parameters())
        if (covers(parameter, prefix)) chosen.push_back(parameter.variable);
    check(!chosen.empty(), "freeze: no parameter is named \"{}\" or lies below it", prefix);
    for (Variable& variable : chosen) variable.set_requires_grad(!frozen);
    return static_cast<std::int64_t>(chosen.size());
}

DropoutMask Module::dropout(double probability, std::string_view what) const {
    if (!training_ || probability == 0) return {};
    return generator().next_dropout(dotted(what), probability);
}

Variable Module::add_parameter(std::string_view part, const Tensor& value, std::vector<ParameterSlice> slices) {
    Parameter parameter{dotted(part), {}, std::move(slices)};
    for (const Parameter& other : parameters_)
        check(other.name != parameter.name, "module: there are two parameters \"{}\"", parameter.name);
    check(flat_.expired(), "module: parameter \"{}\" comes after an optimizer was made; make all parameters before it",
          parameter.name);
    parameter.variable = Variable(value.to(device_), true, parameter.name);
    parameters_.push_back(parameter);
    return parameter.variable;
}

std::optional<std::uint64_t> Module::initial_key(std::string_view dotted_name) const {
    if (!seed_) return {};
    const std::uint64_t hash = stable_hash(dotted_name);
    const Counter bits = philox4x32(*seed_, {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32), 0, 0});
    return std::uint64_t{bits[1]} << 32 | bits[0];
}

// ---- initial values

void fill_xavier_uniform(Tensor weight, std::optional<std::uint64_t> key) {
    const double bound = std::sqrt(6.0 / static_cast<double>(weight.dim(0) + weight.dim(1)));
    key ? fill_uniform(weight, -bound, bound, *key) : weight.fill_(0);
}

void fill_embedding(Tensor table, std::optional<std::uint64_t> key) {
    fill_normally(table, 1 / std::sqrt(static_cast<double>(table.cols())), key);
}

void fill_unit(Tensor table, std::optional<std::uint64_t> key) { fill_normally(table, 1, key); }

}  // namespace heddle::nn
