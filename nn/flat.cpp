#include "nn/flat.h"

#include <algorithm>
#include <mutex>

#include "core/check.h"
#include "core/format.h"
#include "kernels/cast/cast.h"
#include "nn/joined_linear.h"

namespace heddle::nn {
namespace {

// A cache line: vector loads of a parameter never cross two, and threads that write neighbouring parameters never share one.
constexpr std::int64_t kAlignment = 64;

constexpr fmt::format_string<const std::string&> kTrainedElsewhere =
    "flatten: {} is trained by another optimizer; end that first, or give both the same parameters";

// The arrays in use, to tell whose memory a leaf has.
class AllArrays {
  public:
    void add(const std::shared_ptr<const FlatParameters>& arrays) {
        const std::lock_guard lock(mutex_);
        std::erase_if(arrays_, [](const auto& each) { return each.expired(); });
        arrays_.push_back(arrays);
    }

    // Null when the leaf lies in none.
    std::shared_ptr<const FlatParameters> holder(const Variable& leaf) {
        const std::lock_guard lock(mutex_);
        for (const std::weak_ptr<const FlatParameters>& each : arrays_) {
            const std::shared_ptr<const FlatParameters> arrays = each.lock();
            if (arrays == nullptr) continue;
            if (arrays->values.shares_storage(leaf.value()) || arrays->bf16_copy.shares_storage(leaf.value())) return arrays;
        }
        return nullptr;
    }

  private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<const FlatParameters>> arrays_;
};

AllArrays& all_arrays() {
    static AllArrays arrays;
    return arrays;
}

// The module's parameters; on a device leaves that one product reads stand one behind the other. On the CPU they stay in the
// order of construction, in which the gradient's norm is summed.
std::vector<Parameter> ordered_parameters(const Module& module) {
    std::vector<Parameter> all = module.parameters();
    if (module.device() == Device::cpu) return all;
    for (const std::vector<Variable>& group : leaves_read_together(module)) {
        const auto is_in_group = [&](const Parameter& parameter) {
            return std::ranges::any_of(group, [&](const Variable& leaf) { return leaf.is(parameter.variable); });
        };
        std::stable_partition(std::ranges::find_if(all, is_in_group), all.end(), is_in_group);
    }
    return all;
}

// Zeros for the leaves, each at a multiple of `step` elements.
FlatParameters arrays_for(std::vector<Parameter> leaves, std::int64_t step, DType dtype, Device device) {
    FlatParameters flat;
    std::int64_t total = 0;
    for (Parameter& leaf : leaves) {
        const std::int64_t count = leaf.variable.value().numel();
        flat.entries.push_back({std::move(leaf), total, count});
        total += (count + step - 1) / step * step;
    }
    flat.values = Tensor::zeros({total}, dtype, device);
    flat.gradients = Tensor::zeros({total}, dtype, device);
    return flat;
}

// Moves the leaves there.
void lay(FlatParameters& flat, const Tensor& values) {
    for (auto& [parameter, begin, count] : flat.entries) {
        const Shape shape = parameter.variable.shape();
        parameter.variable.rebind(values.slice(begin, begin + count).reshape(shape),
                                  flat.gradients.slice(begin, begin + count).reshape(shape));
    }
}

}  // namespace

FlatParameters flatten(Module& module) { return flatten(module, module.dtype()); }

FlatParameters flatten(Module& module, DType dtype) {
    module.check_flattened_from(module);
    if (const std::shared_ptr<const FlatParameters> before = module.flat_.lock()) {
        check(dtype == module.dtype(), "flatten: the model computes in {} as it was flattened before, not in {}", module.dtype(),
              dtype);
        FlatParameters again = *before;
        again.in_use = before;
        return again;
    }
    const bool rounded = dtype == DType::bf16;
    const DType kept = module.dtype();
    check(kept != DType::bf16 && dtype == (rounded && kept == DType::f32 ? DType::bf16 : kept),
          "flatten: the parameters are {} and the model is to compute in {}; wanted one dtype, or f32 parameters for bf16", kept,
          dtype);
    for (const Parameter& parameter : module.parameters()) {
        const Tensor& value = parameter.variable.value();
        check(value.dtype() == kept && value.device() == module.device(),
              "flatten: {} is {} on {}, but the model is {} on {}; call to() of the whole model", parameter.name, value.dtype(),
              name(value.device()), kept, name(module.device()));
        check(!is_flattened(parameter.variable), kTrainedElsewhere, parameter.name);
    }
    FlatParameters flat = arrays_for(ordered_parameters(module), kAlignment / size_of(dtype), kept, module.device());
    lay(flat, flat.values);
    if (rounded) {
        flat.bf16_copy = Tensor::zeros(flat.values.shape(), DType::bf16, module.device());
        module.to(DType::bf16);
        lay(flat, flat.bf16_copy);
    }
    flat.in_use = std::make_shared<const FlatParameters>(flat);
    all_arrays().add(flat.in_use);
    module.set_flat(module, flat.in_use);
    return flat;
}

FlatParameters flatten(std::vector<Parameter> leaves) {
    check(!leaves.empty(), "flatten: there are no parameters");
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        Parameter& leaf = leaves[i];
        if (leaf.name.empty()) leaf.name = leaf.variable.name().empty() ? fmt::format("parameter {}", i) : leaf.variable.name();
        check(leaf.variable.is_leaf(), "flatten: {} is the result of an op, wanted a leaf", leaf.name);
        const Tensor &value = leaf.variable.value(), &first = leaves.front().variable.value();
        check(value.dtype() == DType::f32 || value.dtype() == DType::f64, "flatten: {} is {}, wanted f32 or f64", leaf.name,
              value.dtype());
        check(value.dtype() == first.dtype() && value.device() == first.device(), "flatten: {} is {} on {}, but {} is {} on {}",
              leaf.name, value.dtype(), name(value.device()), leaves.front().name, first.dtype(), name(first.device()));
        for (std::size_t other = 0; other < i; ++other)
            check(!leaves[other].variable.is(leaf.variable), "flatten: {} is named twice", leaf.name);
    }
    // On a device a module's entries have another order than its parameters (ordered_parameters).
    const std::shared_ptr<const FlatParameters> before = all_arrays().holder(leaves.front().variable);
    if (before != nullptr && leaves.size() == before->entries.size() &&
        std::ranges::all_of(leaves, [&](const Parameter& leaf) { return before->has(leaf.variable, 0, leaves.size()); })) {
        FlatParameters again = *before;
        again.in_use = before;
        return again;
    }
    for (const Parameter& leaf : leaves) check(!is_flattened(leaf.variable), kTrainedElsewhere, leaf.name);
    const DType dtype = leaves.front().variable.dtype();
    const Device device = leaves.front().variable.device();
    FlatParameters flat = arrays_for(std::move(leaves), kAlignment / size_of(dtype), dtype, device);
    lay(flat, flat.values);
    flat.in_use = std::make_shared<const FlatParameters>(flat);
    all_arrays().add(flat.in_use);
    return flat;
}

std::optional<JoinedLeaves> joined(std::span<const Variable> leaves) {
    const std::shared_ptr<const FlatParameters> arrays = all_arrays().holder(leaves.front());
    if (arrays == nullptr) return {};
    const Tensor& first = leaves.front().value();
    const Tensor& values = arrays->values.shares_storage(first) ? arrays->values : arrays->bf16_copy;
    const std::int64_t begin = (first.bytes_data() - values.bytes_data()) / size_of(values.dtype());
    const std::int64_t rest = first.numel() / std::max<std::int64_t>(first.dim(0), 1);
    std::int64_t end = begin, rows = 0;
    for (const Variable& leaf : leaves) {
        const std::int64_t count = leaf.value().numel();
        const auto lies_at_end = [&](const Tensor& tensor, const Tensor& array) {
            return tensor.shares_storage(array) && tensor.bytes_data() == array.bytes_data() + end * size_of(array.dtype());
        };
        if (count != leaf.dim(0) * rest || !lies_at_end(leaf.value(), values) || !lies_at_end(leaf.grad(), arrays->gradients))
            return {};
        end += count;
        rows += leaf.dim(0);
    }
    Shape shape = first.shape();
    shape.set(0, rows);
    Tensor gradients = arrays->gradients;  // a handle that may write
    return JoinedLeaves{values.slice(begin, end).reshape(shape), gradients.slice(begin, end).reshape(shape)};
}

bool is_flattened(const Variable& leaf) { return all_arrays().holder(leaf) != nullptr; }

void FlatParameters::round_again() const {
    Tensor copy = bf16_copy;
    if (copy.defined()) copy.copy_(kernels::cast(values, DType::bf16));
}

std::vector<Span> FlatParameters::active() const {
    std::vector<Span> ranges;
    bool joins = false;  // the previous entry is active, so the gap before this one belongs to the range
    for (const Entry& entry : entries) {
        const bool trained = entry.parameter.variable.requires_grad();
        if (trained && joins)
            ranges.back().length = entry.begin + entry.count - ranges.back().start;
        else if (trained)
            ranges.push_back({entry.begin, entry.count});
        joins = trained;
    }
    return ranges;
}

bool FlatParameters::has(const Variable& leaf, std::size_t first, std::size_t last) const {
    const auto begin = entries.begin();
    return std::any_of(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last),
                       [&](const Entry& entry) { return entry.parameter.variable.is(leaf); });
}

void FlatParameters::zero_gradients() { gradients.fill_(0); }

NamedTensors FlatParameters::named(const Tensor& flat) const {
    check_shape("flat parameters", "the array", flat, values.shape());
    NamedTensors all;
    for (const Entry& entry : entries) {
        const Tensor whole = flat.slice(entry.begin, entry.begin + entry.count).reshape(entry.parameter.variable.shape());
        for (auto& named : entry.parameter.named(whole)) all.push_back(std::move(named));
    }
    return all;
}

}  // namespace heddle::nn
